#include "predictors/hybrid/dequantise.hpp"

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <cstring>

#include "readers/gguf/gguf_types.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

using Bytes = const std::uint8_t*;

float half_at(Bytes at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
}

// One block each, as ggml's dequantize_row_* define them (MIT, ggml-quants.c).
void f32(Bytes in, float* out) { std::memcpy(out, in, sizeof(float)); }
void f16(Bytes in, float* out) { *out = half_at(in); }
void bf16(Bytes in, float* out) {
  std::uint16_t high = 0;
  std::memcpy(&high, in, sizeof high);
  const std::uint32_t bits = std::uint32_t(high) << 16;
  std::memcpy(out, &bits, sizeof bits);
}
void q4_0(Bytes in, float* out) {
  const float scale = half_at(in);
  for (int i = 0; i < 16; ++i) {
    out[i] = float((in[2 + i] & 15) - 8) * scale;
    out[i + 16] = float((in[2 + i] >> 4) - 8) * scale;
  }
}
void q4_1(Bytes in, float* out) {
  const float scale = half_at(in), least = half_at(in + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = float(in[4 + i] & 15) * scale + least;
    out[i + 16] = float(in[4 + i] >> 4) * scale + least;
  }
}
// The fifth bits of 32 elements are one little-endian word.
void q5(Bytes fifth_bits, Bytes in, float scale, float least, float* out) {
  std::uint32_t fifth = 0;
  std::memcpy(&fifth, fifth_bits, sizeof fifth);
  for (unsigned i = 0; i < 16; ++i) {
    out[i] = float((in[i] & 15U) | ((fifth >> i & 1U) << 4)) * scale + least;
    out[i + 16] = float((in[i] >> 4U) | ((fifth >> (i + 16) & 1U) << 4)) * scale + least;
  }
}
void q5_0(Bytes in, float* out) { q5(in + 2, in + 6, half_at(in), -16 * half_at(in), out); }
void q5_1(Bytes in, float* out) { q5(in + 4, in + 8, half_at(in), half_at(in + 2), out); }
void q8_0(Bytes in, float* out) {
  const float scale = half_at(in);
  for (int i = 0; i < 32; ++i) out[i] = float(static_cast<std::int8_t>(in[2 + i])) * scale;
}

struct ScaleAndLeast {
  float scale, least;
};
// Six-bit scales and minima of eight groups of 32 elements, packed into twelve bytes.
ScaleAndLeast packed_scales(Bytes packed, int group) {
  if (group < 4) return {float(packed[group] & 63), float(packed[group + 4] & 63)};
  return {float((packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4)),
          float((packed[group + 4] >> 4) | ((packed[group] >> 6) << 4))};
}
void q4_k(Bytes in, float* out) {
  const float scale = half_at(in), least = half_at(in + 2);
  const Bytes scales = in + 4, values = in + 16;
  for (int group = 0; group < 8; ++group) {
    const ScaleAndLeast g = packed_scales(scales, group);
    for (int i = 0; i < 32; ++i) {
      const int both = values[group / 2 * 32 + i], value = group % 2 == 0 ? both & 15 : both >> 4;
      out[group * 32 + i] = scale * g.scale * float(value) - least * g.least;
    }
  }
}
void q5_k(Bytes in, float* out) {
  const float scale = half_at(in), least = half_at(in + 2);
  const Bytes scales = in + 4, fifth = in + 16, values = in + 48;
  for (int group = 0; group < 8; ++group) {
    const ScaleAndLeast g = packed_scales(scales, group);
    for (int i = 0; i < 32; ++i) {
      const int both = values[group / 2 * 32 + i], low = group % 2 == 0 ? both & 15 : both >> 4;
      out[group * 32 + i] = scale * g.scale * float(low + ((fifth[i] >> group & 1) << 4)) - least * g.least;
    }
  }
}
void q6_k(Bytes in, float* out) {
  const float scale = half_at(in + 208);
  for (int i = 0; i < 256; ++i) {
    // Halves of 128 elements; in each, quarters of 32 share bytes of low and of high bits.
    const int half = i / 128, quarter = i / 32 % 4, at = i % 32;
    const int both = in[half * 64 + quarter % 2 * 32 + at], low = quarter < 2 ? both & 15 : both >> 4;
    const int high = in[128 + half * 32 + at] >> (2 * quarter) & 3;
    out[i] = scale * float(static_cast<std::int8_t>(in[192 + i / 16])) * float((low | high << 4) - 32);
  }
}

struct Rule {
  std::string_view type;
  void (*block)(Bytes in, float* out);
};
constexpr std::array kRules = {
    Rule{"F32", f32},   Rule{"F16", f16},   Rule{"BF16", bf16}, Rule{"Q4_0", q4_0},
    Rule{"Q4_1", q4_1}, Rule{"Q5_0", q5_0}, Rule{"Q5_1", q5_1}, Rule{"Q8_0", q8_0},
    Rule{"Q4_K", q4_k}, Rule{"Q5_K", q5_k}, Rule{"Q6_K", q6_k},
};

}  // namespace

Status dequantise(std::string_view type_name, std::string_view bytes, std::span<float> out) {
  const GgufType* type = nullptr;
  for (const GgufType& row : kGgufTypes) {
    if (row.name == type_name) type = &row;
  }
  for (const Rule& rule : kRules) {
    if (rule.type != type_name || type == nullptr) continue;
    const auto elements = std::size_t(type->block_elements), size = std::size_t(type->block_bytes);
    if (out.size() % elements != 0 || bytes.size() != out.size() / elements * size)
      return bad_input("the bytes of a " + std::string(type_name) + " tensor do not fit its elements");
    for (std::size_t block = 0; block < out.size() / elements; ++block)
      rule.block(reinterpret_cast<Bytes>(bytes.data()) + block * size, out.data() + block * elements);
    return ok();
  }
  return bad_input("weights of type " + std::string(type_name) +
                   " cannot be read as numbers here: quantise them as Q8_0, Q4_K, Q5_K or Q6_K");
}

Result<std::string_view> bytes_of(std::string_view file_bytes, const GgufFile& file, const GgufTensor& tensor) {
  const auto size = static_cast<std::int64_t>(file_bytes.size());
  if (file.data_offset > size || tensor.offset > size - file.data_offset ||
      tensor.stored.bytes > size - file.data_offset - tensor.offset)
    return bad_input("tensor " + in_quotes(tensor.stored.name) + " lies behind the end of the file: it is cut off");
  return file_bytes.substr(std::size_t(file.data_offset + tensor.offset), std::size_t(tensor.stored.bytes));
}

}  // namespace forerun
