// Contents and dimensions of tensors stored in TensorFlow's files.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "readers/tensorflow/budget.hpp"

namespace forerun::tensorflow {
namespace {

template <typename T>
T load(std::string_view bytes, std::size_t index) {
  T value;  // files are little-endian, and so is every machine Forerun is built for
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  if (exponent == 0x1F) value = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -value : value;
}

// REQUIRES: the element lies inside `bytes`
void append(DType type, std::string_view bytes, std::size_t i, Literal& literal) {
  switch (type) {
    case DType::Float32: literal.reals.push_back(double{load<float>(bytes, i)}); break;
    case DType::Float64: literal.reals.push_back(load<double>(bytes, i)); break;
    case DType::Float16: literal.reals.push_back(half(load<std::uint16_t>(bytes, i))); break;
    case DType::BFloat16:
      literal.reals.push_back(double{std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(bytes, i)} << 16)});
      break;
    case DType::Bool: literal.ints.push_back(load<std::uint8_t>(bytes, i) != 0); break;
    case DType::UInt8: literal.ints.push_back(load<std::uint8_t>(bytes, i)); break;
    case DType::Int8: literal.ints.push_back(load<std::int8_t>(bytes, i)); break;
    case DType::UInt16: literal.ints.push_back(load<std::uint16_t>(bytes, i)); break;
    case DType::Int16: literal.ints.push_back(load<std::int16_t>(bytes, i)); break;
    case DType::UInt32: literal.ints.push_back(load<std::uint32_t>(bytes, i)); break;
    case DType::Int32: literal.ints.push_back(load<std::int32_t>(bytes, i)); break;
    case DType::UInt64:
    case DType::Int64: literal.ints.push_back(load<std::int64_t>(bytes, i)); break;
    default: break;
  }
}

std::int64_t most_elements(DType type) {
  switch (type) {
    case DType::Float32:
    case DType::Float64:
    case DType::Float16:
    case DType::BFloat16: return kMaxRealLiteralElements;
    case DType::UInt4:
    case DType::Int4:
    case DType::UInt2:
    case DType::Int2: return -1;
    default: return is_integer(type) || type == DType::Bool ? kMaxLiteralElements : -1;
  }
}

}  // namespace

std::optional<Literal> read_literal(DType type, const Dims& dims, std::string_view bytes) {
  const std::int64_t elements = checked_product(dims);
  if (elements > most_elements(type) || bytes_of(type, elements) != std::int64_t(bytes.size())) return std::nullopt;
  Literal literal;
  for (std::int64_t i = 0; i < elements; ++i) append(type, bytes, std::size_t(i), literal);
  return literal;
}

Status check_dims(const Dims& dims, DType type, std::string_view name) {
  if (dims.size() > kMaxRank) {
    return bad_input("tensor " + in_quotes(name) + " has " + std::to_string(dims.size()) + " dimensions");
  }
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    if (dim < kUnknownDim || dim > kMaxDim) {
      return bad_input("tensor " + in_quotes(name) + " has the dimension " + std::to_string(dim));
    }
    if (dim >= 0) elements = checked_mul(elements, dim);
  }
  if (elements >= kSizeLimit / 16 || bytes_of(type, elements) >= kSizeLimit / 16) {
    return bad_input("tensor " + in_quotes(name) + ": its size overflows");
  }
  return ok();
}

}  // namespace forerun::tensorflow
