// Element types, with their true width: int4 and fp4 are half a byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace forerun {

// clang-format off
enum class DType : std::uint8_t {
  Undefined, Float32, UInt8, Int8, UInt16, Int16, Int32, Int64, String, Bool, Float16, Float64, UInt32, UInt64,
  Complex64, Complex128, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, UInt4, Int4, Float4E2M1,
  Float8E8M0, UInt2, Int2,  // numbered as onnx.TensorProto.DataType
  Count,
};
// clang-format on

[[nodiscard]] std::string_view name_of(DType type);
[[nodiscard]] int bits_of(DType type);        // 0 for Undefined and String
[[nodiscard]] bool is_floating(DType type);   // fp64 down to fp4, not complex
[[nodiscard]] bool is_quantized(DType type);  // 8 bits and fewer, integer
[[nodiscard]] bool is_integer(DType type);    // any integer, not bool
// Bytes of `elements` packed elements, rounded up to whole bytes.
[[nodiscard]] std::int64_t bytes_of(DType type, std::int64_t elements);

}  // namespace forerun
