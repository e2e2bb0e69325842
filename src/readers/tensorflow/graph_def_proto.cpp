// GraphDef, NodeDef, AttrValue, TensorProto and FunctionDef from protobuf. Contents of large tensors are skipped.
#include <array>
#include <cstring>

#include "base/checked.hpp"
#include "readers/protobuf.hpp"
#include "readers/tensorflow/graph_def.hpp"

namespace forerun::tensorflow {
namespace {

using protobuf::bytes;
using protobuf::fixed32;
using protobuf::Message;
using protobuf::varint;

constexpr std::array kTypes = {  // by tensorflow.DataType
    DType::Undefined, DType::Float32, DType::Float64,    DType::Int32,       DType::UInt8,
    DType::Int16,     DType::Int8,    DType::String,     DType::Complex64,   DType::Int64,
    DType::Bool,      DType::Int8,    DType::UInt8,      DType::Int32,       DType::BFloat16,
    DType::Int16,     DType::UInt16,  DType::UInt16,     DType::Complex128,  DType::Float16,
    DType::Undefined,  // a resource
    DType::Undefined,  // a variant
    DType::UInt32,    DType::UInt64,  DType::Float8E5M2, DType::Float8E4M3FN};

struct Entry {
  std::string_view key, value;
};

Entry split_entry(std::string_view view) {
  Entry entry;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): entry.key = message.get_view(); break;
      case bytes(2): entry.value = message.get_view(); break;
      default: message.skip();
    }
  }
  return entry;
}

Result<std::string> name_of_view(std::string_view view, Budget& budget) {
  FORERUN_CHECK(Budget::check_name(view));
  FORERUN_CHECK(budget.charge(std::int64_t(view.size()) + 32));
  return printable(view);
}

// Repeats the last number of a typed field until the tensor is full, as TensorFlow does.
template <typename T>
void fill(std::vector<T>& values, std::int64_t elements) {
  if (values.empty()) values.push_back(T{});
  values.resize(std::size_t(elements), values.back());
}

Result<Tensor> split_tensor(std::string_view view, Budget& budget) {
  Tensor tensor;
  std::optional<std::string_view> content;
  Literal typed;
  constexpr std::size_t kMost = std::size_t(kMaxLiteralElements) + 1;
  const auto room = [&] { return typed.ints.size() + typed.reals.size() < kMost; };
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case varint(1): tensor.dtype = read_dtype(message.get_int64()); break;
      case bytes(2):
        if (const auto shape = split_shape(message.get_view()); shape && shape->is_known) tensor.dims = shape->dims;
        break;
      case bytes(4): content = message.get_view(); break;
      case bytes(5): {
        const std::string_view packed = message.get_view();
        for (std::size_t i = 0; i + 4 <= packed.size() && room(); i += 4) {
          float number = 0;
          std::memcpy(&number, packed.data() + i, 4);
          typed.reals.push_back(double{number});
        }
        break;
      }
      case bytes(6): {
        const std::string_view packed = message.get_view();
        for (std::size_t i = 0; i + 8 <= packed.size() && room(); i += 8) {
          double number = 0;
          std::memcpy(&number, packed.data() + i, 8);
          typed.reals.push_back(number);
        }
        break;
      }
      case fixed32(5): typed.reals.push_back(double{message.get_float()}); break;
      case protobuf::fixed64(6): typed.reals.push_back(message.get_double()); break;
      case varint(7):
      case varint(10):
      case varint(11):
      case varint(16):
      case varint(17): typed.ints.push_back(message.get_int64()); break;
      case bytes(7):
      case bytes(10):
      case bytes(11):
      case bytes(16):
      case bytes(17):
        for (const std::int64_t number : message.get_packed_int64()) {
          if (!room()) break;
          typed.ints.push_back(number);
        }
        break;
      default: message.skip();
    }
    if (!room() && !content) break;  // a large tensor: its contents are of no use here
  }
  tensor.has_shape = true;
  tensor.is_constant = true;
  for (std::int64_t& dim : tensor.dims) {
    if (dim < 0) return bad_input("a stored tensor has a dimension without a size");
  }
  FORERUN_CHECK(check_dims(tensor.dims, tensor.dtype, "value"));
  const std::int64_t elements = checked_product(tensor.dims);
  if (content && !content->empty()) {
    tensor.literal = read_literal(tensor.dtype, tensor.dims, *content);
  } else if (is_floating(tensor.dtype) && elements <= kMaxRealLiteralElements && typed.ints.empty()) {
    fill(typed.reals, elements);
    tensor.literal = std::move(typed);
  } else if ((is_integer(tensor.dtype) || tensor.dtype == DType::Bool) && elements <= kMaxLiteralElements &&
             typed.reals.empty()) {
    fill(typed.ints, elements);
    tensor.literal = std::move(typed);
  }
  if (tensor.literal)
    FORERUN_CHECK(budget.charge(8 * std::int64_t(tensor.literal->ints.size() + tensor.literal->reals.size())));
  return tensor;
}

std::string_view function_name(std::string_view name_and_attributes) {
  Message message(name_and_attributes);
  return message.next(1, protozero::pbf_wire_type::length_delimited) ? message.get_view() : std::string_view{};
}

Status split_list(std::string_view view, AttributeDef& attribute, Budget& budget) {
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::vector<std::string> texts;
  Message message(view);
  while (message.next()) {
    FORERUN_CHECK(budget.charge(8));
    switch (message.tag_and_type()) {
      case bytes(2): {
        FORERUN_TRY(std::string text, name_of_view(message.get_view(), budget));
        texts.push_back(std::move(text));
        break;
      }
      case varint(3):
      case varint(5): ints.push_back(message.get_int64()); break;
      case bytes(3):
      case bytes(5): protobuf::append_packed(message, ints); break;
      case fixed32(4): reals.push_back(double{message.get_float()}); break;
      case bytes(4): protobuf::append_packed(message, reals); break;
      case bytes(7): attribute.shapes.push_back(split_shape(message.get_view()).value_or(StatedShape{})); break;
      case bytes(9): {
        FORERUN_TRY(std::string name, name_of_view(function_name(message.get_view()), budget));
        attribute.functions.push_back(std::move(name));
        break;
      }
      default: message.skip();
    }
  }
  FORERUN_CHECK(budget.charge(8 * std::int64_t(ints.size() + reals.size())));
  if (!ints.empty()) attribute.value = std::move(ints);
  if (!reals.empty()) attribute.value = std::move(reals);
  if (!texts.empty()) attribute.value = std::move(texts);
  return ok();
}

Status split_value(std::string_view view, AttributeDef& attribute, Budget& budget) {
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): FORERUN_CHECK(split_list(message.get_view(), attribute, budget)); break;
      case bytes(2): {
        const std::string_view text = message.get_view();
        if (text.size() > kMaxNameBytes) break;  // a configuration that nothing here reads
        FORERUN_TRY(std::string copy, name_of_view(text, budget));
        attribute.value = std::move(copy);
        break;
      }
      case varint(3):
      case varint(5): attribute.value = message.get_int64(); break;
      case fixed32(4): attribute.value = double{message.get_float()}; break;
      case varint(6): attribute.type = read_dtype(message.get_int64()); break;
      case bytes(7): attribute.shapes = {split_shape(message.get_view()).value_or(StatedShape{})}; break;
      case bytes(8): {
        FORERUN_TRY(attribute.tensor, split_tensor(message.get_view(), budget));
        break;
      }
      case bytes(10): {
        FORERUN_TRY(std::string name, name_of_view(function_name(message.get_view()), budget));
        attribute.functions.push_back(std::move(name));
        break;
      }
      default: message.skip();
    }
  }
  return ok();
}

Result<NodeDef> split_node(std::string_view view, Budget& budget) {
  FORERUN_CHECK(budget.add_operation());
  NodeDef node;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        FORERUN_TRY(node.name, name_of_view(message.get_view(), budget));
        break;
      }
      case bytes(2): {
        FORERUN_TRY(node.op, name_of_view(message.get_view(), budget));
        break;
      }
      case bytes(3): {
        FORERUN_TRY(std::string input, name_of_view(message.get_view(), budget));
        node.inputs.push_back(std::move(input));
        break;
      }
      case bytes(5): {
        const Entry entry = split_entry(message.get_view());
        AttributeDef attribute;
        FORERUN_TRY(attribute.name, name_of_view(entry.key, budget));
        FORERUN_CHECK(budget.charge(sizeof(AttributeDef)));
        FORERUN_CHECK(split_value(entry.value, attribute, budget));
        node.attributes.push_back(std::move(attribute));
        break;
      }
      default: message.skip();
    }
  }
  return node;
}

Result<ArgumentDef> split_argument(std::string_view view, Budget& budget) {
  ArgumentDef argument;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        FORERUN_TRY(argument.name, name_of_view(message.get_view(), budget));
        break;
      }
      case varint(3): argument.type = read_dtype(message.get_int64()); break;
      default: message.skip();
    }
  }
  return argument;
}

Status split_signature(std::string_view view, FunctionDef& function, std::vector<std::string>& results,
                       Budget& budget) {
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        FORERUN_TRY(function.name, name_of_view(message.get_view(), budget));
        break;
      }
      case bytes(2): {
        FORERUN_TRY(ArgumentDef argument, split_argument(message.get_view(), budget));
        function.arguments.push_back(std::move(argument));
        break;
      }
      case bytes(3): {
        FORERUN_TRY(ArgumentDef result, split_argument(message.get_view(), budget));
        results.push_back(std::move(result.name));
        break;
      }
      default: message.skip();
    }
  }
  return ok();
}

// The name alone: most functions of a file save, restore or train, and are never called.
Result<FunctionDef> name_function(std::string_view view, Budget& budget) {
  FunctionDef function;
  function.message = view;
  Message message(view);
  while (message.next()) {
    if (message.tag_and_type() != bytes(1)) {
      message.skip();
      continue;
    }
    Message signature(message.get_view());
    if (signature.next(1, protozero::pbf_wire_type::length_delimited)) {
      FORERUN_TRY(function.name, name_of_view(signature.get_view(), budget));
    }
  }
  FORERUN_CHECK(budget.charge(sizeof(FunctionDef)));
  return function;
}

}  // namespace

Result<FunctionDef> split_function(std::string_view view, Budget& budget) {
  FunctionDef function;
  std::vector<std::string> results;
  std::map<std::string, std::string, std::less<>> returned;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): FORERUN_CHECK(split_signature(message.get_view(), function, results, budget)); break;
      case bytes(3): {
        FORERUN_TRY(NodeDef node, split_node(message.get_view(), budget));
        function.nodes.push_back(std::move(node));
        break;
      }
      case bytes(4): {
        const Entry entry = split_entry(message.get_view());
        FORERUN_TRY(std::string key, name_of_view(entry.key, budget));
        FORERUN_TRY(std::string value, name_of_view(entry.value, budget));
        returned[std::move(key)] = std::move(value);
        break;
      }
      default: message.skip();
    }
  }
  for (std::string& result : results) {
    const auto found = returned.find(result);
    function.results.emplace_back(result, found == returned.end() ? std::string{} : found->second);
  }
  return function;
}

DType read_dtype(std::int64_t number) {
  constexpr std::int64_t kReference = 100;  // types above are references to the same
  if (number > kReference) number -= kReference;
  if (number == 29) return DType::Int4;
  if (number == 30) return DType::UInt4;
  return number >= 0 && number < std::int64_t(kTypes.size()) ? kTypes[std::size_t(number)] : DType::Undefined;
}

std::optional<StatedShape> split_shape(std::string_view view) {
  StatedShape shape{.is_known = true, .dims = {}};
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(2): {
        std::int64_t size = 0;
        Message dim(message.get_view());
        while (dim.next()) {
          if (dim.tag_and_type() == varint(1)) {
            size = dim.get_int64();
          } else {
            dim.skip();
          }
        }
        shape.dims.push_back(size < 0 ? kUnknownDim : size);
        if (shape.dims.size() > kMaxRank) return std::nullopt;
        break;
      }
      case varint(3): shape.is_known = !message.get_bool() && shape.is_known; break;
      default: message.skip();
    }
  }
  return shape;
}

Result<GraphDef> split_graph_def(std::string_view view, Budget& budget) {
  GraphDef graph;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): {
        FORERUN_TRY(NodeDef node, split_node(message.get_view(), budget));
        graph.nodes.push_back(std::move(node));
        break;
      }
      case bytes(2): {
        Message library(message.get_view());
        while (library.next()) {
          if (library.tag_and_type() == bytes(1)) {
            FORERUN_TRY(FunctionDef function, name_function(library.get_view(), budget));
            graph.functions.push_back(std::move(function));
          } else {
            library.skip();
          }
        }
        break;
      }
      default: message.skip();
    }
  }
  return graph;
}

}  // namespace forerun::tensorflow
