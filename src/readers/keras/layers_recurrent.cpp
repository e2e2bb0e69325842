// Recurrent layers and wrappers. PyTorch's layers run with time first: the transposes here are views there, too.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

struct Cell {
  OpKind kind = OpKind::Unknown;
  std::int64_t gates = 1, bias_rows = 1;
};

std::optional<Cell> cell_of(std::string_view name, const Layer& c) {
  if (name.starts_with("CuDNN")) name.remove_prefix(5);
  const std::string_view kind = name.substr(0, name.find("Cell"));
  if (kind == "LSTM") return Cell{OpKind::LSTM, 4, 1};
  if (kind == "SimpleRNN") return Cell{OpKind::RNN, 1, 1};
  // Keras 2 resets after the product with two rows of biases; before that, and in TensorFlow.js, with one.
  if (kind == "GRU") return Cell{OpKind::GRU, 3, c.flag("reset_after", false) ? 2 : 1};
  return std::nullopt;
}

// One recurrent node over x [batch, time, in]. Gives the sequence or its last step, and the last states.
std::vector<Tensor> run(Layer& c, const Cell& cell, const Tensor& x, std::int64_t units, std::int64_t directions,
                        const std::string& merge, bool sequences, const std::string& prefix) {
  GraphWriter& w = c.w;
  const DType type = c.dtype(x);
  const std::int64_t rows = checked_mul(cell.gates, units);
  const ValueId time_first = c.e.transposed(c.natural(x), {1, 0, 2});
  const ValueId kernel = c.weight(prefix + "kernel", {directions, rows, x.last()});
  const ValueId recurrent = c.weight(prefix + "recurrent_kernel", {directions, rows, units});
  std::vector<ValueId> inputs = {time_first, kernel, recurrent};
  if (c.flag("use_bias", true))
    inputs.push_back(c.weight(prefix + "bias", {directions, checked_mul(cell.bias_rows, rows)}));
  const ValueId y = w.new_value("", type), hidden = w.new_value("", type);
  std::vector<ValueId> outputs = {y, hidden};
  if (cell.kind == OpKind::LSTM) outputs.push_back(w.new_value("", type));
  if (!w.has_room()) return {};
  const ValueId cell_state = outputs.back();
  std::vector<Attribute> attributes = {{"hidden_size", units},
                                       {"direction", std::string(directions == 2                 ? "bidirectional"
                                                                 : c.flag("go_backwards", false) ? "reverse"
                                                                                                 : "forward")}};
  if (cell.kind == OpKind::GRU) attributes.push_back({"linear_before_reset", std::int64_t{cell.bias_rows == 2}});
  w.add(cell.kind, std::move(inputs), std::move(outputs), std::move(attributes));

  const std::int64_t batch = x.shape[0], steps = x.shape[1];
  std::vector<Tensor> results;
  const auto joined = [&](ValueId both, std::size_t axis) {  // two directions at `axis`, merged as asked
    if (merge == "concat") return both;
    const OpKind kind = merge == "mul" ? OpKind::ReduceProd : merge == "ave" ? OpKind::ReduceMean : OpKind::ReduceSum;
    return w.op(kind, {both, w.constant({std::int64_t(axis)})}, {{"keepdims", std::int64_t{0}}});
  };
  const bool concat = directions == 2 && merge == "concat";
  const std::int64_t width = concat ? 2 * units : units;
  if (sequences) {  // [time, directions, batch, units]
    ValueId flat = kNoValue;
    if (directions == 1) {
      flat = w.op(OpKind::Squeeze, {y, w.constant({1})});
    } else if (concat) {
      const ValueId turned = w.op(OpKind::Transpose, {y}, {{"perm", Dims{0, 2, 1, 3}}});
      flat = w.op(OpKind::Reshape, {turned, w.constant({0, 0, -1})});
    } else {
      flat = joined(y, 1);
    }
    results.push_back(c.made(w.op(OpKind::Transpose, {flat}, {{"perm", Dims{1, 0, 2}}}), {batch, steps, width}));
  } else {  // [directions, batch, units]
    ValueId flat = kNoValue;
    if (directions == 1) {
      flat = w.op(OpKind::Squeeze, {hidden, w.constant({0})});
    } else if (concat) {
      const ValueId turned = w.op(OpKind::Transpose, {hidden}, {{"perm", Dims{1, 0, 2}}});
      flat = w.op(OpKind::Reshape, {turned, w.constant({0, -1})});
    } else {
      flat = joined(hidden, 0);
    }
    results.push_back(c.made(flat, {batch, width}));
  }
  if (c.flag("return_state", false)) {
    const auto state = [&](ValueId all, std::int64_t direction) {
      const ValueId one = directions == 1
                              ? w.op(OpKind::Squeeze, {all, w.constant({0})})
                              : w.op(OpKind::Gather, {all, w.scalar(direction)}, {{"axis", std::int64_t{0}}});
      results.push_back(c.made(one, {batch, units}));
    };
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      state(hidden, direction);
      if (cell.kind == OpKind::LSTM) state(cell_state, direction);
    }
  }
  return results;
}

bool is_sequence(const Layer& c) {
  return !c.inputs.empty() && c.inputs[0].has_shape && c.inputs[0].rank() == 3 && c.inputs[0].last() > 0;
}

}  // namespace

Status recurrent(Layer& c) {
  const auto cell = cell_of(c.row.name, c);
  const std::int64_t units = c.integer("units", 0);
  if (!cell || !is_sequence(c)) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(units > 0 && units < (1 << 24), "it has no units"));
  c.outputs = run(c, *cell, c.inputs[0], units, 1, "concat", c.flag("return_sequences", false), "");
  return ok();
}

Status bidirectional(Layer& c) {
  const Json* wrapped = c.find("layer");
  const Json* settings = wrapped == nullptr ? nullptr : member(*wrapped, "config");
  if (settings == nullptr || !settings->is_object() || !is_sequence(c)) return c.unknown("what it wraps is not known");
  const std::string name = class_of(*wrapped);
  const LayerType* row = find_layer(name);
  if (row == nullptr || row->build != recurrent)
    return c.unknown("it wraps a layer that is not LSTM, GRU or SimpleRNN");
  Layer inner(c.e, *row, *settings, c.args);
  const auto cell = cell_of(name, inner);
  const std::int64_t units = inner.integer("units", 0);
  FORERUN_CHECK(c.expect(cell && units > 0 && units < (1 << 24), "it has no units"));
  const Json* mode = c.find("merge_mode");
  const bool apart = mode != nullptr && mode->is_null();
  const std::string merge = apart ? "concat" : c.text("merge_mode", "concat");
  c.outputs = run(inner, *cell, inner.inputs[0], units, 2, merge, inner.flag("return_sequences", false), "");
  if (!apart || c.outputs.empty()) return ok();
  const Tensor both = c.outputs[0];
  c.outputs.erase(c.outputs.begin());
  const ValueId forward = c.w.new_value("", c.dtype(both)), backward = c.w.new_value("", c.dtype(both));
  if (!c.w.has_room()) return ok();
  c.w.add(OpKind::Split, {both.id}, {forward, backward},
          {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{2}}});
  Dims shape = both.shape;
  shape.back() = units;
  c.outputs.insert(c.outputs.begin(), {c.made(forward, shape), c.made(backward, shape)});
  return ok();
}

// RNN(cell) and RNN([cell, …]): one layer for each cell.
Status rnn_of_cells(Layer& c) {
  const Json* cell = c.find("cell");
  if (cell == nullptr || !is_sequence(c)) return c.unknown("its cell is not known");
  std::vector<const Json*> cells;
  if (class_of(*cell) == "StackedRNNCells") {
    const Json* settings = member(*cell, "config");
    const Json* list = settings == nullptr ? nullptr : member(*settings, "cells");
    if (list == nullptr || !list->is_array() || list->size() > 1000) return c.unknown("its cells are not known");
    for (const Json& one : *list) cells.push_back(&one);
  } else {
    cells.push_back(cell);
  }
  Tensor x = c.inputs[0];
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Json* settings = member(*cells[i], "config");
    static const LayerType kCell{.name = "RNN", .build = nullptr};
    if (settings == nullptr || !settings->is_object()) return c.unknown("its cell is not known");
    Layer inner(c.e, kCell, *settings, {{.name = "", .tensors = {x}, .is_list = false, .json = nullptr}});
    const auto kind = cell_of(class_of(*cells[i]), inner);
    const std::int64_t units = inner.integer("units", 0);
    if (!kind || units <= 0 || units > (1 << 24) || x.last() <= 0)
      return c.unknown("its cell is one that Forerun does not know");
    const bool last = i + 1 == cells.size();
    std::vector<Tensor> results = run(inner, *kind, x, units, 1, "concat", !last || c.flag("return_sequences", false),
                                      "cell_" + std::to_string(i) + "/");
    if (results.empty()) return ok();
    x = results[0];
  }
  c.give(x);
  return ok();
}

// The layer runs on every step: batch and time become one dimension and are taken apart again.
Status time_distributed(Layer& c) {
  const Json* wrapped = c.find("layer");
  if (wrapped == nullptr || c.inputs.empty() || !c.inputs[0].has_shape || c.inputs[0].rank() < 3)
    return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const Json* settings = member(*wrapped, "config");
  const std::string name = settings == nullptr ? "" : text_of(member(*settings, "name"));
  const auto call = [&](const Tensor& t) {
    return c.e.call(*wrapped, {{.name = "", .tensors = {t}, .is_list = false, .json = nullptr}}, name);
  };
  const std::string type = c.w.op_type, outer = c.w.name, module = c.w.module;
  if (class_of(*wrapped) == "Dense" || class_of(*wrapped) == "Activation" || class_of(*wrapped) == "Dropout") {
    FORERUN_TRY(c.outputs, call(x));
    return ok();
  }
  const ValueId given = c.natural(x);
  const Dims rest(x.shape.begin() + 2, x.shape.end());
  if (std::any_of(rest.begin(), rest.end(), [](std::int64_t d) { return d < 0; }))
    return c.unknown("the shape of a step of its input is not known");
  std::vector<std::int64_t> flat = {-1};
  flat.insert(flat.end(), rest.begin(), rest.end());
  Dims shape = {times(x.shape[0], x.shape[1])};
  shape.insert(shape.end(), rest.begin(), rest.end());
  const ValueId merged = c.w.op(OpKind::Reshape, {given, c.w.constant(flat)});
  FORERUN_TRY(const std::vector<Tensor> results, call(c.made(merged, std::move(shape))));
  c.w.op_type = type;
  c.w.name = outer;
  c.w.module = module;
  if (results.size() != 1 || !results[0].has_shape || results[0].rank() == 0)
    return c.unknown("the shape of what it wraps is not known");
  const Tensor& y = results[0];
  const Dims each(y.shape.begin() + 1, y.shape.end());
  if (std::any_of(each.begin(), each.end(), [](std::int64_t d) { return d < 0; }))
    return c.unknown("the shape of what it wraps is not known");
  ValueId target = kNoValue;
  if (x.shape[1] > 0) {
    std::vector<std::int64_t> wide = {-1, x.shape[1]};
    wide.insert(wide.end(), each.begin(), each.end());
    target = c.w.constant(wide);
  } else {
    const ValueId whole = c.w.op(OpKind::Shape, {given}, {}, DType::Int64);
    const ValueId lead = c.w.op(OpKind::Slice, {whole, c.w.constant({0}), c.w.constant({2}), c.w.constant({0})});
    target = c.w.op(OpKind::Concat, {lead, c.w.constant(each)}, {{"axis", std::int64_t{0}}});
  }
  Dims full = {x.shape[0], x.shape[1]};
  full.insert(full.end(), each.begin(), each.end());
  c.give(c.made(c.w.op(OpKind::Reshape, {c.natural(y), target}), std::move(full)));
  return ok();
}

// What wraps a layer for training only.
Status wrapper(Layer& c) {
  const Json* wrapped = c.find("layer");
  if (wrapped == nullptr) return c.unknown("what it wraps is not known");
  const Json* settings = member(*wrapped, "config");
  FORERUN_TRY(c.outputs, c.e.call(*wrapped, c.args, settings == nullptr ? "" : text_of(member(*settings, "name"))));
  return ok();
}

}  // namespace forerun::keras
