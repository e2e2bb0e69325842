#include "readers/onnx/tensor.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.hpp"
#include "readers/printable.hpp"
#include "readers/protobuf.hpp"

namespace forerun::onnx {
namespace {

using protobuf::bytes;
using protobuf::fixed32;
using protobuf::fixed64;
using protobuf::Message;
using protobuf::varint;

// Field numbers of TensorProto.
enum TensorField : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};
constexpr std::size_t kMaxRank = 64;

struct TensorMessage {
  TensorInfo info;
  std::optional<std::string_view> raw;
  bool is_external = false;
  ExternalRange range;
};

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status read_external_entry(std::string_view entry, ExternalRange& range) {
  std::string_view key;
  std::string_view text;
  Message message(entry);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): key = message.get_view(); break;
      case bytes(2): text = message.get_view(); break;
      default: message.skip();
    }
  }
  if (key == "location") range.location = std::string(text);
  if (key != "offset" && key != "length") return ok();
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number) return bad_input("external data: " + std::string(key) + " " + in_quotes(text) + " is not a number");
  if (key == "offset") range.offset = *number;
  if (key == "length") range.length = *number;
  return ok();
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = 0;
  if (exponent == 0x1F) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double bfloat_to_double(std::uint16_t bits) { return double{std::bit_cast<float>(std::uint32_t{bits} << 16)}; }

template <typename T>
T load(std::string_view raw, std::size_t index) {
  T value;  // files are little-endian, and so is every machine Forerun is built for
  std::memcpy(&value, raw.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Appends the element at `index` of raw data. REQUIRES: it lies inside `raw`
void append_raw(DType type, std::string_view raw, std::size_t index, Literal& literal) {
  switch (type) {
    case DType::Float32: literal.reals.push_back(double{load<float>(raw, index)}); break;
    case DType::Float64: literal.reals.push_back(load<double>(raw, index)); break;
    case DType::Float16: literal.reals.push_back(half_to_double(load<std::uint16_t>(raw, index))); break;
    case DType::BFloat16: literal.reals.push_back(bfloat_to_double(load<std::uint16_t>(raw, index))); break;
    case DType::UInt8: literal.ints.push_back(load<std::uint8_t>(raw, index)); break;
    case DType::Bool: literal.ints.push_back(load<std::uint8_t>(raw, index) != 0); break;
    case DType::Int8: literal.ints.push_back(load<std::int8_t>(raw, index)); break;
    case DType::UInt16: literal.ints.push_back(load<std::uint16_t>(raw, index)); break;
    case DType::Int16: literal.ints.push_back(load<std::int16_t>(raw, index)); break;
    case DType::Int32: literal.ints.push_back(load<std::int32_t>(raw, index)); break;
    case DType::UInt32: literal.ints.push_back(load<std::uint32_t>(raw, index)); break;
    case DType::Int64:
    case DType::UInt64: literal.ints.push_back(load<std::int64_t>(raw, index)); break;
    default: break;
  }
}

bool has_integer_literal(DType type) {
  switch (type) {
    case DType::UInt8:
    case DType::Int8:
    case DType::UInt16:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt32:
    case DType::UInt64:
    case DType::Bool: return true;
    default: return false;
  }
}

bool has_real_literal(DType type) {
  return type == DType::Float32 || type == DType::Float64 || type == DType::Float16 || type == DType::BFloat16;
}

// Appends one number of int32_data: narrow integers as they are, 16-bit floats as their bits.
void append_int32(DType type, std::int32_t number, Literal& literal) {
  if (type == DType::Float16) {
    literal.reals.push_back(half_to_double(static_cast<std::uint16_t>(number)));
  } else if (type == DType::BFloat16) {
    literal.reals.push_back(bfloat_to_double(static_cast<std::uint16_t>(number)));
  } else {
    literal.ints.push_back(type == DType::Bool ? std::int64_t{number != 0} : number);
  }
}

// The fields float_data, int32_data, … of a small tensor; stops when there are more than `most` elements.
Literal read_typed_data(std::string_view tensor, DType type, std::size_t most) {
  Literal literal;
  Message message(tensor);
  while (literal.ints.size() + literal.reals.size() <= most && message.next()) {
    switch (message.tag_and_type()) {
      case fixed32(kFloatData): literal.reals.push_back(double{message.get_float()}); break;
      case fixed64(kDoubleData): literal.reals.push_back(message.get_double()); break;
      case varint(kInt32Data): append_int32(type, message.get_int32(), literal); break;
      case varint(kInt64Data): literal.ints.push_back(message.get_int64()); break;
      case varint(kUint64Data): literal.ints.push_back(static_cast<std::int64_t>(message.get_uint64())); break;
      case bytes(kFloatData): protobuf::append_packed(message, literal.reals); break;
      case bytes(kInt64Data): protobuf::append_packed(message, literal.ints); break;
      case bytes(kDoubleData):
        for (const double number : message.get_packed_double()) literal.reals.push_back(number);
        break;
      case bytes(kInt32Data):
        for (const std::int32_t number : message.get_packed_int32()) append_int32(type, number, literal);
        break;
      case bytes(kUint64Data):
        for (const std::uint64_t number : message.get_packed_uint64()) {
          literal.ints.push_back(static_cast<std::int64_t>(number));
        }
        break;
      default: message.skip();
    }
  }
  return literal;
}

Result<std::optional<Literal>> read_literal(std::string_view message, TensorMessage& tensor, ReadContext& context) {
  const DType type = tensor.info.dtype;
  const bool integer = has_integer_literal(type);
  const std::int64_t most = integer ? kMaxLiteralElements : has_real_literal(type) ? kMaxRealLiteralElements : 0;
  const std::int64_t elements = checked_product(tensor.info.dims);
  if (most == 0 || elements > most) return std::optional<Literal>{};
  const std::int64_t size = bytes_of(type, elements);
  Literal literal;
  std::string stored;
  if (tensor.is_external) {
    if (!context.external.available()) return std::optional<Literal>{};
    FORERUN_TRY(stored, context.external.read(tensor.range, size));
    tensor.raw = stored;
  }
  if (tensor.raw && !tensor.raw->empty()) {
    if (std::int64_t(tensor.raw->size()) != size) return std::optional<Literal>{};
    for (std::int64_t i = 0; i < elements; ++i) append_raw(type, *tensor.raw, std::size_t(i), literal);
  } else {
    literal = read_typed_data(message, type, std::size_t(most));
  }
  const std::size_t found = integer ? literal.ints.size() : literal.reals.size();
  if (std::int64_t(found) != elements) return std::optional<Literal>{};  // weight-free, or damaged
  FORERUN_CHECK(context.charge(std::int64_t(found) * 8));
  return std::optional<Literal>(std::move(literal));
}

Status check_dims(const Dims& dims, DType type) {
  for (const std::int64_t dim : dims) {
    if (dim < 0) return bad_input("negative dimension " + std::to_string(dim));
    if (dim > kMaxDim) return bad_input("dimension " + std::to_string(dim) + " is too large");
  }
  if (dims.size() > kMaxRank) return bad_input("it has " + std::to_string(dims.size()) + " dimensions");
  const std::int64_t elements = checked_product(dims);
  if (elements >= kSizeLimit / 16 || bytes_of(type, elements) >= kSizeLimit / 16) {
    return bad_input("its size overflows");
  }
  return ok();
}

Status read_fields(std::string_view view, TensorMessage& tensor, ReadContext& context) {
  std::int64_t type_number = 0;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(kDims): tensor.info.dims.push_back(message.get_int64()); break;
      case bytes(kDims):
        for (const std::int64_t dim : message.get_packed_int64()) {
          tensor.info.dims.push_back(dim);
          if (tensor.info.dims.size() > kMaxRank) break;
        }
        break;
      case varint(kDataType): type_number = message.get_int32(); break;
      case bytes(kName): tensor.info.name = message.get_view(); break;
      case bytes(kRawData): tensor.raw = message.get_view(); break;
      case varint(kDataLocation): tensor.is_external = message.get_int32() == 1; break;
      case bytes(kExternalData): FORERUN_CHECK(read_external_entry(message.get_view(), tensor.range)); break;
      default: message.skip();
    }
    if (tensor.info.dims.size() > kMaxRank) return bad_input("it has more than 64 dimensions");
  }
  tensor.info.dtype = read_dtype(type_number, context);
  return ok();
}

Status read_contents(std::string_view view, TensorMessage& tensor, ReadContext& context) {
  FORERUN_CHECK(read_fields(view, tensor, context));
  FORERUN_CHECK(check_dims(tensor.info.dims, tensor.info.dtype));
  const std::int64_t size = bytes_of(tensor.info.dtype, checked_product(tensor.info.dims));
  if (tensor.is_external) {
    FORERUN_CHECK(context.external.check(tensor.range, size));
    if (!context.external.available()) context.warn("weights stored outside the file were not looked at");
  } else if (tensor.raw && !tensor.raw->empty() && tensor.info.dtype != DType::Undefined &&
             std::int64_t(tensor.raw->size()) != size) {
    context.warn_of("tensor", tensor.info.name, "holds more or less data than its dimensions need");
  }
  FORERUN_TRY(tensor.info.literal, read_literal(view, tensor, context));
  return context.charge(64);
}

}  // namespace

DType read_dtype(std::int64_t number, ReadContext& context) {
  if (number >= 0 && number < std::int64_t(DType::Count)) return static_cast<DType>(number);
  context.warn("element type " + std::to_string(number) + " is not known; its tensors count no bytes");
  return DType::Undefined;
}

Result<TensorInfo> read_tensor(std::string_view message, ReadContext& context) {
  context.enter(message);
  TensorMessage tensor;
  if (const Status status = read_contents(message, tensor, context); !status) {
    return Error{status.error().kind,
                 "tensor " + in_quotes(tensor.info.name) + context.at(message) + ": " + status.error().message};
  }
  return std::move(tensor.info);
}

Result<TensorInfo> read_sparse_tensor(std::string_view message_view, ReadContext& context) {
  context.enter(message_view);
  TensorInfo tensor;
  Message message(message_view);
  Dims dims;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        FORERUN_TRY(tensor, read_tensor(message.get_view(), context));
        break;
      }
      case varint(3): dims.push_back(message.get_int64()); break;
      case bytes(3): protobuf::append_packed(message, dims); break;
      default: message.skip();
    }
  }
  if (const Status status = check_dims(dims, tensor.dtype); !status) {
    return bad_input("sparse tensor " + in_quotes(tensor.name) + context.at(message_view) + ": " +
                     status.error().message);
  }
  tensor.stored_bytes = bytes_of(tensor.dtype, checked_product(tensor.dims));
  tensor.dims = std::move(dims);
  tensor.literal.reset();
  return tensor;
}

void set_contents(Value& value, TensorInfo tensor) {
  value.dtype = tensor.dtype;
  value.form = tensor.stored_bytes >= 0 ? ValueForm::Sparse : ValueForm::Tensor;
  value.has_shape = true;
  value.dims = std::move(tensor.dims);
  value.dim_names.clear();
  value.literal = std::move(tensor.literal);
  value.stored_bytes = tensor.stored_bytes;
}

}  // namespace forerun::onnx
