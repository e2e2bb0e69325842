// If and while.
#include "readers/paddle/operators.hpp"

namespace forerun::paddle {
namespace {

// Translates a native block into a new one of the graph.
Result<std::int32_t> body_of(Call& c, std::int32_t native, const std::string& name, bool is_loop) {
  const NativeBlock& from = c.t.program.blocks[std::size_t(native)];
  const std::int32_t made = c.w.new_block(name);
  const std::string op_type = c.w.op_type, node_name = c.w.name, module = c.w.module;
  const std::int32_t outer = c.w.block;
  c.w.block = made;
  ++c.t.depth;
  std::vector<ValueId> inputs, outputs;
  if (is_loop) {
    inputs.push_back(c.w.new_value("iteration", DType::Int64));
    inputs.push_back(c.w.new_value("condition", DType::Bool));
    for (const std::int32_t argument : from.arguments) inputs.push_back(c.t.id_of(argument));
  }
  const Status status = c.t.translate_block(from, c.t.depth);
  for (const std::int32_t result : from.results) outputs.push_back(c.t.id_of(result));
  --c.t.depth;
  c.w.block = outer;
  c.w.op_type = op_type;
  c.w.name = node_name;
  c.w.module = module;
  if (!status) return status.error();
  if (!c.w.has_room()) return made;
  std::erase(inputs, kNoValue);
  for (const ValueId input : inputs) c.w.value(input).role = ValueRole::Input;
  c.w.graph.blocks[std::size_t(made)].inputs = std::move(inputs);
  c.w.graph.blocks[std::size_t(made)].outputs = std::move(outputs);
  return made;
}

std::vector<ValueId> results_of(Call& c) {
  std::vector<ValueId> outputs;
  for (const Slot& slot : c.op.outputs) {
    if (!slot.name.empty() && slot.name != "Out") continue;
    for (const std::int32_t native : slot.values) outputs.push_back(c.t.id_of(native));
  }
  return outputs;
}

}  // namespace

Status if_else(Call& c) {
  const ValueId condition = c.in("Cond");
  if (c.op.blocks.empty() || c.op.blocks.size() > 2) return c.unknown();
  std::vector<std::pair<std::string, std::int32_t>> bodies;
  for (std::size_t i = 0; i < c.op.blocks.size(); ++i) {
    const std::string name = i == 0 ? "then_branch" : "else_branch";
    FORERUN_TRY(const std::int32_t body, body_of(c, c.op.blocks[i], name, false));
    bodies.emplace_back(name, body);
  }
  const std::vector<ValueId> outputs = results_of(c);
  if (!c.w.has_room()) return ok();
  c.w.add(OpKind::If, {condition}, outputs).blocks = std::move(bodies);
  return ok();
}

Status while_loop(Call& c) {
  if (c.op.blocks.size() != 1) return c.unknown();
  std::vector<ValueId> inputs = {kNoValue};  // how often is known only at run time
  for (const Slot& slot : c.op.inputs) {
    for (const std::int32_t native : slot.values) inputs.push_back(c.t.id_of(native));
  }
  FORERUN_TRY(const std::int32_t body, body_of(c, c.op.blocks[0], "body", true));
  const std::vector<ValueId> outputs = results_of(c);
  if (!c.w.has_room()) return ok();
  c.w.add(OpKind::Loop, std::move(inputs), outputs).blocks = {{"body", body}};
  return ok();
}

}  // namespace forerun::paddle
