#include "predictors/gnn/program.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

namespace forerun {
namespace {

using Json = nlohmann::json;

struct StepSpec {
  std::string_view name;
  int inputs;  // -1: two or more
  int tensors;
};
constexpr std::array<StepSpec, std::size_t(StepKind::Count)> kSteps = {{
    {"linear", 1, 2},
    {"sage", 1, 3},
    {"gcn", 1, 2},
    {"gat", 1, 4},
    {"gin", 1, 0},
    {"relu", 1, 0},
    {"normalize", 1, 0},
    {"affine", 1, 2},
    {"add", 2, 0},
    {"concat", -1, 0},
    {"sum_pool", 1, 0},
    {"weighted_mean", 1, 0},
    {"broadcast", 1, 0},
    {"neg_log_sigmoid", 1, 0},
    {"limit", 1, 0},
    {"log1p", 1, 0},
}};
constexpr std::int32_t kMaxWidth = 1 << 16;
constexpr std::size_t kMaxSteps = 1024;

// Output width of a step, or -1 when its tensors do not fit its input.
std::int32_t width_of(const GnnProgram& program, const Step& step, std::int32_t in) {
  const auto shape_is = [&](std::size_t i, std::int32_t rows, std::int32_t columns) {
    const ProgramTensor& tensor = program.tensors[static_cast<std::size_t>(step.tensors[i])];
    return tensor.rows == rows && tensor.columns == columns;
  };
  const auto rows_of = [&](std::size_t i) { return program.tensors[static_cast<std::size_t>(step.tensors[i])].rows; };
  switch (step.kind) {
    case StepKind::Linear:
    case StepKind::Gcn: {
      const std::int32_t out = rows_of(0);
      return shape_is(0, out, in) && shape_is(1, 1, out) ? out : -1;
    }
    case StepKind::Sage: {
      const std::int32_t out = rows_of(0);
      return shape_is(0, out, in) && shape_is(1, out, in) && shape_is(2, 1, out) ? out : -1;
    }
    case StepKind::Gat: {
      const std::int32_t out = rows_of(0);
      return shape_is(0, out, in) && shape_is(1, 1, out) && shape_is(2, 1, out) && shape_is(3, 1, out) ? out : -1;
    }
    case StepKind::Affine: return shape_is(0, 1, in) && shape_is(1, 1, in) ? in : -1;
    default: return in;
  }
}

bool needs_nodes(StepKind kind) {
  return kind == StepKind::Sage || kind == StepKind::Gcn || kind == StepKind::Gat || kind == StepKind::Gin ||
         kind == StepKind::SumPool || kind == StepKind::WeightedMean;
}

bool width_ok(std::int32_t width) { return width > 0 && width <= kMaxWidth; }

// What is wrong with a step's registers and tensors, or null; marks its tensors as used.
const char* fault_of_references(const Step& step, std::size_t registers, std::vector<bool>& used) {
  const StepSpec& spec = kSteps[std::size_t(step.kind)];
  const bool count_ok =
      spec.inputs < 0 ? step.inputs.size() >= 2 : step.inputs.size() == static_cast<std::size_t>(spec.inputs);
  if (!count_ok || step.tensors.size() != static_cast<std::size_t>(spec.tensors))
    return "wrong number of inputs or tensors";
  for (const std::int32_t input : step.inputs) {
    if (input < 0 || static_cast<std::size_t>(input) >= registers) return "a register that is not set yet";
  }
  for (const std::int32_t tensor : step.tensors) {
    if (tensor < 0 || static_cast<std::size_t>(tensor) >= used.size()) return "a tensor that does not exist";
    if (used[static_cast<std::size_t>(tensor)]) return "a tensor that another step uses";
    used[static_cast<std::size_t>(tensor)] = true;
  }
  return nullptr;
}

// Finds the shape of a step's result; returns what is wrong with its inputs, or null. REQUIRES: valid references.
const char* find_shape(const GnnProgram& program, const Step& step, const std::vector<RegisterShape>& registers,
                       RegisterShape& shape) {
  shape = registers[static_cast<std::size_t>(step.inputs.front())];
  if (needs_nodes(step.kind) && !shape.per_node) return "it works on nodes, not on the graph's row";
  if (step.kind == StepKind::Broadcast && shape.per_node) return "it works on the graph's row, not on nodes";
  for (std::size_t k = 1; k < step.inputs.size(); ++k) {
    const RegisterShape& other = registers[static_cast<std::size_t>(step.inputs[k])];
    if (other.per_node != shape.per_node) return "its inputs have different numbers of rows";
    if (step.kind == StepKind::Add && other.width != shape.width) return "its inputs have different widths";
    if (step.kind == StepKind::Concat) shape.width += other.width;
  }
  shape.width = width_of(program, step, shape.width);
  if (!width_ok(shape.width)) return "its tensors do not fit its input";
  if (step.kind == StepKind::SumPool || step.kind == StepKind::WeightedMean) shape.per_node = false;
  if (step.kind == StepKind::Broadcast) shape.per_node = true;
  return nullptr;
}

}  // namespace

std::string_view name_of(StepKind kind) { return kSteps[std::size_t(kind)].name; }

Result<std::vector<RegisterShape>> check_program(const GnnProgram& program) {
  if (!width_ok(program.node_width) || !width_ok(program.global_width))
    return bad_input("the network's input widths are not valid");
  if (program.steps.size() > kMaxSteps) return bad_input("the network has too many steps");
  for (const ProgramTensor& tensor : program.tensors) {
    if (!width_ok(tensor.rows) || !width_ok(tensor.columns))
      return bad_input(fmt::format("tensor '{}' has no valid shape", tensor.name));
  }
  std::vector<bool> used(program.tensors.size(), false);
  std::vector<RegisterShape> registers = {{true, program.node_width}, {false, program.global_width}};
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    RegisterShape shape;
    const char* fault = fault_of_references(step, registers.size(), used);
    if (fault == nullptr) fault = find_shape(program, step, registers, shape);
    if (fault != nullptr)
      return bad_input(fmt::format("step {} of the network ({}): {}", i, name_of(step.kind), fault));
    registers.push_back(shape);
  }
  if (program.outputs.empty()) return bad_input("the network has no output");
  for (const std::int32_t output : program.outputs) {
    if (output < 2 || static_cast<std::size_t>(output) >= registers.size())
      return bad_input("an output of the network is not a register");
  }
  return registers;
}

std::string program_to_json(const GnnProgram& program) {
  Json tensors = Json::array(), steps = Json::array();
  for (const ProgramTensor& tensor : program.tensors) {
    tensors.push_back(
        {{"name", tensor.name}, {"shape", {tensor.rows, tensor.columns}}, {"type", tensor.half ? "f16" : "f32"}});
  }
  for (const Step& step : program.steps) {
    steps.push_back({{"op", name_of(step.kind)}, {"in", step.inputs}, {"tensors", step.tensors}});
  }
  return Json{{"node_width", program.node_width},
              {"global_width", program.global_width},
              {"tensors", tensors},
              {"steps", steps},
              {"outputs", program.outputs}}
      .dump();
}

Result<GnnProgram> program_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  GnnProgram program;
  bool whole_numbers = true;
  const auto whole = [&whole_numbers](const Json& number) -> std::int32_t {
    const std::int64_t value = number.is_number_integer() ? number.get<std::int64_t>() : -1;
    const bool fits = value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
    whole_numbers = whole_numbers && fits;
    return fits ? std::int32_t(value) : 0;
  };
  const auto wholes = [&whole](const Json& list) {
    std::vector<std::int32_t> numbers;
    for (const Json& number : list) numbers.push_back(whole(number));
    return numbers;
  };
  try {
    program.node_width = whole(json.at("node_width"));
    program.global_width = whole(json.at("global_width"));
    for (const Json& item : json.at("tensors")) {
      program.tensors.push_back({item.at("name").get<std::string>(), whole(item.at("shape").at(0)),
                                 whole(item.at("shape").at(1)), item.at("type").get<std::string>() == "f16"});
    }
    for (const Json& item : json.at("steps")) {
      const auto op = item.at("op").get<std::string>();
      Step step;
      step.kind = StepKind::Count;
      for (std::size_t k = 0; k < kSteps.size(); ++k) {
        if (kSteps[k].name == op) step.kind = StepKind(k);
      }
      if (step.kind == StepKind::Count)
        return bad_input(fmt::format("the network has a step '{}' that this program does not support", op));
      step.inputs = wholes(item.at("in"));
      step.tensors = wholes(item.at("tensors"));
      program.steps.push_back(std::move(step));
    }
    program.outputs = wholes(json.at("outputs"));
  } catch (const Json::exception&) {
    return bad_input("the description of the network is not complete");
  }
  if (!whole_numbers) return bad_input("the description of the network has a size or place that is no whole number");
  return program;
}

std::string pack_half(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * 2, '\0');
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto bits = Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(numbers[i]));
    std::memcpy(bytes.data() + i * 2, &bits, 2);
  }
  return bytes;
}

std::string pack_float(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

}  // namespace forerun
