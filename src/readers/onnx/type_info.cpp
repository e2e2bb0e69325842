#include "readers/onnx/type_info.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "readers/onnx/tensor.hpp"
#include "readers/printable.hpp"
#include "readers/protobuf.hpp"

namespace forerun::onnx {
namespace {

using protobuf::bytes;
using protobuf::Message;
using protobuf::varint;

constexpr std::size_t kMaxRank = 64;

Status read_dimension(std::string_view view, TypeInfo& type) {
  std::int64_t dim = kUnknownDim;
  std::string_view name;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): dim = message.get_int64(); break;
      case bytes(2): name = message.get_view(); break;
      default: message.skip();
    }
  }
  if (dim < kUnknownDim) return bad_input("negative dimension " + std::to_string(dim));
  if (dim > kMaxDim) return bad_input("dimension " + std::to_string(dim) + " is too large");
  type.dims.push_back(dim);
  type.dim_names.push_back(dim == kUnknownDim ? printable(name) : std::string{});
  return ok();
}

Status read_shape(std::string_view view, TypeInfo& type, ReadContext& context) {
  type.has_shape = true;
  Message message(view);
  while (message.next(1, protozero::pbf_wire_type::length_delimited)) {
    const std::string_view dimension = message.get_view();
    FORERUN_CHECK(context.check_name(dimension));
    FORERUN_CHECK(context.charge(64 + std::int64_t(dimension.size())));
    FORERUN_CHECK(read_dimension(dimension, type));
    if (type.dims.size() > kMaxRank) return bad_input("it has more than 64 dimensions");
  }
  const auto named = [](const std::string& name) { return !name.empty(); };
  if (std::none_of(type.dim_names.begin(), type.dim_names.end(), named)) type.dim_names.clear();
  if (std::find(type.dims.begin(), type.dims.end(), kUnknownDim) == type.dims.end() &&
      checked_product(type.dims) >= kSizeLimit / 16) {
    return bad_input("its size overflows");
  }
  return ok();
}

Status read_tensor_type(std::string_view view, TypeInfo& type, ReadContext& context) {
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): type.dtype = read_dtype(message.get_int32(), context); break;
      case bytes(2): FORERUN_CHECK(read_shape(message.get_view(), type, context)); break;
      default: message.skip();
    }
  }
  return ok();
}

// TypeProto, unwrapped in a loop: a hostile file may nest types without end.
Status read_type(std::string_view view, TypeInfo& type, ReadContext& context) {
  for (int depth = 0; depth < kMaxTypeDepth; ++depth) {
    std::string_view inner;  // the element type of a sequence or optional, the value type of a map
    Message message(view);
    ValueForm form = ValueForm::Tensor;
    while (message.next()) {
      switch (message.tag_and_type()) {
        case bytes(1): FORERUN_CHECK(read_tensor_type(message.get_view(), type, context)); break;
        case bytes(8):
          form = ValueForm::Sparse;
          FORERUN_CHECK(read_tensor_type(message.get_view(), type, context));
          break;
        case bytes(4):
          form = ValueForm::Sequence;
          inner = message.get_view();
          break;
        case bytes(5):
          form = ValueForm::Map;
          inner = message.get_view();
          break;
        case bytes(9):
          form = ValueForm::Optional;
          inner = message.get_view();
          break;
        default: message.skip();
      }
    }
    if (depth == 0) type.form = form;
    if (form == ValueForm::Tensor || form == ValueForm::Sparse) return ok();
    Message wrapper(inner);
    const std::uint32_t element_field = form == ValueForm::Map ? 2 : 1;
    if (!wrapper.next(element_field, protozero::pbf_wire_type::length_delimited)) return ok();
    view = wrapper.get_view();
  }
  return bad_input("its type is nested more than " + std::to_string(kMaxTypeDepth) + " deep");
}

}  // namespace

Result<TypeInfo> read_value_info(std::string_view view, ReadContext& context) {
  context.enter(view);
  TypeInfo type;
  std::string_view type_message;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): type.name = message.get_view(); break;
      case bytes(2): type_message = message.get_view(); break;
      default: message.skip();
    }
  }
  if (const Status status = read_type(type_message, type, context); !status) {
    return Error{status.error().kind,
                 "value " + in_quotes(type.name) + context.at(view) + ": " + status.error().message};
  }
  return type;
}

void add_type(Value& value, TypeInfo type) {
  if (value.dtype == DType::Undefined) {
    value.dtype = type.dtype;
    value.form = type.form;
  }
  if (value.has_shape || !type.has_shape) return;
  value.has_shape = true;
  value.dims = std::move(type.dims);
  value.dim_names = std::move(type.dim_names);
}

}  // namespace forerun::onnx
