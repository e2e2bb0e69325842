// A PaddlePaddle program as its file holds it, whether ProgramDesc (.pdmodel) or PIR (.json): values that are written
// once, operators in order, blocks. Both readers make it, translate() turns it into the IR.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun::paddle {

inline constexpr int kMaxDepth = 32;  // blocks inside blocks, types inside types
inline constexpr std::size_t kMaxOps = 300'000;
inline constexpr std::size_t kMaxValues = 1'000'000;
inline constexpr std::size_t kMaxOperands = 4'000'000;
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
inline constexpr std::int32_t kNone = -1;  // an operand that is left out

struct TensorType {
  DType dtype = DType::Undefined;
  bool has_shape = false;
  Dims dims;  // kUnknownDim: free
};

struct NativeValue {
  std::string name;
  TensorType type;
  std::vector<TensorType> members;  // of a list of tensors
  bool is_list = false;
  bool is_stored = false;  // its contents are in .pdiparams
};

using NativeAttribute = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                                     std::vector<double>, std::vector<std::string>>;

struct NamedAttribute {
  std::string name;
  NativeAttribute value;
};

// Operands under one name. PIR has no names: one slot each, in order.
struct Slot {
  std::string name;
  std::vector<std::int32_t> values;  // indices into Program::values, or kNone
};

struct NativeOp {
  std::string type;  // "conv2d", without "pd_op."
  std::vector<Slot> inputs, outputs;
  std::vector<NamedAttribute> attributes;
  std::vector<std::int32_t> blocks;
  std::string module;
};

// Bodies follow ONNX: a loop hands its body what it carries and takes back the condition, then what it carries; an "if"
// has two bodies with as many results.
struct NativeBlock {
  std::vector<NativeOp> ops;
  std::vector<std::int32_t> arguments, results;
};

struct Program {
  std::vector<NativeValue> values;
  std::vector<NativeBlock> blocks;  // blocks[0] is the network
  bool is_pir = false;
  std::string version;
};

[[nodiscard]] DType dtype_of_name(std::string_view name);    // "float32", "f32", "int64", …
[[nodiscard]] DType dtype_of_number(std::int64_t var_type);  // VarType.Type
[[nodiscard]] Status check_size(const Program& program);     // the limits above

Result<Program> read_program_desc(std::string_view bytes);  // throws protozero's exceptions on damage
Result<Program> read_pir(std::string_view text);
Result<Graph> translate(const Program& program);

}  // namespace forerun::paddle
