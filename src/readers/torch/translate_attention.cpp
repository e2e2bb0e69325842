// Fused attention.
#include "base/checked.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

ValueId attend(Call& c, ValueId q, ValueId k, ValueId v, ValueId mask, bool causal) {
  std::vector<ValueId> inputs = {q, k, v};
  if (mask != kNoValue) inputs.push_back(mask);
  std::vector<Attribute> attributes;
  if (causal) attributes.push_back({"is_causal", std::int64_t{1}});
  return c.node(OpKind::Attention, std::move(inputs), std::move(attributes));
}

}  // namespace

// scaled_dot_product_attention and the kernels it chooses from: (…, heads, tokens, width).
void attention(Call& c) {
  ValueId q = c.tensor("query"), k = c.tensor("key"), v = c.tensor("value");
  ValueId mask = c.optional_tensor("attn_mask");
  if (mask == kNoValue) mask = c.optional_tensor("attn_bias");
  if (c.failed()) return;
  const std::size_t rank = c.rank(q);
  if (rank < 2 || c.rank(k) != rank || c.rank(v) != rank) return c.fail("the operands differ in rank");
  const Dims wanted = c.dims(q);
  const std::int64_t width = c.dims(v).back();
  if (rank != 4) {  // leading dimensions are joined, or made
    for (ValueId* operand : {&q, &k, &v}) {
      const Dims shape = c.dims(*operand);
      const std::int64_t heads = checked_product(std::span(shape).first(rank - 2));
      *operand = c.reshape(*operand, {1, heads, shape[rank - 2], shape[rank - 1]});
    }
  }
  ValueId y = attend(c, q, k, v, mask, c.flag("is_causal", false));
  if (rank != 4) {
    Dims shape = wanted;
    shape.back() = width;
    y = c.reshape(y, shape);
  }
  c.give(y);
  // The kernels also give log-sums and random states, which only a training step looks at.
  for (std::size_t i = 1; i < c.operation().results; ++i) c.give(Argument{});
}

// nn.MultiheadAttention's short way: packed projections, attention, projection.
void multi_head_attention(Call& c) {
  const ValueId x = c.tensor("query"), weight = c.tensor("qkv_weight"), bias = c.tensor("qkv_bias");
  const ValueId out_weight = c.tensor("proj_weight"), out_bias = c.tensor("proj_bias");
  const std::int64_t heads = c.integer("num_head");
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  if (shape.size() != 3 || heads <= 0 || shape[2] % heads != 0) return c.fail("the width does not divide by the heads");
  const ValueId packed = c.node(OpKind::Add, {c.node(OpKind::MatMul, {x, c.turned(weight)}), bias});
  std::vector<ValueId> parts = c.nodes(OpKind::Split, {packed}, {{"axis", std::int64_t{2}}}, 3);
  for (ValueId& part : parts)
    part = c.transpose(c.reshape(part, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
  const ValueId y = attend(c, parts[0], parts[1], parts[2], c.optional_tensor("mask"), false);
  const ValueId merged = c.reshape(c.transpose(y, {0, 2, 1, 3}), shape);
  c.give(c.node(OpKind::Add, {c.node(OpKind::MatMul, {merged, c.turned(out_weight)}), out_bias}));
  c.give(Argument{});
}

}  // namespace forerun::pytorch
