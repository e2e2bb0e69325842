// Names of kernel classes, element sizes and arithmetic units by precision.
#include <array>

#include "analysis/kernel_builder.hpp"

namespace forerun {

std::string_view name_of(KernelClass kernel_class) {
  constexpr std::array<std::string_view, std::size_t(KernelClass::Count)> kNames = {
      "conv",    "depthwise_conv", "conv_transpose", "linear",     "batched_matmul", "attention",
      "experts", "recurrent",      "batch_norm",     "layer_norm", "softmax",        "elementwise",
      "pool",    "reduce",         "embedding",      "copy",       "optimizer",      "other"};
  return kNames[std::size_t(kernel_class)];
}

double activation_bytes(Precision precision) {
  switch (precision) {
    case Precision::IeeeFp32:
    case Precision::Fp32:
    case Precision::Tf32: return 4;
    default: return 2;  // reduced precisions keep activations in 16 bits
  }
}

Math math_of(KernelClass kernel_class, Precision precision, DType weight) {
  const bool conv = is_convolution(kernel_class);
  const bool product = conv || kernel_class == KernelClass::Linear || kernel_class == KernelClass::BatchedMatMul ||
                       kernel_class == KernelClass::Attention || kernel_class == KernelClass::Experts ||
                       kernel_class == KernelClass::Recurrent;
  if (weight == DType::Float64) return Math::Fp64;
  switch (precision) {
    case Precision::IeeeFp32: return Math::Fp32;
    case Precision::Fp32: return conv ? Math::Tf32Tensor : Math::Fp32;
    case Precision::Tf32: return product ? Math::Tf32Tensor : Math::Fp32;
    case Precision::Fp16: return product ? Math::Fp16Tensor : Math::Fp16;
    case Precision::Bf16:
    case Precision::AmpBf16: return product ? Math::Bf16Tensor : Math::Bf16;
    case Precision::AmpFp16: return product ? Math::Fp16Tensor : Math::Fp16;
    case Precision::Fp8:
      return product && kernel_class != KernelClass::Attention ? Math::Fp8Tensor
             : product                                         ? Math::Bf16Tensor
                                                               : Math::Bf16;
    case Precision::Int8:
      return product && kernel_class != KernelClass::Attention ? Math::Int8Tensor
             : product                                         ? Math::Fp16Tensor
                                                               : Math::Fp16;
    case Precision::Int4: return product ? Math::Fp16Tensor : Math::Fp16;  // 4-bit weights are unpacked to 16 bits
    case Precision::Fp4: return product ? Math::Bf16Tensor : Math::Bf16;  // the same; serving engines have fp4 products
    case Precision::Count: break;
  }
  return Math::Fp32;
}

}  // namespace forerun
