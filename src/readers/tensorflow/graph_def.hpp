// A GraphDef with its function library, as protobuf or JSON state it, and how it becomes a Program.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "readers/tensorflow/budget.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

struct StatedShape {
  bool is_known = false;  // the rank is
  Dims dims;
};

struct AttributeDef {
  std::string name;
  std::optional<AttributeValue> value;  // numbers, texts and lists of them
  DType type = DType::Undefined;
  std::vector<StatedShape> shapes;  // one for a shape
  std::optional<Tensor> tensor;
  std::vector<std::string> functions;  // one for a function
};

struct NodeDef {
  std::string name, op;
  std::vector<std::string> inputs;
  std::vector<AttributeDef> attributes;
};

struct ArgumentDef {
  std::string name;
  DType type = DType::Undefined;
  StatedShape shape;
};

struct FunctionDef {
  std::string name;
  std::string_view message;  // of protobuf: split when the function is called, and nothing below is set before
  std::vector<ArgumentDef> arguments;
  std::vector<std::pair<std::string, std::string>> results;  // name, and what it is: "node:output:0"
  std::vector<NodeDef> nodes;
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<FunctionDef> functions;
};

// What to run of a graph; nothing given: what no other node reads.
struct Endpoints {
  std::vector<ArgumentDef> inputs;                           // name: of a tensor, "x:0"
  std::vector<std::pair<std::string, std::string>> outputs;  // name, and tensor
};

// Element types by number of tensorflow.DataType.
[[nodiscard]] DType read_dtype(std::int64_t number);

// graph_def_proto.cpp. Throws protozero's exceptions on damaged input.
Result<GraphDef> split_graph_def(std::string_view message, Budget& budget);
Result<FunctionDef> split_function(std::string_view message, Budget& budget);
[[nodiscard]] std::optional<StatedShape> split_shape(std::string_view message);

// `graph` is taken apart. The program has no name, format or exporter yet.
Result<Program> build_program(GraphDef graph, const Endpoints& endpoints, Budget& budget);

}  // namespace forerun::tensorflow
