// Model-local functions: a call is replaced by the body, its attributes handed down.
#include <utility>

#include "readers/onnx/graph_builder.hpp"
#include "readers/printable.hpp"

namespace forerun::onnx {

Status GraphBuilder::add_function(std::string_view message) {
  context_.enter(message);
  FunctionMessage function = split_function(message);
  if (function.name.empty()) return bad_input("a function has no name" + context_.at(message));
  FORERUN_CHECK(context_.check_name(function.name));
  FORERUN_CHECK(context_.charge(256 + 128 * std::int64_t(function.nodes.size())));
  const auto key = std::tuple(function.domain, function.name, function.overload);
  if (!functions_.emplace(key, std::move(function)).second) {
    return bad_input("function " + in_quotes(std::get<1>(key)) + " is defined twice" + context_.at(message));
  }
  return ok();
}

const FunctionMessage* GraphBuilder::find_function(const NodeMessage& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(std::tuple(node.domain, node.op_type, node.overload));
  return found == functions_.end() ? nullptr : &found->second;
}

Status GraphBuilder::add_identity(ValueId from, ValueId to, std::int32_t block, const Frame& frame) {
  Node node;
  node.kind = OpKind::Identity;
  node.op_type = "Identity";
  node.name = frame.prefix + graph_.values[std::size_t(to)].name;
  node.inputs = {from};
  node.outputs = {to};
  FORERUN_CHECK(context_.charge(std::int64_t(sizeof(Node) + node.name.size())));
  graph_.blocks[std::size_t(block)].nodes.push_back(std::move(node));
  return ok();
}

Status GraphBuilder::inline_call(const NodeMessage& call, const FunctionMessage& function,
                                 const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs,
                                 const Place& place) {
  constexpr std::size_t kLongestPrefix = 200;
  Frame frame{.function = &function, .caller = place.frame, .prefix = {}, .arguments = {}};
  if (place.frame != nullptr) frame.prefix = place.frame->prefix;
  for (const Frame* outer = place.frame; outer != nullptr; outer = outer->caller) {
    if (outer->function == &function) {
      return bad_input(describe(call) + ": function " + in_quotes(function.name) + " calls itself");
    }
  }
  if (place.depth >= kMaxDepth) {
    return bad_input(describe(call) + ": calls and graphs are nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  if (inputs.size() > function.inputs.size() || outputs.size() > function.outputs.size()) {
    return bad_input(describe(call) + ": function " + in_quotes(function.name) + " takes " +
                     std::to_string(function.inputs.size()) + " inputs and gives " +
                     std::to_string(function.outputs.size()) + " outputs; the call has more");
  }
  const std::string own = printable(call.name.empty() ? function.name : call.name) + "/";
  if (frame.prefix.size() + own.size() <= kLongestPrefix) frame.prefix += own;

  for (const std::string_view attribute : function.default_attributes) {
    frame.arguments[attribute_name(attribute)] = {attribute, Place{}};
  }
  for (const std::string_view attribute : call.attributes) {
    Argument argument{attribute, place};
    // An attribute handed on from the calling function: take what that one was given.
    const std::string_view reference = split_attribute(attribute).reference;
    if (!reference.empty()) {
      if (place.frame == nullptr) continue;
      const auto handed = place.frame->arguments.find(reference);
      if (handed == place.frame->arguments.end()) continue;
      argument = handed->second;
    }
    frame.arguments[attribute_name(attribute)] = argument;
  }

  Scope scope;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    scope.names.emplace(function.inputs[i], Definition{i < inputs.size() ? inputs[i] : kNoValue, -1});
  }
  std::vector<std::pair<std::size_t, ValueId>> copies;  // outputs that are an input, or another output once more
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNoValue) continue;
    const std::string_view name = function.outputs[i];
    if (scope.names.contains(name) || !scope.results.emplace(name, outputs[i]).second)
      copies.emplace_back(i, outputs[i]);
  }
  const Place inside{.scope = &scope, .frame = &frame, .node = -1, .depth = place.depth + 1, .block = place.block};
  FORERUN_CHECK(define_outputs(function.nodes, scope, &frame));
  FORERUN_CHECK(add_types(function.value_infos, scope));
  for (const auto& [name, value] : scope.results) {
    if (!scope.names.contains(name)) {
      return bad_input(describe(call) + ": function " + in_quotes(function.name) + " never produces its output " +
                       in_quotes(name));
    }
  }
  FORERUN_CHECK(add_nodes(function.nodes, inside));
  for (const auto& [index, value] : copies) {
    const auto from = scope.names.find(function.outputs[index]);
    if (from == scope.names.end()) continue;
    FORERUN_CHECK(add_identity(from->second.value, value, place.block, frame));
  }
  return ok();
}

}  // namespace forerun::onnx
