// Quantisation as torch.ao writes it into exported programs.
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {

void quantize(Call& c) {
  const ValueId x = c.tensor("input");
  if (c.failed()) return;
  const DType type = c.dtype("dtype").value_or(DType::Int8);
  const ValueId scale = c.has("scales") ? c.tensor("scales") : c.operand("scale", DType::Float32);
  if (!c.failed()) c.give(c.node(OpKind::QuantizeLinear, {x, scale}, {{"output_dtype", std::int64_t(type)}}));
}

void dequantize(Call& c) {
  const ValueId x = c.tensor("input");
  if (c.failed()) return;
  const ValueId scale = c.has("scales") ? c.tensor("scales") : c.operand("scale", DType::Float32);
  if (!c.failed()) c.give(c.node(OpKind::DequantizeLinear, {x, scale}));
}

}  // namespace forerun::pytorch
