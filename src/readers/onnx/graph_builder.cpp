#include "readers/onnx/graph_builder.hpp"

#include <utility>

#include "ops/op_table.hpp"
#include "readers/printable.hpp"

namespace forerun::onnx {
namespace {

bool is_constant(const NodeMessage& node) { return node.op_type == "Constant" && node.domain.empty(); }

}  // namespace

std::string GraphBuilder::describe(const NodeMessage& node) const {
  return "node " + printable(node.op_type.substr(0, 80)) + (node.name.empty() ? "" : " " + in_quotes(node.name)) +
         context_.at(node.view);
}

Result<ValueId> GraphBuilder::new_value(std::string_view name, const Frame* frame) {
  FORERUN_CHECK(context_.check_name(name));
  if (std::int64_t(graph_.values.size()) >= kMaxValues) {
    return Error{ErrorKind::TooLarge, "the graph has more than " + std::to_string(kMaxValues) + " values"};
  }
  Value value;
  value.name = frame == nullptr ? printable(name) : frame->prefix + printable(name);
  FORERUN_CHECK(context_.charge(std::int64_t(sizeof(Value) + value.name.size())));
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size() - 1);
}

// A name made by this node or a later one is taken from the graphs around it when they have it: bodies that reuse a
// name for its next state mean the outer value.
const GraphBuilder::Definition* GraphBuilder::find(const Scope* scope, std::string_view name, std::int32_t node) {
  const Definition* later = nullptr;
  for (; scope != nullptr; node = scope->owner, scope = scope->parent) {
    const auto found = scope->names.find(name);
    if (found == scope->names.end()) continue;
    if (found->second.node < node) return &found->second;
    if (later == nullptr) later = &found->second;
  }
  return later;
}

Status GraphBuilder::build_main(std::string_view message) {
  FORERUN_TRY(const std::int32_t block, build_graph(message, Place{}));
  graph_.name = graph_.blocks[std::size_t(block)].name;
  return ok();
}

Result<std::int32_t> GraphBuilder::build_graph(std::string_view view, const Place& outer) {
  context_.enter(view);
  if (outer.depth >= kMaxDepth) {
    return bad_input("graphs are nested more than " + std::to_string(kMaxDepth) + " deep" + context_.at(view));
  }
  const GraphMessage message = split_graph(view);
  FORERUN_CHECK(context_.check_name(message.name));
  FORERUN_CHECK(context_.charge(std::int64_t(sizeof(Block) + message.name.size())));
  const auto block = static_cast<std::int32_t>(graph_.blocks.size());
  graph_.blocks.emplace_back().name = printable(message.name);

  Scope scope{.parent = outer.scope, .owner = outer.node, .names = {}, .results = {}};
  const Place inside{.scope = &scope, .frame = outer.frame, .node = -1, .depth = outer.depth + 1, .block = block};
  for (const std::string_view tensor : message.initializers) {
    FORERUN_CHECK(add_initializer(tensor, false, scope, outer.frame));
  }
  for (const std::string_view tensor : message.sparse_initializers) {
    FORERUN_CHECK(add_initializer(tensor, true, scope, outer.frame));
  }
  FORERUN_CHECK(add_inputs(message, scope, outer.frame, block));
  FORERUN_CHECK(define_outputs(message.nodes, scope, outer.frame));
  FORERUN_CHECK(add_types(message.value_infos, scope));
  FORERUN_CHECK(add_outputs(message, scope, inside));
  FORERUN_CHECK(add_nodes(message.nodes, inside));
  return block;
}

Status GraphBuilder::add_initializer(std::string_view message, bool sparse, Scope& scope, const Frame* frame) {
  FORERUN_TRY(TensorInfo tensor, sparse ? read_sparse_tensor(message, context_) : read_tensor(message, context_));
  const std::string_view name = tensor.name;
  if (name.empty()) return bad_input("an initialiser has no name" + context_.at(message));
  ValueId id = kNoValue;
  if (const auto known = initializers_.find(message.data()); known != initializers_.end()) {
    id = known->second;
  } else {
    FORERUN_TRY(id, new_value(name, frame));
    initializers_.emplace(message.data(), id);
    Value& value = graph_.values[std::size_t(id)];
    const bool counts = is_floating(tensor.dtype) || is_quantized(tensor.dtype);
    value.role = counts ? ValueRole::Weight : ValueRole::Constant;
    set_contents(value, std::move(tensor));
  }
  if (!scope.names.insert_or_assign(name, Definition{id, -1}).second) {
    context_.warn_of("initialiser", name, "is stored twice; the last one is used");
  }
  return ok();
}

Status GraphBuilder::add_inputs(const GraphMessage& message, Scope& scope, const Frame* frame, std::int32_t block) {
  for (const std::string_view view : message.inputs) {
    FORERUN_TRY(TypeInfo type, read_value_info(view, context_));
    if (type.name.empty()) return bad_input("an input of graph " + in_quotes(message.name) + " has no name");
    if (const auto known = scope.names.find(type.name); known != scope.names.end()) {
      if (is_stored(graph_.values[std::size_t(known->second.value)])) continue;  // an input with a default
      return bad_input("graph " + in_quotes(message.name) + " has two inputs named " + in_quotes(type.name));
    }
    FORERUN_TRY(const ValueId id, new_value(type.name, frame));
    scope.names.emplace(type.name, Definition{id, -1});
    graph_.values[std::size_t(id)].role = type.name.starts_with("past_") ? ValueRole::Cache : ValueRole::Input;
    add_type(graph_.values[std::size_t(id)], std::move(type));
    graph_.blocks[std::size_t(block)].inputs.push_back(id);
  }
  return ok();
}

Status GraphBuilder::define_outputs(const std::vector<NodeMessage>& nodes, Scope& scope, const Frame* frame) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view name : nodes[i].outputs) {
      if (name.empty()) continue;
      if (const auto known = scope.names.find(name); known != scope.names.end()) {
        const std::int32_t other = known->second.node;
        if (!is_constant(nodes[i]) || other < 0 || !is_constant(nodes[std::size_t(other)])) {
          return bad_input(describe(nodes[i]) + ": value " + in_quotes(name) + " has two producers");
        }
        context_.warn_of("constant", name, "is defined twice; the last one is used");
        known->second.node = static_cast<std::int32_t>(i);
        continue;
      }
      ValueId id = kNoValue;
      if (const auto result = scope.results.find(name); result != scope.results.end()) {
        id = result->second;
      } else {
        FORERUN_TRY(id, new_value(name, frame));
      }
      scope.names.emplace(name, Definition{id, static_cast<std::int32_t>(i)});
    }
  }
  return ok();
}

Status GraphBuilder::add_types(const std::vector<std::string_view>& value_infos, const Scope& scope) {
  for (const std::string_view view : value_infos) {
    FORERUN_TRY(TypeInfo type, read_value_info(view, context_));
    const auto known = scope.names.find(type.name);
    if (known == scope.names.end() || known->second.value == kNoValue) continue;
    add_type(graph_.values[std::size_t(known->second.value)], std::move(type));
  }
  return ok();
}

Status GraphBuilder::add_outputs(const GraphMessage& message, Scope& scope, const Place& inside) {
  for (const std::string_view view : message.outputs) {
    FORERUN_TRY(TypeInfo type, read_value_info(view, context_));
    // Past the last node: everything of this graph comes first.
    const Definition* found = find(inside.scope, type.name, static_cast<std::int32_t>(message.nodes.size()));
    if (found == nullptr) {
      return bad_input("graph " + in_quotes(message.name) + ": nothing produces its output " + in_quotes(type.name) +
                       context_.at(view));
    }
    const ValueId id = found->value;
    graph_.blocks[std::size_t(inside.block)].outputs.push_back(id);
    if (id != kNoValue && scope.names.contains(type.name)) {
      add_type(graph_.values[std::size_t(id)], std::move(type));
    }
  }
  return ok();
}

Status GraphBuilder::add_nodes(const std::vector<NodeMessage>& nodes, const Place& inside) {
  Place place = inside;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    place.node = static_cast<std::int32_t>(i);
    FORERUN_CHECK(add_node(nodes[i], place));
  }
  return ok();
}

Status GraphBuilder::add_node(const NodeMessage& message, const Place& place) {
  context_.enter(message.view);
  if (place.frame == nullptr && ++nodes_ > context_.limits.nodes) {
    return Error{ErrorKind::TooLarge, "the graph has more than " + std::to_string(context_.limits.nodes) + " nodes"};
  }
  if (place.frame != nullptr && ++inlined_nodes_ > context_.limits.inlined_nodes) {
    return Error{ErrorKind::TooLarge,
                 "its functions expand to more than " + std::to_string(context_.limits.inlined_nodes) + " nodes"};
  }
  if (message.op_type.empty()) return bad_input(describe(message) + " has no op_type");
  FORERUN_CHECK(context_.check_name(message.name));
  FORERUN_CHECK(context_.check_name(message.op_type));
  FORERUN_CHECK(context_.check_name(message.domain));

  std::vector<ValueId> inputs;
  inputs.reserve(message.inputs.size());
  for (const std::string_view name : message.inputs) {
    const Definition* found = name.empty() ? nullptr : find(place.scope, name, place.node);
    if (found == nullptr && !name.empty()) {
      return bad_input(describe(message) + ": nothing produces its input " + in_quotes(name));
    }
    inputs.push_back(found == nullptr ? kNoValue : found->value);
  }
  std::vector<ValueId> outputs;
  outputs.reserve(message.outputs.size());
  for (const std::string_view name : message.outputs) {
    const Definition* own = name.empty() ? nullptr : &place.scope->names.at(name);
    if (own != nullptr && own->node != place.node) return ok();  // a constant that a later one replaces
    outputs.push_back(own == nullptr ? kNoValue : own->value);
  }
  if (const FunctionMessage* function = find_function(message); function != nullptr) {
    return inline_call(message, *function, inputs, outputs, place);
  }

  Node node;
  node.op_type = printable(message.op_type);
  node.domain = printable(message.domain);
  node.kind = find_op(node.domain, node.op_type);
  node.name = place.frame == nullptr ? printable(message.name) : place.frame->prefix + printable(message.name);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  FORERUN_CHECK(context_.charge(std::int64_t(sizeof(Node) + node.name.size() + node.op_type.size() +
                                             4 * (node.inputs.size() + node.outputs.size()))));
  if (node.domain.empty()) uses_standard_operators_ = true;
  has_metadata_ = has_metadata_ || message.has_metadata;
  if (message.made_of_norm && (node.kind == OpKind::Conv || node.kind == OpKind::ConvTranspose) &&
      node.inputs.size() > 1 && node.inputs[1] != kNoValue)
    graph_.values[std::size_t(node.inputs[1])].has_folded_norm = true;
  for (const std::string_view attribute : message.attributes) {
    if (const Status status = add_attribute(attribute, {}, place, node); !status) {
      // The innermost node names the place; those around it would only repeat it.
      if (status.error().message.starts_with("node ")) return status.error();
      return Error{status.error().kind, describe(message) + ": " + status.error().message};
    }
  }
  graph_.blocks[std::size_t(place.block)].nodes.push_back(std::move(node));
  return ok();
}

}  // namespace forerun::onnx
