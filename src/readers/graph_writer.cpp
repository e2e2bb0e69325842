#include "readers/graph_writer.hpp"

#include <algorithm>

#include "ops/op_table.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxNameBytes = 4096;
constexpr std::size_t kMaxWarnings = 40;

std::int64_t size_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& held) -> std::int64_t {
        if constexpr (requires { held.size(); }) {
          return 64 + std::int64_t(held.size()) * 8;
        } else {
          return 64;
        }
      },
      attribute.value);
}

}  // namespace

GraphWriter::GraphWriter(GraphLimits limits) : limits_(limits) {
  graph.blocks.resize(1);
  graph.opset = 23;
}

void GraphWriter::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

void GraphWriter::charge(std::int64_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limits_.bytes)
    fail(Error{ErrorKind::TooLarge, "the graph without its weights takes more than " +
                                        std::to_string(limits_.bytes >> 20) + " MiB of memory"});
}

ValueId GraphWriter::new_value(std::string_view value_name, DType dtype) {
  if (value_name.size() > kMaxNameBytes) value_name = value_name.substr(0, kMaxNameBytes);
  if (std::int64_t(graph.values.size()) >= limits_.values)
    fail(Error{ErrorKind::TooLarge, "the graph has more than " + std::to_string(limits_.values) + " values"});
  charge(std::int64_t(sizeof(Value) + value_name.size()) + 16);
  if (failure_ && !graph.values.empty()) return 0;
  Value& made = graph.values.emplace_back();
  made.name = printable(value_name);
  made.dtype = dtype;
  producers_.emplace_back(-1, -1);
  read_.push_back(false);
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId GraphWriter::shaped(std::string_view value_name, DType dtype, Dims dims, ValueRole role) {
  const ValueId id = new_value(value_name, dtype);
  charge(std::int64_t(dims.size()) * 8);
  Value& made = value(id);
  made.has_shape = true;
  made.dims = std::move(dims);
  made.role = role;
  return id;
}

ValueId GraphWriter::constant(const std::vector<std::int64_t>& contents) {
  if (const auto known = constants_.find(contents); known != constants_.end()) return known->second;
  charge(std::int64_t(contents.size()) * 16);
  const ValueId id = shaped("", DType::Int64, {std::int64_t(contents.size())}, ValueRole::Constant);
  if (std::int64_t(contents.size()) <= kMaxLiteralElements) value(id).literal = Literal{contents, {}};
  constants_.emplace(contents, id);
  return id;
}

ValueId GraphWriter::scalar(std::int64_t content) {
  if (const auto known = scalars_.find(content); known != scalars_.end()) return known->second;
  const ValueId id = shaped("", DType::Int64, {}, ValueRole::Constant);
  value(id).literal = Literal{{content}, {}};
  scalars_.emplace(content, id);
  return id;
}

ValueId GraphWriter::reals(const std::vector<double>& contents, DType dtype) {
  charge(std::int64_t(contents.size()) * 8);
  const ValueId id = shaped("", dtype, {std::int64_t(contents.size())}, ValueRole::Constant);
  value(id).literal = Literal{{}, contents};
  return id;
}

ValueId GraphWriter::real(double content, DType dtype) {
  const ValueId id = shaped("", dtype, {}, ValueRole::Constant);
  if (is_integer(dtype) || dtype == DType::Bool) {
    value(id).literal = Literal{{content > -9e18 && content < 9e18 ? std::int64_t(content) : 0}, {}};
  } else {
    value(id).literal = Literal{{}, {content}};
  }
  return id;
}

Node& GraphWriter::add(OpKind kind, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                       std::vector<Attribute> attributes) {
  std::vector<Node>& nodes = graph.blocks[std::size_t(block)].nodes;
  if (++nodes_ > limits_.nodes)
    fail(Error{ErrorKind::TooLarge, "the graph has more than " + std::to_string(limits_.nodes) + " nodes"});
  std::int64_t size =
      std::int64_t(sizeof(Node) + 4 * (inputs.size() + outputs.size()) + op_type.size() + name.size() + module.size());
  for (const Attribute& attribute : attributes) size += size_of(attribute);
  charge(size);
  if (failure_ && !nodes.empty()) {
    nodes.back() = Node{};
    return nodes.back();
  }
  for (const ValueId id : inputs) {
    if (id != kNoValue) read_[std::size_t(id)] = true;
  }
  Node& node = nodes.emplace_back();
  node.kind = kind;
  node.op_type = op_type.empty() ? std::string(spec_of(kind).name) : op_type;
  node.domain = kind == OpKind::Unknown ? "" : std::string(spec_of(kind).domain);
  if (node.domain == "*") node.domain.clear();
  node.name = name;
  set_module(graph, node, module);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  for (const ValueId id : node.outputs) {
    if (id != kNoValue) producers_[std::size_t(id)] = {block, std::int32_t(nodes.size() - 1)};
  }
  return node;
}

ValueId GraphWriter::op(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes, DType dtype) {
  if (dtype == DType::Undefined && !inputs.empty() && inputs[0] != kNoValue) dtype = value(inputs[0]).dtype;
  const ValueId id = new_value("", dtype);
  if (failure_) return id;
  add(kind, std::move(inputs), {id}, std::move(attributes));
  return id;
}

void GraphWriter::unknown(std::string_view domain, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node& node = add(OpKind::Unknown, std::move(inputs), std::move(outputs));
  node.domain = domain;
}

Node* GraphWriter::producer(ValueId id) {
  if (id == kNoValue || failure_) return nullptr;
  const auto [in_block, index] = producers_[std::size_t(id)];
  if (in_block != block || index < 0) return nullptr;
  return &graph.blocks[std::size_t(in_block)].nodes[std::size_t(index)];
}

bool GraphWriter::redirect(ValueId from, ValueId to) {
  Node* node = producer(from);
  if (node == nullptr || to == kNoValue) return false;
  std::replace(node->outputs.begin(), node->outputs.end(), from, to);
  std::swap(producers_[std::size_t(from)], producers_[std::size_t(to)]);
  return true;
}

void GraphWriter::settle_names(std::size_t first) {
  std::vector<Node>& nodes = graph.blocks[std::size_t(block)].nodes;
  std::vector<Node*> own;
  std::vector<Node*> working;
  for (std::size_t i = first; i < nodes.size(); ++i) {
    if (nodes[i].op_type != op_type || nodes[i].kind == OpKind::Unknown) continue;
    own.push_back(&nodes[i]);
    const OpClass op_class = spec_of(nodes[i].kind).op_class;
    if (op_class != OpClass::Free && op_class != OpClass::Copy && op_class != OpClass::Elementwise)
      working.push_back(&nodes[i]);
  }
  if (own.size() < 2) return;
  for (Node* node : own) {
    if (working.size() != 1 || node != working[0]) node->op_type = spec_of(node->kind).name;
  }
}

std::int32_t GraphWriter::new_block(std::string_view block_name) {
  charge(std::int64_t(sizeof(Block)) + 64);
  graph.blocks.emplace_back().name = printable(block_name.substr(0, kMaxNameBytes));
  return static_cast<std::int32_t>(graph.blocks.size() - 1);
}

void GraphWriter::remove_unused_views() {
  std::vector<std::int32_t> uses(graph.values.size(), 0);
  const auto count = [&](const std::vector<ValueId>& ids, std::int32_t by) {
    for (const ValueId id : ids) {
      if (id != kNoValue) uses[std::size_t(id)] += by;
    }
  };
  for (const Block& one : graph.blocks) {
    count(one.outputs, 1);
    for (const Node& node : one.nodes) count(node.inputs, 1);
  }
  for (Block& one : graph.blocks) {
    for (std::size_t i = one.nodes.size(); i-- > 0;) {
      Node& node = one.nodes[i];
      const bool view = node.kind == OpKind::Reshape || node.kind == OpKind::Squeeze ||
                        node.kind == OpKind::Unsqueeze || node.kind == OpKind::Identity;
      if (!view || node.outputs.size() != 1 || node.outputs[0] == kNoValue || uses[std::size_t(node.outputs[0])] > 0)
        continue;
      count(node.inputs, -1);
      node.outputs.clear();
    }
    std::erase_if(one.nodes, [](const Node& node) {
      return node.outputs.empty() && (node.kind == OpKind::Reshape || node.kind == OpKind::Squeeze ||
                                      node.kind == OpKind::Unsqueeze || node.kind == OpKind::Identity);
    });
  }
}

void GraphWriter::warn(std::string text) {
  if (warned_.size() >= kMaxWarnings || !warned_.insert(text).second) return;
  graph.warnings.push_back(std::move(text));
}

Result<Graph> GraphWriter::finish() {
  if (failure_) return *failure_;
  remove_unused_views();
  FORERUN_CHECK(verify(graph));
  return std::move(graph);
}

}  // namespace forerun
