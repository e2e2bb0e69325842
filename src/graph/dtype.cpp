#include "graph/dtype.hpp"

#include <array>

#include "base/checked.hpp"

namespace forerun {
namespace {

enum class Family : std::uint8_t { None, Float, Int, Other };
struct Row {
  std::string_view name;
  int bits;
  Family family;
};

constexpr std::array kRows = {
    // one row per DType, in enum order
    Row{"undefined", 0, Family::None},
    Row{"float32", 32, Family::Float},
    Row{"uint8", 8, Family::Int},
    Row{"int8", 8, Family::Int},
    Row{"uint16", 16, Family::Int},
    Row{"int16", 16, Family::Int},
    Row{"int32", 32, Family::Int},
    Row{"int64", 64, Family::Int},
    Row{"string", 0, Family::Other},
    Row{"bool", 8, Family::Other},
    Row{"float16", 16, Family::Float},
    Row{"float64", 64, Family::Float},
    Row{"uint32", 32, Family::Int},
    Row{"uint64", 64, Family::Int},
    Row{"complex64", 64, Family::Other},
    Row{"complex128", 128, Family::Other},
    Row{"bfloat16", 16, Family::Float},
    Row{"float8e4m3fn", 8, Family::Float},
    Row{"float8e4m3fnuz", 8, Family::Float},
    Row{"float8e5m2", 8, Family::Float},
    Row{"float8e5m2fnuz", 8, Family::Float},
    Row{"uint4", 4, Family::Int},
    Row{"int4", 4, Family::Int},
    Row{"float4e2m1", 4, Family::Float},
    Row{"float8e8m0", 8, Family::Float},
    Row{"uint2", 2, Family::Int},
    Row{"int2", 2, Family::Int},
};
static_assert(kRows.size() == std::size_t(DType::Count), "every DType needs one row in kRows");

const Row& row(DType type) { return kRows[type < DType::Count ? std::size_t(type) : 0]; }

}  // namespace

std::string_view name_of(DType type) { return row(type).name; }
int bits_of(DType type) { return row(type).bits; }
bool is_floating(DType type) { return row(type).family == Family::Float; }
bool is_integer(DType type) { return row(type).family == Family::Int; }
bool is_quantized(DType type) { return row(type).family == Family::Int && row(type).bits <= 8; }

std::int64_t bytes_of(DType type, std::int64_t elements) {
  const std::int64_t bits = checked_mul(elements, bits_of(type));
  return bits >= kSizeLimit ? kSizeLimit : (bits + 7) / 8;
}

}  // namespace forerun
