#include "readers/paddle/desc_messages.hpp"

#include "readers/protobuf.hpp"

namespace forerun::paddle {
namespace {

using protobuf::bytes;
using protobuf::fixed32;
using protobuf::fixed64;
using protobuf::Message;
using protobuf::varint;

constexpr std::int64_t kListType = 13;  // LOD_TENSOR_ARRAY

// `values` may come packed or one by one.
template <typename T>
void append_bounded(std::vector<T>& values, T value) {
  if (values.size() < kMaxListed) values.push_back(value);
}

TensorType read_tensor_desc(std::string_view view) {
  TensorType type;
  type.has_shape = true;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): type.dtype = dtype_of_number(message.get_int64()); break;
      case varint(2): append_bounded(type.dims, message.get_int64()); break;
      case bytes(2):
        for (const std::int64_t dim : message.get_packed_int64()) append_bounded(type.dims, dim);
        break;
      default: message.skip();
    }
  }
  if (type.dims.size() > 64) {
    type.has_shape = false;
    type.dims.clear();
  }
  for (std::int64_t& dim : type.dims) {
    if (dim < 0 || dim > kMaxDim) dim = kUnknownDim;
  }
  return type;
}

VarMessage read_var(std::string_view view) {
  VarMessage var;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): var.name = message.get_view(); break;
      case varint(3): var.is_persistable = message.get_bool(); break;
      case bytes(2): {
        Message type = message.get_message();
        while (type.next()) {
          switch (type.tag_and_type()) {
            case varint(1): var.is_list = type.get_int64() == kListType; break;
            case bytes(2): var.type = read_tensor_desc(type.get_view()); break;  // selected_rows
            case bytes(3):
            case bytes(4): {  // lod_tensor, tensor_array
              Message lod = type.get_message();
              while (lod.next(1, protozero::pbf_wire_type::length_delimited))
                var.type = read_tensor_desc(lod.get_view());
              break;
            }
            default: type.skip();
          }
        }
        break;
      }
      default: message.skip();
    }
  }
  return var;
}

OpMessage split_op(std::string_view view) {
  OpMessage op;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): op.inputs.push_back(message.get_view()); break;
      case bytes(2): op.outputs.push_back(message.get_view()); break;
      case bytes(3): op.type = message.get_view(); break;
      case bytes(4): op.attributes.push_back(message.get_view()); break;
      default: message.skip();
    }
  }
  return op;
}

double read_scalar(Message scalar) {
  double value = 0;
  while (scalar.next()) {
    switch (scalar.tag_and_type()) {
      case varint(2): value = scalar.get_bool() ? 1 : 0; break;
      case varint(3): value = double(scalar.get_int64()); break;
      case fixed64(4): value = scalar.get_double(); break;
      default: scalar.skip();
    }
  }
  return value;
}

// What says where in the Python source an operator was made, and the like: nothing that costs depends on it.
bool is_bookkeeping(std::string_view name) {
  return name == "op_callstack" || name == "op_role" || name == "op_role_var" || name == "op_device" ||
         name == "with_quant_attr";
}

}  // namespace

BlockMessage split_block(std::string_view view) {
  BlockMessage block;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(2): block.parent = message.get_int32(); break;
      case bytes(3): block.vars.push_back(read_var(message.get_view())); break;
      case bytes(4): block.ops.push_back(split_op(message.get_view())); break;
      default: message.skip();
    }
  }
  return block;
}

AttributeMessage read_attribute(std::string_view view) {
  AttributeMessage attribute;
  Message message(view);
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::vector<std::string> texts;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1):
        attribute.name = message.get_view();
        if (is_bookkeeping(attribute.name)) return attribute;
        break;
      case varint(2): attribute.type = message.get_int64(); break;
      case varint(3): attribute.value = std::int64_t{message.get_int32()}; break;
      case fixed32(4): attribute.value = double{message.get_float()}; break;
      case bytes(5): attribute.value = std::string(message.get_view().substr(0, 4096)); break;
      case varint(6): append_bounded(ints, std::int64_t{message.get_int32()}); break;
      case varint(11): append_bounded(ints, std::int64_t{message.get_bool()}); break;
      case varint(15): append_bounded(ints, message.get_int64()); break;
      case bytes(6):
      case bytes(11):
      case bytes(15):
        for (const std::int64_t value : message.get_packed_int64()) append_bounded(ints, value);
        break;
      case fixed32(7): append_bounded(reals, double{message.get_float()}); break;
      case fixed64(16): append_bounded(reals, message.get_double()); break;
      case bytes(7):
        for (const float value : message.get_packed_float()) append_bounded(reals, double{value});
        break;
      case bytes(16):
        for (const double value : message.get_packed_double()) append_bounded(reals, value);
        break;
      case bytes(8):
        if (texts.size() < kMaxListed) texts.emplace_back(message.get_view().substr(0, 4096));
        break;
      case varint(10): attribute.value = std::int64_t{message.get_bool()}; break;
      case varint(12): attribute.block = message.get_int32(); break;
      case varint(13): attribute.value = message.get_int64(); break;
      case fixed64(19): attribute.value = message.get_double(); break;
      case bytes(20): attribute.value = read_scalar(message.get_message()); break;
      case bytes(21): append_bounded(reals, read_scalar(message.get_message())); break;
      default: message.skip();
    }
  }
  constexpr std::int64_t kInts = 3, kFloats = 4, kStrings = 5, kBooleans = 7, kLongs = 11, kFloat64s = 12,
                         kScalars = 17;
  const std::int64_t type = attribute.type;
  if (!ints.empty() || type == kInts || type == kLongs || type == kBooleans) {
    attribute.value = std::move(ints);
  } else if (!reals.empty() || type == kFloats || type == kFloat64s || type == kScalars) {
    attribute.value = std::move(reals);
  } else if (!texts.empty() || type == kStrings) {
    attribute.value = std::move(texts);
  }
  return attribute;
}

}  // namespace forerun::paddle
