// Attributes of nodes. A tensor attribute NAME (other than a Constant's) becomes NAME with its contents when they are
// small (a number when it has one element), NAME_dtype with its element type and NAME_dims with its dimensions.
#include <utility>

#include "readers/onnx/graph_builder.hpp"
#include "readers/printable.hpp"

namespace forerun::onnx {
namespace {

TensorInfo integer_constant(std::vector<std::int64_t> values, Dims dims) {
  TensorInfo tensor;
  tensor.dtype = DType::Int64;
  tensor.dims = std::move(dims);
  if (std::int64_t(values.size()) <= kMaxLiteralElements) {
    tensor.literal = Literal{.ints = std::move(values), .reals = {}};
  }
  return tensor;
}

TensorInfo real_constant(std::vector<double> values, Dims dims) {
  TensorInfo tensor;
  tensor.dtype = DType::Float32;
  tensor.dims = std::move(dims);
  if (std::int64_t(values.size()) <= kMaxRealLiteralElements) {
    tensor.literal = Literal{.ints = {}, .reals = std::move(values)};
  }
  return tensor;
}

TensorInfo text_constant(Dims dims) {
  TensorInfo tensor;
  tensor.dtype = DType::String;
  tensor.dims = std::move(dims);
  return tensor;
}

std::vector<std::string> copy_texts(const std::vector<std::string_view>& texts) { return {texts.begin(), texts.end()}; }

std::int64_t size_of(const AttributeMessage& attribute) {
  std::int64_t size = 64 + std::int64_t(attribute.name.size() + attribute.text.size());
  size += 8 * std::int64_t(attribute.reals.size() + attribute.integers.size());
  for (const std::string_view text : attribute.texts) size += 32 + std::int64_t(text.size());
  return size;
}

}  // namespace

// `renamed`: the name to store it under when the value comes from a function's argument.
Status GraphBuilder::add_attribute(std::string_view view, std::string_view renamed, const Place& place, Node& node) {
  context_.enter(view);
  AttributeMessage attribute = split_attribute(view);
  if (!renamed.empty()) attribute.name = renamed;
  FORERUN_CHECK(context_.check_name(attribute.name));
  FORERUN_CHECK(context_.charge(size_of(attribute)));
  if (!attribute.reference.empty()) {
    if (place.frame == nullptr) {
      return bad_input("attribute " + in_quotes(attribute.name) + " refers to " + in_quotes(attribute.reference) +
                       " outside a function");
    }
    const auto argument = place.frame->arguments.find(attribute.reference);
    if (argument == place.frame->arguments.end()) return ok();  // left out by the call, no default
    Place there = argument->second.place;
    there.block = place.block;
    there.depth = place.depth;  // expansion must not reset the nesting it is in
    return add_attribute(argument->second.message, attribute.name, there, node);
  }
  const bool is_constant = node.kind == OpKind::Constant && node.outputs.size() == 1 && node.outputs[0] != kNoValue;
  if (is_constant) return set_constant(attribute, node);

  const std::string name = printable(attribute.name);
  switch (attribute.type) {
    case AttributeType::Float: node.attributes.push_back({name, attribute.real}); break;
    case AttributeType::Int: node.attributes.push_back({name, attribute.integer}); break;
    case AttributeType::String: node.attributes.push_back({name, std::string(attribute.text)}); break;
    case AttributeType::Floats: node.attributes.push_back({name, std::move(attribute.reals)}); break;
    case AttributeType::Ints: node.attributes.push_back({name, std::move(attribute.integers)}); break;
    case AttributeType::Strings: node.attributes.push_back({name, copy_texts(attribute.texts)}); break;
    case AttributeType::Tensor:
    case AttributeType::SparseTensor: return add_tensor(attribute, node);
    case AttributeType::Graph:
    case AttributeType::Graphs:
      for (const std::string_view graph : attribute.graphs) {
        FORERUN_TRY(const std::int32_t block, build_graph(graph, place));
        node.blocks.emplace_back(name, block);
      }
      break;
    default: break;  // types, lists of tensors: nothing that costs depends on them
  }
  return ok();
}

Status GraphBuilder::add_tensor(const AttributeMessage& attribute, Node& node) {
  FORERUN_TRY(TensorInfo tensor, attribute.type == AttributeType::Tensor
                                     ? read_tensor(attribute.tensor, context_)
                                     : read_sparse_tensor(attribute.sparse_tensor, context_));
  const std::string name = printable(attribute.name);
  const Literal contents = tensor.literal.value_or(Literal{});
  if (contents.ints.size() == 1) {
    node.attributes.push_back({name, contents.ints[0]});
  } else if (contents.reals.size() == 1) {
    node.attributes.push_back({name, contents.reals[0]});
  } else if (!contents.ints.empty()) {
    node.attributes.push_back({name, contents.ints});
  } else if (!contents.reals.empty()) {
    node.attributes.push_back({name, contents.reals});
  }
  node.attributes.push_back({name + "_dtype", static_cast<std::int64_t>(tensor.dtype)});
  node.attributes.push_back({name + "_dims", std::move(tensor.dims)});
  return ok();
}

// A Constant's contents belong to its output value.
Status GraphBuilder::set_constant(const AttributeMessage& attribute, Node& node) {
  TensorInfo tensor;
  if (attribute.type == AttributeType::Tensor) {
    FORERUN_TRY(tensor, read_tensor(attribute.tensor, context_));
  } else if (attribute.type == AttributeType::SparseTensor) {
    FORERUN_TRY(tensor, read_sparse_tensor(attribute.sparse_tensor, context_));
  } else if (attribute.type == AttributeType::Int) {
    tensor = integer_constant({attribute.integer}, {});
  } else if (attribute.type == AttributeType::Ints) {
    tensor = integer_constant(attribute.integers, {std::int64_t(attribute.integers.size())});
  } else if (attribute.type == AttributeType::Float) {
    tensor = real_constant({attribute.real}, {});
  } else if (attribute.type == AttributeType::Floats) {
    tensor = real_constant(attribute.reals, {std::int64_t(attribute.reals.size())});
  } else if (attribute.type == AttributeType::String) {
    tensor = text_constant({});
  } else if (attribute.type == AttributeType::Strings) {
    tensor = text_constant({std::int64_t(attribute.texts.size())});
  } else {
    return ok();
  }
  set_contents(graph_.values[std::size_t(node.outputs[0])], std::move(tensor));
  return ok();
}

}  // namespace forerun::onnx
