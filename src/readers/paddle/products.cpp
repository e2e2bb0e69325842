// Matrix products, attention and recurrent layers.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/paddle/operators.hpp"

namespace forerun::paddle {
namespace {

ValueId transposed(Call& c, ValueId x) {
  const auto size = c.rank(x);
  if (!size || *size < 2) return x;
  std::vector<std::int64_t> perm = iota(0, std::int64_t(*size));
  std::swap(perm[*size - 1], perm[*size - 2]);
  return c.w.op(OpKind::Transpose, {x}, {{"perm", std::move(perm)}});
}

bool flag(const Call& c, std::string_view first, std::string_view second, std::string_view third) {
  return c.integer(first, c.integer(second, c.integer(third, 0))) != 0;
}

}  // namespace

Status matmul(Call& c) {
  const ValueId x = c.in("X"), y = c.in("Y");
  if (x == kNoValue || y == kNoValue) return c.unknown();
  const bool left = flag(c, "trans_x", "transpose_x", "transpose_X");
  const bool right = flag(c, "trans_y", "transpose_y", "transpose_Y");
  const double alpha = c.real("alpha", 1);
  if (const auto a = c.rank(x), b = c.rank(y); a == 2 && b == 2 && (left || right)) {
    c.emit(OpKind::Gemm, {x, y}, {{"transA", std::int64_t{left}}, {"transB", std::int64_t{right}}, {"alpha", alpha}});
    return ok();
  }
  const ValueId first = left ? transposed(c, x) : x;
  const ValueId second = right ? transposed(c, y) : y;
  if (alpha == 1) {
    c.emit(OpKind::MatMul, {first, second});
  } else {
    const ValueId product = c.w.op(OpKind::MatMul, {first, second});
    c.emit(OpKind::Mul, {product, c.w.real(alpha, c.dtype(x))});
  }
  return ok();
}

// x [a, b, c] flattened to a matrix, times y.
Status mul(Call& c) {
  const ValueId x = c.in("X"), y = c.in("Y");
  const auto wide = c.dims(x);
  const auto weight = c.dims(y);
  const std::int64_t columns = c.integer("x_num_col_dims", 1);
  if (!wide || !weight || weight->size() != 2 || columns < 1 || columns >= std::int64_t(wide->size()))
    return c.unknown();
  if (columns + 1 == std::int64_t(wide->size())) {
    c.emit(OpKind::MatMul, {x, y});
  } else if (columns == 1) {
    c.emit(OpKind::MatMul, {c.w.op(OpKind::Flatten, {x}, {{"axis", std::int64_t{1}}}), y});
  } else {
    std::vector<std::int64_t> shape(std::size_t(columns), 0);
    shape.push_back(-1);
    c.emit(OpKind::MatMul, {c.w.op(OpKind::Reshape, {x, c.w.constant(shape)}), y});
  }
  return ok();
}

Status addmm(Call& c) {
  c.emit(OpKind::Gemm, {c.in("X"), c.in("Y"), c.in("Input")},
         {{"alpha", c.real("alpha", 1)}, {"beta", c.real("beta", 1)}});
  return ok();
}

Status fully_connected(Call& c) {
  const ValueId x = c.in("Input"), weight = c.in("W"), bias = c.in("Bias");
  if (x == kNoValue || weight == kNoValue) return c.unknown();
  const std::int64_t columns = c.integer("in_num_col_dims", 1);
  const auto wide = c.rank(x);
  const bool relu = c.text("activation_type", "") == "relu";
  ValueId flat = x;
  if (wide && columns == 1 && *wide > 2) flat = c.w.op(OpKind::Flatten, {x}, {{"axis", std::int64_t{1}}});
  ValueId product = c.w.op(OpKind::MatMul, {flat, weight});
  if (bias != kNoValue) product = c.w.op(OpKind::Add, {product, bias});
  c.emit(relu ? OpKind::Relu : OpKind::Identity, {product});
  return ok();
}

Status einsum(Call& c) {
  const std::vector<ValueId> operands = c.all("Operands");
  if (operands.empty()) return c.unknown();
  c.emit(OpKind::Einsum, operands, {{"equation", c.text("equation", "")}});
  return ok();
}

// q, k and v are [batch, sequence, heads, width].
Status attention(Call& c) {
  const ValueId q = c.in("q"), k = c.in("k"), v = c.in("v");
  if (c.rank(q) != 4 || c.rank(k) != 4 || c.rank(v) != 4) return c.unknown();
  const auto heads_first = [&](ValueId x) {
    return c.w.op(OpKind::Transpose, {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  };
  const ValueId queries = heads_first(q), keys = heads_first(k), values = heads_first(v);
  std::vector<ValueId> inputs = {queries, keys, values};
  if (c.has("mask")) inputs.push_back(c.in("mask"));
  const ValueId result =
      c.w.op(OpKind::Attention, std::move(inputs), {{"is_causal", c.integer("causal", c.integer("is_causal", 0))}});
  c.emit(OpKind::Transpose, {result}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  return ok();
}

namespace {

struct RecurrentLayers {
  std::string mode;
  OpKind kind = OpKind::Unknown;
  std::int64_t hidden = 0, layers = 0, directions = 1, gates = 1;
  std::vector<ValueId> matrices, vectors;  // in order: input and recurrent, of each direction of each layer
};

std::optional<RecurrentLayers> read_layers(const Call& c) {
  RecurrentLayers r;
  r.mode = c.text("mode", "");
  r.kind = r.mode == "LSTM" ? OpKind::LSTM : r.mode == "GRU" ? OpKind::GRU : OpKind::RNN;
  r.gates = r.mode == "LSTM" ? 4 : r.mode == "GRU" ? 3 : 1;
  r.hidden = c.integer("hidden_size", 0);
  r.layers = c.integer("num_layers", 1);
  r.directions = c.integer("is_bidirec", 0) != 0 ? 2 : 1;
  if (r.hidden <= 0 || r.layers <= 0 || r.layers > 10'000) return std::nullopt;
  for (const ValueId id : c.all("WeightList")) {
    const auto size = c.rank(id);
    if (size == 2) r.matrices.push_back(id);
    if (size == 1) r.vectors.push_back(id);
  }
  const auto count = std::size_t(r.layers * r.directions * 2);
  if (r.matrices.size() != count || (!r.vectors.empty() && r.vectors.size() != count)) return std::nullopt;
  return r;
}

// The weights of one layer in ONNX's form: one tensor of all directions.
ValueId joined(Call& c, const std::vector<ValueId>& all, std::size_t first, std::size_t step, std::size_t count) {
  const Value& one = c.w.value(all[first]);
  Dims dims = one.dims;
  dims.insert(dims.begin(), std::int64_t(count));
  return c.w.shaped(one.name, one.dtype, std::move(dims),
                    one.role == ValueRole::Weight ? ValueRole::Weight : ValueRole::Constant);
  (void)step;
}

}  // namespace

// Time comes first. Each layer is one node; a bidirectional layer's halves are joined behind it.
Status recurrent(Call& c) {
  const auto layers = read_layers(c);
  ValueId x = c.in("Input");
  if (!layers || x == kNoValue) return c.unknown();
  const RecurrentLayers& r = *layers;
  const DType type = c.dtype(x);
  std::vector<ValueId> last_hidden, last_cell;
  for (std::int64_t layer = 0; layer < r.layers; ++layer) {
    const auto first = std::size_t(layer * r.directions * 2);
    const auto count = std::size_t(r.directions);
    const ValueId w = joined(c, r.matrices, first, 2, count);
    const ValueId recurrent_weight = joined(c, r.matrices, first + 1, 2, count);
    ValueId bias = kNoValue;
    if (!r.vectors.empty()) {
      const Value& one = c.w.value(r.vectors[first]);
      const std::int64_t length = one.dims[0];
      bias = c.w.shaped(one.name, one.dtype, {r.directions, checked_mul(2, std::max<std::int64_t>(length, 0))},
                        ValueRole::Weight);
    }
    const ValueId y = c.w.new_value("", type), hidden = c.w.new_value("", type);
    std::vector<ValueId> outputs = {y, hidden};
    if (r.kind == OpKind::LSTM) outputs.push_back(c.w.new_value("", type));
    if (!c.w.has_room()) return ok();
    last_hidden.push_back(hidden);
    if (r.kind == OpKind::LSTM) last_cell.push_back(outputs[2]);
    std::vector<ValueId> inputs = {x, w, recurrent_weight, bias, c.in("SequenceLength")};
    while (inputs.back() == kNoValue) inputs.pop_back();
    std::vector<Attribute> attributes = {{"hidden_size", r.hidden},
                                         {"direction", std::string(r.directions == 2 ? "bidirectional" : "forward")}};
    if (r.kind == OpKind::GRU) attributes.push_back({"linear_before_reset", std::int64_t{1}});
    c.w.add(r.kind, std::move(inputs), std::move(outputs), std::move(attributes));
    const bool is_last = layer + 1 == r.layers;
    // Y is [time, directions, batch, hidden].
    if (r.directions == 1) {
      if (is_last) {
        c.emit(OpKind::Squeeze, {y, c.w.constant({1})});
      } else {
        x = c.w.op(OpKind::Squeeze, {y, c.w.constant({1})});
      }
    } else {
      const ValueId turned = c.w.op(OpKind::Transpose, {y}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
      const ValueId shape = c.w.constant({0, 0, -1});
      if (is_last) {
        c.emit(OpKind::Reshape, {turned, shape});
      } else {
        x = c.w.op(OpKind::Reshape, {turned, shape});
      }
    }
  }
  const std::vector<ValueId> states = c.outs(2);
  const auto give = [&](std::size_t i, const std::vector<ValueId>& parts) {
    if (i >= states.size() || c.t.uses_of(states[i]) == 0 || parts.empty()) return;
    c.w.add(parts.size() == 1 ? OpKind::Identity : OpKind::Concat, parts, {states[i]},
            parts.size() == 1 ? std::vector<Attribute>{} : std::vector<Attribute>{{"axis", std::int64_t{0}}});
  };
  give(0, last_hidden);
  give(1, last_cell);
  return ok();
}

}  // namespace forerun::paddle
