// A TensorFlow program as its file states it, whatever the container: functions of native operators on tensors in
// TensorFlow's own layout (channels last unless an operator says otherwise). translate.hpp turns it into a Graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace forerun::tensorflow {

using TensorId = std::int32_t;  // index into Function::tensors
inline constexpr TensorId kNoTensor = -1;

struct Tensor {
  std::string name;
  DType dtype = DType::Undefined;
  bool has_shape = false;
  Dims dims;                       // kUnknownDim where it is free; meaningful only when has_shape
  Dims sizes;                      // of a file that states an example size for free dimensions; empty: none
  bool is_constant = false;        // stored in the file
  bool is_variable = false;        // a handle of state; `dims` are those of the state
  bool is_written = false;         // a variable that the network assigns to
  bool is_state = false;           // kept from run to run by the runtime: no weight
  bool has_scale = false;          // quantised: integers that stand for reals
  std::int64_t stored_bytes = -1;  // where it differs from dims x dtype (sparse)
  std::optional<Literal> literal;
};

struct Operation {
  std::string type;  // as the file calls it, e.g. "CONV_2D" or "Conv2D"
  std::string name;
  bool is_custom = false;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<Attribute> attributes;
  std::vector<std::pair<std::string, std::int32_t>> functions;  // attribute -> index into Program::functions
};

struct Function {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<Operation> operations;  // in execution order
};

enum class OperatorSet : std::uint8_t { TensorFlow, TensorFlowLite };

struct Program {
  std::string name;
  std::string format;    // "tflite", "saved_model", …: as shown to users
  std::string exporter;  // program and version as the file says
  OperatorSet operators = OperatorSet::TensorFlow;
  std::vector<Function> functions;   // never empty; functions[0] is the network
  bool has_guessed_results = false;  // the file does not say what its results are
  std::vector<std::string> warnings;
};

// How much a file may ask of us.
struct Limits {
  std::int64_t operations = 1'000'000;         // of the file, functions included
  std::int64_t nodes = 1'500'000;              // of the graph, calls expanded
  std::int64_t bytes = std::int64_t{1} << 30;  // memory of the program and of the graph, roughly
  int depth = 64;                              // calls inside calls
};

}  // namespace forerun::tensorflow
