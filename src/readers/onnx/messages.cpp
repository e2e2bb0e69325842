#include "readers/onnx/messages.hpp"

#include "readers/protobuf.hpp"

namespace forerun::onnx {
namespace {

using protobuf::bytes;
using protobuf::fixed32;
using protobuf::Message;
using protobuf::varint;

std::string_view standard_domain(std::string_view domain) { return domain == "ai.onnx" ? std::string_view{} : domain; }

}  // namespace

AttributeMessage split_attribute(std::string_view view) {
  AttributeMessage attribute;
  AttributeType found = AttributeType::Undefined;  // from the fields, for files that do not say
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): attribute.name = message.get_view(); break;
      case bytes(21): attribute.reference = message.get_view(); break;
      case varint(20): attribute.type = static_cast<AttributeType>(message.get_int32()); break;
      case fixed32(2):
        attribute.real = double{message.get_float()};
        found = AttributeType::Float;
        break;
      case varint(3):
        attribute.integer = message.get_int64();
        found = AttributeType::Int;
        break;
      case bytes(4):
        attribute.text = message.get_view();
        found = AttributeType::String;
        break;
      case bytes(5):
        attribute.tensor = message.get_view();
        found = AttributeType::Tensor;
        break;
      case bytes(6):
        attribute.graphs.push_back(message.get_view());
        found = AttributeType::Graph;
        break;
      case bytes(22):
        attribute.sparse_tensor = message.get_view();
        found = AttributeType::SparseTensor;
        break;
      case fixed32(7):
        attribute.reals.push_back(double{message.get_float()});
        found = AttributeType::Floats;
        break;
      case bytes(7):
        protobuf::append_packed(message, attribute.reals);
        found = AttributeType::Floats;
        break;
      case varint(8):
        attribute.integers.push_back(message.get_int64());
        found = AttributeType::Ints;
        break;
      case bytes(8):
        protobuf::append_packed(message, attribute.integers);
        found = AttributeType::Ints;
        break;
      case bytes(9):
        attribute.texts.push_back(message.get_view());
        found = AttributeType::Strings;
        break;
      case bytes(11):
        attribute.graphs.push_back(message.get_view());
        found = AttributeType::Graphs;
        break;
      default: message.skip();
    }
  }
  if (attribute.type == AttributeType::Undefined) attribute.type = found;
  return attribute;
}

std::string_view attribute_name(std::string_view view) {
  Message message(view);
  return message.next(1, protozero::pbf_wire_type::length_delimited) ? message.get_view() : std::string_view{};
}

namespace {

// One pair of a node's notes. PyTorch's exporter lists the operators that a node stands for, its optimiser the rules
// that rewrote it.
bool tells_of_batch_norm(std::string_view view) {
  std::string_view key, value;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): key = message.get_view(); break;
      case bytes(2): value = message.get_view(); break;
      default: message.skip();
    }
  }
  const auto says = [&](std::string_view text) { return value.find(text) != std::string_view::npos; };
  if (key == "pkg.onnxscript.rewriter.rule_name") return says("FuseBatchNorm");
  return key == "pkg.torch.onnx.class_hierarchy" && (says("'aten._native_batch_norm") || says("'aten.batch_norm"));
}

}  // namespace

NodeMessage split_node(std::string_view view) {
  NodeMessage node;
  node.view = view;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): node.inputs.push_back(message.get_view()); break;
      case bytes(2): node.outputs.push_back(message.get_view()); break;
      case bytes(3): node.name = message.get_view(); break;
      case bytes(4): node.op_type = message.get_view(); break;
      case bytes(5): node.attributes.push_back(message.get_view()); break;
      case bytes(7): node.domain = standard_domain(message.get_view()); break;
      case bytes(8): node.overload = message.get_view(); break;
      case bytes(9):
        node.has_metadata = true;
        node.made_of_norm = tells_of_batch_norm(message.get_view()) || node.made_of_norm;
        break;
      default: message.skip();
    }
  }
  return node;
}

GraphMessage split_graph(std::string_view view) {
  GraphMessage graph;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): graph.nodes.push_back(split_node(message.get_view())); break;
      case bytes(2): graph.name = message.get_view(); break;
      case bytes(5): graph.initializers.push_back(message.get_view()); break;
      case bytes(15): graph.sparse_initializers.push_back(message.get_view()); break;
      case bytes(11): graph.inputs.push_back(message.get_view()); break;
      case bytes(12): graph.outputs.push_back(message.get_view()); break;
      case bytes(13): graph.value_infos.push_back(message.get_view()); break;
      default: message.skip();
    }
  }
  return graph;
}

FunctionMessage split_function(std::string_view view) {
  FunctionMessage function;
  Message message(view);
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes(1): function.name = message.get_view(); break;
      case bytes(4): function.inputs.push_back(message.get_view()); break;
      case bytes(5): function.outputs.push_back(message.get_view()); break;
      case bytes(7): function.nodes.push_back(split_node(message.get_view())); break;
      case bytes(10): function.domain = standard_domain(message.get_view()); break;
      case bytes(11): function.default_attributes.push_back(message.get_view()); break;
      case bytes(12): function.value_infos.push_back(message.get_view()); break;
      case bytes(13): function.overload = message.get_view(); break;
      default: message.skip();
    }
  }
  return function;
}

}  // namespace forerun::onnx
