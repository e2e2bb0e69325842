// LSTM, GRU and plain recurrent layers, as exporters write them: one node a layer, time first, directions packed.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

struct Layer {
  ValueId x;                      // [time, batch, width]
  std::vector<ValueId> weights;   // of both directions, as PyTorch orders them
  std::size_t per_direction = 2;  // weights of one direction: 2, 4 with biases, 1 more with a projection
  std::int64_t directions = 1;
  std::int64_t hidden = 0;
  std::int64_t projected = 0;  // width of the state after its projection; 0 where there is none
};

// The node of one layer: its sequence comes back as [time, batch, directions * width of the state]. A projection is a
// product of all steps behind the node, whose recurrent weights take the projected state.
ValueId add_layer(Call& c, const Layer& layer, std::vector<ValueId>& last) {
  const std::int64_t gates = c.row().kind == OpKind::LSTM ? 4 : c.row().kind == OpKind::GRU ? 3 : 1;
  const auto pick = [&](std::initializer_list<std::size_t> places) {
    std::vector<ValueId> parts;
    for (std::int64_t d = 0; d < layer.directions; ++d) {
      for (const std::size_t place : places)
        parts.push_back(layer.weights[std::size_t(d) * layer.per_direction + place]);
    }
    return parts;
  };
  const std::int64_t rows = checked_mul(gates, layer.hidden);
  const std::int64_t inputs_width = c.dims(layer.weights[0])[1];
  std::vector<ValueId> inputs = {
      layer.x, c.writer().packed(pick({0}), {layer.directions, rows, inputs_width}),
      c.writer().packed(pick({1}), {layer.directions, rows, layer.projected > 0 ? layer.projected : layer.hidden})};
  if (layer.per_direction >= 4) inputs.push_back(c.writer().packed(pick({2, 3}), {layer.directions, 2 * rows}));
  std::vector<Attribute> attributes = {{"hidden_size", layer.hidden},
                                       {"direction", std::string(layer.directions == 2 ? "bidirectional" : "forward")}};
  const auto results =
      c.nodes(c.row().kind, std::move(inputs), std::move(attributes), c.row().kind == OpKind::LSTM ? 3 : 2);
  ValueId all = results[0];
  ValueId state = results[1];
  if (layer.projected > 0) {
    const ValueId matrix =
        c.writer().packed(pick({layer.per_direction - 1}), {layer.directions, layer.hidden, layer.projected});
    all = c.node(OpKind::MatMul, {all, matrix});
    state = c.node(OpKind::Gather, {all, c.scalar(-1, DType::Int64)}, {{"axis", std::int64_t{0}}});
  }
  last.push_back(state);
  last.insert(last.end(), results.begin() + 2, results.end());
  if (layer.directions == 1) return c.squeeze(all, {1});
  const Dims x = c.dims(layer.x);
  const std::int64_t width = layer.projected > 0 ? layer.projected : layer.hidden;
  return c.reshape(c.transpose(all, {0, 2, 1, 3}), {x[0], x[1], checked_mul(2, width)});
}

}  // namespace

// lstm, gru, rnn_tanh, rnn_relu (input, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first).
void recurrent(Call& c) {
  ValueId x = c.tensor("input");
  const std::vector<ValueId> weights = c.tensors("params");
  const bool biases = c.flag("has_biases", true), batch_first = c.flag("batch_first", false);
  const std::int64_t layers = c.integer("num_layers", 1), directions = c.flag("bidirectional", false) ? 2 : 1;
  if (c.failed()) return;
  const bool unbatched = c.rank(x) == 2;
  if (unbatched) x = c.unsqueeze(x, {batch_first ? 0 : 1});
  if (c.rank(x) != 3) return c.fail("the input is no sequence");
  std::size_t per_direction = biases ? 4 : 2;
  const auto fits = [&](std::size_t each) { return weights.size() == std::size_t(layers * directions) * each; };
  if (layers <= 0 || layers > 1024) return c.fail("its weights do not fit its layers");
  const bool projects = c.row().kind == OpKind::LSTM && fits(per_direction + 1);
  if (projects) ++per_direction;
  if (!fits(per_direction)) return c.fail("its weights do not fit its layers");
  for (std::size_t i = 0; i < weights.size(); i += per_direction) {
    if (c.rank(weights[i]) != 2 || c.rank(weights[i + 1]) != 2) return c.fail("a weight is no matrix");
  }
  if (batch_first) x = c.transpose(x, {1, 0, 2});
  std::vector<ValueId> last;
  for (std::int64_t i = 0; i < layers; ++i) {
    Layer layer{x, {}, per_direction, directions, c.dims(weights[1])[1], 0};
    if (projects) {
      layer.projected = layer.hidden;
      layer.hidden = c.dims(weights[1])[0] / 4;
    }
    const auto begin = weights.begin() + i * directions * std::int64_t(per_direction);
    layer.weights.assign(begin, begin + directions * std::int64_t(per_direction));
    x = add_layer(c, layer, last);
    if (c.failed()) return;
  }
  if (batch_first) x = c.transpose(x, {1, 0, 2});
  c.give(unbatched ? c.squeeze(x, {batch_first ? 0 : 1}) : x);
  // The states of all layers, joined: hidden, then cell.
  const std::size_t states = c.row().kind == OpKind::LSTM ? 2 : 1;
  for (std::size_t s = 0; s < states; ++s) {
    if (!c.is_used(1 + s)) {
      c.give(Argument{});
      continue;
    }
    std::vector<ValueId> parts;
    for (std::size_t i = s; i < last.size(); i += states) parts.push_back(last[i]);
    const ValueId joined = parts.size() == 1 ? parts[0] : c.node(OpKind::Concat, parts, {{"axis", std::int64_t{0}}});
    c.give(unbatched ? c.squeeze(joined, {1}) : joined);
  }
}

// lstm_cell, gru_cell: one step, as a sequence of one.
void recurrent_cell(Call& c) {
  const ValueId x = c.tensor("input"), w = c.tensor("w_ih"), r = c.tensor("w_hh");
  if (c.failed() || c.rank(x) != 2 || c.rank(r) != 2 || c.rank(w) != 2) return c.fail("the input is no matrix");
  Layer layer{c.unsqueeze(x, {0}), {w, r}, 2, 1, c.dims(r)[1], 0};
  if (c.has("b_ih") && c.has("b_hh")) {
    layer.weights.insert(layer.weights.end(), {c.tensor("b_ih"), c.tensor("b_hh")});
    layer.per_direction = 4;
  }
  std::vector<ValueId> last;
  const ValueId y = add_layer(c, layer, last);
  if (c.failed()) return;
  c.give(c.squeeze(y, {0}));
  if (c.row().kind == OpKind::LSTM) c.give(c.squeeze(last[1], {0}));
}

}  // namespace forerun::pytorch
