// NodeProto, AttributeProto, GraphProto and FunctionProto as views into the file: split into fields, nothing resolved.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace forerun::onnx {

// Numbered as onnx.AttributeProto.AttributeType.
enum class AttributeType : std::int32_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
};

struct AttributeMessage {
  std::string_view name;
  std::string_view reference;  // ref_attr_name: the value is an attribute of the enclosing function
  AttributeType type = AttributeType::Undefined;
  double real = 0;
  std::int64_t integer = 0;
  std::string_view text;
  std::string_view tensor;
  std::string_view sparse_tensor;
  std::vector<double> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
  std::vector<std::string_view> graphs;  // one for Graph
};

struct NodeMessage {
  std::string_view view;  // the whole message
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;  // "" for the standard operators, also when the file says "ai.onnx"
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;
  bool has_metadata = false;
  bool made_of_norm = false;  // notes of PyTorch's exporter say that a batch normalisation went into it
};

struct GraphMessage {
  std::string_view name;
  std::vector<NodeMessage> nodes;
  std::vector<std::string_view> initializers;
  std::vector<std::string_view> sparse_initializers;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> value_infos;
};

struct FunctionMessage {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> default_attributes;  // AttributeProtos
  std::vector<NodeMessage> nodes;
  std::vector<std::string_view> value_infos;
};

// These throw protozero's exceptions on damaged input; the edge of the reader catches them.
AttributeMessage split_attribute(std::string_view view);
std::string_view attribute_name(std::string_view view);
NodeMessage split_node(std::string_view view);
GraphMessage split_graph(std::string_view view);
FunctionMessage split_function(std::string_view view);

}  // namespace forerun::onnx
