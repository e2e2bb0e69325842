// GGML's tensor types: block size in elements and bytes, as ggml's block structures define them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "graph/dtype.hpp"

namespace forerun {

struct GgufType {
  std::uint32_t id;
  std::string_view name;
  std::int64_t block_elements;
  std::int64_t block_bytes;
  DType dtype;  // the nearest plain type of one element
};

inline constexpr std::array kGgufTypes = {
    GgufType{0, "F32", 1, 4, DType::Float32},       GgufType{1, "F16", 1, 2, DType::Float16},
    GgufType{2, "Q4_0", 32, 18, DType::Int4},       GgufType{3, "Q4_1", 32, 20, DType::UInt4},
    GgufType{6, "Q5_0", 32, 22, DType::Int8},       GgufType{7, "Q5_1", 32, 24, DType::UInt8},
    GgufType{8, "Q8_0", 32, 34, DType::Int8},       GgufType{9, "Q8_1", 32, 36, DType::Int8},
    GgufType{10, "Q2_K", 256, 84, DType::UInt2},    GgufType{11, "Q3_K", 256, 110, DType::Int4},
    GgufType{12, "Q4_K", 256, 144, DType::UInt4},   GgufType{13, "Q5_K", 256, 176, DType::UInt8},
    GgufType{14, "Q6_K", 256, 210, DType::Int8},    GgufType{15, "Q8_K", 256, 292, DType::Int8},
    GgufType{16, "IQ2_XXS", 256, 66, DType::UInt2}, GgufType{17, "IQ2_XS", 256, 74, DType::UInt2},
    GgufType{18, "IQ3_XXS", 256, 98, DType::UInt4}, GgufType{19, "IQ1_S", 256, 50, DType::UInt2},
    GgufType{20, "IQ4_NL", 32, 18, DType::Int4},    GgufType{21, "IQ3_S", 256, 110, DType::UInt4},
    GgufType{22, "IQ2_S", 256, 82, DType::UInt2},   GgufType{23, "IQ4_XS", 256, 136, DType::Int4},
    GgufType{24, "I8", 1, 1, DType::Int8},          GgufType{25, "I16", 1, 2, DType::Int16},
    GgufType{26, "I32", 1, 4, DType::Int32},        GgufType{27, "I64", 1, 8, DType::Int64},
    GgufType{28, "F64", 1, 8, DType::Float64},      GgufType{29, "IQ1_M", 256, 56, DType::UInt2},
    GgufType{30, "BF16", 1, 2, DType::BFloat16},    GgufType{34, "TQ1_0", 256, 54, DType::UInt2},
    GgufType{35, "TQ2_0", 256, 66, DType::UInt2},   GgufType{39, "MXFP4", 32, 17, DType::Float4E2M1},
};

[[nodiscard]] constexpr const GgufType* find_gguf_type(std::uint32_t id) {
  for (const GgufType& type : kGgufTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

}  // namespace forerun
