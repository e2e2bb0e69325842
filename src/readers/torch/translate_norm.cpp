// Normalisations and softmax. Where PyTorch also gives mean and deviation, they come after the values.
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

// Statistics that only a training step looks at are never made in inference.
void give_statistics(Call& c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) c.give(Argument{});
}

bool is_native(const Call& c) {
  return c.row().name.starts_with("native_") || c.row().name.starts_with("_native_") ||
         c.row().name.starts_with("_batch_norm") || c.row().name.starts_with("cudnn_");
}

}  // namespace

void batch_norm(Call& c) {
  const ValueId x = c.tensor("input");
  if (c.failed()) return;
  std::vector<ValueId> inputs = {x, c.optional_tensor("weight"), c.optional_tensor("bias"),
                                 c.optional_tensor("running_mean"), c.optional_tensor("running_var")};
  const ValueId y = c.node(OpKind::BatchNormalization, std::move(inputs), {{"epsilon", c.real("eps", 1e-5)}});
  c.give(y);
  if (is_native(c)) give_statistics(c, c.operation().results > 0 ? c.operation().results - 1 : 2);
}

void layer_norm(Call& c) {
  const ValueId x = c.tensor("input");
  const auto shape = c.integers("normalized_shape");
  if (c.failed()) return;
  if (shape.empty() || shape.size() > c.rank(x)) return c.fail("'normalized_shape' does not fit the input");
  std::vector<ValueId> inputs = {x, c.optional_tensor("weight")};
  if (c.has("bias")) inputs.push_back(c.tensor("bias"));
  c.give(c.node(OpKind::LayerNormalization, std::move(inputs),
                {{"axis", -std::int64_t(shape.size())}, {"epsilon", c.real("eps", 1e-5)}}));
  if (is_native(c)) give_statistics(c, 2);
}

void group_norm(Call& c) {
  const ValueId x = c.tensor("input");
  if (c.failed()) return;
  const std::int64_t groups = c.has("num_groups") ? c.integer("num_groups") : c.integer("group", 1);
  std::vector<ValueId> inputs = {x, c.optional_tensor("weight"), c.optional_tensor("bias")};
  c.give(c.node(OpKind::GroupNormalization, std::move(inputs),
                {{"num_groups", groups}, {"epsilon", c.real("eps", 1e-5)}}));
  if (is_native(c)) give_statistics(c, 2);
}

void instance_norm(Call& c) {
  const ValueId x = c.tensor("input");
  if (c.failed()) return;
  c.give(c.node(OpKind::InstanceNormalization, {x, c.optional_tensor("weight"), c.optional_tensor("bias")},
                {{"epsilon", c.real("eps", 1e-5)}}));
}

void rms_norm(Call& c) {
  const ValueId x = c.tensor("input");
  const auto shape = c.integers("normalized_shape");
  if (c.failed()) return;
  if (shape.empty() || shape.size() > c.rank(x)) return c.fail("'normalized_shape' does not fit the input");
  std::vector<ValueId> inputs = {x};
  if (c.has("weight")) inputs.push_back(c.tensor("weight"));
  c.give(c.node(OpKind::RMSNormalization, std::move(inputs),
                {{"axis", -std::int64_t(shape.size())}, {"epsilon", c.real("eps", 1e-5)}}));
  if (c.row().name == "_fused_rms_norm") give_statistics(c, 1);
}

// direction * magnitude / |direction|: stored tensors alone, computed once.
void weight_norm(Call& c) {
  const ValueId direction = c.tensor("v"), magnitude = c.tensor("g");
  if (!c.failed()) c.give(c.node(OpKind::Mul, {direction, magnitude}));
}

void local_response_norm(Call& c) {
  const ValueId x = c.tensor("input");
  if (!c.failed()) c.give(c.node(OpKind::LRN, {x}, {{"size", c.integer("size", 5)}}));
}

void softmax(Call& c) {
  ValueId x = c.tensor("self");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  if (const auto type = c.dtype("dtype")) x = c.cast(x, *type);
  c.give(c.node(c.row().kind, {x}, {{"axis", std::int64_t(c.axis(c.integer("dim", -1), rank))}}));
}

}  // namespace forerun::pytorch
