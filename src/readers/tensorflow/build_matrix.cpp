// Matrix products and dense layers.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {
namespace {

Ints swap_last(std::size_t rank) {
  Ints order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(std::int64_t(i));
  if (rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

bool flag(const Call& call, std::string_view name, std::string_view older = {}) {
  return call.integer(name, older.empty() ? 0 : call.integer(older)) != 0;
}

ValueId product(Call& call) {
  const bool left = flag(call, "transpose_a");
  const bool right = flag(call, "transpose_b");
  if (call.rank(0) == 2 && call.is_constant(1) && call.rank(1) == 2) {
    return call.node(OpKind::Gemm, {call.plain(0), call.plain(1)},
                     {{"transA", std::int64_t{left}}, {"transB", std::int64_t{right}}});
  }
  const ValueId a = left ? call.transposed(call.plain(0), swap_last(2)) : call.plain(0);
  const ValueId b = right ? call.permuted(1, swap_last(2)) : call.plain(1);
  return call.node(OpKind::MatMul, {a, b});
}

}  // namespace

void build_matmul(Call& call) { call.result(0, product(call)); }

void build_fused_matmul(Call& call) {
  ValueId y = product(call);
  const Attribute* found = call.attribute("fused_ops");
  const auto* names = found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&found->value);
  for (std::size_t i = 0; names != nullptr && i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    if (name == "BiasAdd" && call.has(2)) {
      Node* made = call.translator().producer_of(y, call.scope());
      if (made != nullptr && made->kind == OpKind::Gemm) {
        const ValueId bias = call.plain(2);
        call.translator().producer_of(y, call.scope())->inputs.push_back(bias);
      } else {
        y = call.node(OpKind::Add, {y, call.plain(2)});
      }
    }
    if (name == "Relu") y = call.node(OpKind::Relu, {y});
    if (name == "Relu6") y = call.node(OpKind::Clip, {y}, {{"min", 0.0}, {"max", 6.0}});
    if (name == "Elu") y = call.node(OpKind::Elu, {y});
    if (name == "Tanh") y = call.node(OpKind::Tanh, {y});
    if (name == "Sigmoid") y = call.node(OpKind::Sigmoid, {y});
    if (name == "LeakyRelu") y = call.node(OpKind::LeakyRelu, {y}, {{"alpha", call.real("leakyrelu_alpha", 0.2)}});
    if (name == "GeluApproximate" || name == "GeluExact") y = call.node(OpKind::Gelu, {y});
  }
  call.result(0, y);
}

void build_batch_matmul(Call& call) {
  const bool left = flag(call, "adj_x");
  const bool right = flag(call, "adj_y");
  const ValueId a = left ? call.transposed(call.plain(0), swap_last(call.rank(0).value_or(3))) : call.plain(0);
  const ValueId b = right ? call.permuted(1, swap_last(call.rank(1).value_or(3))) : call.plain(1);
  call.result(0, call.node(OpKind::MatMul, {a, b}));
}

// input, weights [out, in], bias: the input's dimensions but the last are rows.
void build_fully_connected(Call& call) {
  const auto weights = call.shape(1);
  const auto dims = call.shape(0);
  if (!weights || weights->size() != 2) return call.unknown();
  const bool keeps = flag(call, "keep_num_dims");
  const bool quantised = is_integer(call.dtype(0)) && call.tensor(0).has_scale;
  const bool is_matrix = dims && dims->size() == 2 && dims->back() == weights->back();
  // A whole image a row: the stored weights have their columns in whatever order it has.
  const bool flattens = call.is_first(0) && call.is_constant(1) && dims && !dims->empty() &&
                        checked_product(std::span(*dims).subspan(1)) == weights->back();
  ValueId x = flattens ? call.first(0) : call.plain(0);
  const ValueId bias = call.has(2) ? call.plain(2) : kNoValue;
  Translator& t = call.translator();
  if (keeps && !is_matrix && dims && dims->size() != 2 && !quantised) {
    ValueId y = call.node(OpKind::MatMul, {x, call.permuted(1, {1, 0})});
    if (bias != kNoValue) y = call.node(OpKind::Add, {y, bias});
    return call.result(0, activate(call, y));
  }
  if (!is_matrix) x = call.reshape(x, {-1, weights->back()});
  ValueId y = kNoValue;
  if (quantised) {
    const Tensor* to = call.output_tensor(0);
    const ValueId scale = t.quantisation(DType::Float32);
    y = call.node(OpKind::QGemm,
                  {x, scale, t.quantisation(call.value(x).dtype), call.plain(1), scale, t.quantisation(call.dtype(1)),
                   bias, scale, t.quantisation(to == nullptr ? DType::Int8 : to->dtype)},
                  {{"transB", std::int64_t{1}}});
  } else {
    std::vector<ValueId> inputs = {x, call.plain(1)};
    if (bias != kNoValue) inputs.push_back(bias);
    y = call.node(OpKind::Gemm, std::move(inputs), {{"transB", std::int64_t{1}}});
  }
  if (keeps && !is_matrix && dims && !dims->empty()) {
    Ints target(dims->size(), 0);
    target.back() = weights->front();
    for (std::size_t i = 0; i + 1 < target.size(); ++i) target[i] = (*dims)[i];
    if (!target.empty() && !call.translator().has_fixed_space(x)) target[0] = -1;
    y = call.reshape(y, target);
  }
  call.result(0, activate(call, y));
}

void build_einsum(Call& call) {
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < call.inputs(); ++i) inputs.push_back(call.plain(i));
  call.result(0, call.node(OpKind::Einsum, std::move(inputs), {{"equation", std::string(call.text("equation"))}}));
}

// A low-rank layer over time: input x features [units * rank, in], then each unit's filter over its memory.
void build_svdf(Call& call) {
  const auto features = call.shape(1);
  const auto times = call.shape(2);
  const std::int64_t rank = std::max<std::int64_t>(1, call.integer("rank", 1));
  if (!features || !times || features->size() != 2 || times->size() != 2) return call.unknown();
  Translator& t = call.translator();
  const bool quantised = is_integer(call.dtype(0));
  const ValueId scale = t.quantisation(DType::Float32);
  ValueId x = call.plain(0);
  if (quantised) x = call.node(OpKind::DequantizeLinear, {x, scale, t.quantisation(call.dtype(0))});
  const ValueId projected = call.node(OpKind::Gemm, {x, call.plain(1)}, {{"transB", std::int64_t{1}}});
  // [batch, filters, memory] * filters over time, summed over time: one product a filter.
  const std::int64_t filters = times->front();
  const std::int64_t memory = times->back();
  const auto stored = call.shape(4);
  if (!stored || stored->size() != 2) return call.unknown();
  const ValueId state = call.reshaped(4, {stored->front(), filters, memory});
  if (state == kNoValue) return call.unknown();
  const ValueId newest = call.reshape(projected, {-1, filters, 1});
  const ValueId older =
      call.node(OpKind::Slice, {state, call.integer_list({1}), call.integer_list({memory}), call.integer_list({2})});
  const ValueId joined = call.node(OpKind::Concat, {older, newest}, {{"axis", std::int64_t{2}}});
  const ValueId weighed = call.node(OpKind::Mul, {joined, call.plain(2)});
  ValueId y = call.node(OpKind::ReduceSum, {weighed, call.integer_list({2})}, {{"keepdims", std::int64_t{0}}});
  if (rank > 1) {
    y = call.reshape(y, {-1, filters / rank, rank});
    y = call.node(OpKind::ReduceSum, {y, call.integer_list({2})}, {{"keepdims", std::int64_t{0}}});
  }
  if (call.has(3)) y = call.node(OpKind::Add, {y, call.plain(3)});
  y = activate(call, y);
  const Tensor* to = call.output_tensor(0);
  if (quantised && to != nullptr) y = call.node(OpKind::QuantizeLinear, {y, scale, t.quantisation(to->dtype)});
  call.result(0, y);
}

}  // namespace forerun::tensorflow
