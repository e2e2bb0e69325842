// A program of torch.export as its archive holds it: the JSON in memory, nothing bound and nothing translated yet.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "base/zip.hpp"
#include "readers/torch/argument.hpp"
#include "readers/torch/call.hpp"
#include "readers/torch/expression.hpp"

namespace forerun::pytorch {

// A number, or an expression of free dimensions by its place in ExportedProgram::expressions.
struct Size {
  std::int64_t number = 0;
  std::int32_t expression = -1;
};

struct TensorMeta {
  DType type = DType::Undefined;
  std::vector<Size> sizes;
};

struct ExportedOutput {
  enum class Form : std::uint8_t { Tensor, Tensors, Number, Nothing };
  Form form = Form::Nothing;
  std::vector<std::string> names;  // one, or those of a list
};

struct ExportedNode {
  Operation operation;
  std::vector<ExportedOutput> outputs;
  std::string name;
  std::string module;  // "features/0/conv"
};

struct ExportedGraph {
  std::vector<std::string> inputs;  // names, in order; empty for what is no tensor
  std::vector<Argument> outputs;
  std::vector<ExportedNode> nodes;
  std::unordered_map<std::string, TensorMeta> tensors;
  std::unordered_map<std::string, Size> numbers;
  std::unordered_set<std::string> used;  // names that an operator or the caller takes
};

struct ExportedInput {
  enum class Role : std::uint8_t { User, Parameter, Buffer, Constant, Other };
  Role role = Role::Other;
  std::string name;    // in the graph
  std::string target;  // of the module: "features.0.weight"; of tied weights, that of the first
  bool is_mutated = false;
};

struct ExportedProgram {
  std::string exporter;  // "torch.export 2.6.0"
  std::vector<ExportedInput> inputs;
  std::vector<std::string> outputs;   // what the caller gets, tensors alone
  std::vector<ExportedGraph> graphs;  // 0 is the network, the others are bodies of control flow
  std::vector<Expression> expressions;
  Bindings largest;  // of symbols with an upper bound
  bool has_symbols = false;
};

// Weights that are kept under several names: each name and the one it counts by.
using TiedWeights = std::map<std::string, std::string>;

// `json` is the program; `weights` the table of weights beside it, empty where the archive has none.
Result<ExportedProgram> read_exported_program(std::string_view json, std::string_view weights, TiedWeights tied,
                                              const std::string& what);

}  // namespace forerun::pytorch
