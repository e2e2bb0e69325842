// The check every graph passes after reading: valid indices, single producers, execution order, roles and attributes.
#include <algorithm>
#include <cstddef>
#include <queue>

#include "graph/graph.hpp"
#include "graph/verify_meaning.hpp"

namespace forerun {
namespace {

std::string describe(const Node& node) { return node.op_type + (node.name.empty() ? "" : " '" + node.name + "'"); }

// Values a node needs: its inputs and, for control flow, whatever its bodies capture.
void collect_uses(const Graph& graph, const Node& node, std::vector<ValueId>& uses) {
  uses.insert(uses.end(), node.inputs.begin(), node.inputs.end());
  for (const auto& [attribute, block] : node.blocks) {
    for (const Node& inner : graph.blocks[std::size_t(block)].nodes) collect_uses(graph, inner, uses);
    const auto& outputs = graph.blocks[std::size_t(block)].outputs;
    uses.insert(uses.end(), outputs.begin(), outputs.end());
  }
}

Status check_indices(const Graph& graph) {
  const auto values = static_cast<ValueId>(graph.values.size());
  const auto valid = [values](const std::vector<ValueId>& ids, bool optional) {
    return std::all_of(ids.begin(), ids.end(),
                       [&](ValueId id) { return id < values && id >= (optional ? kNoValue : 0); });
  };
  std::vector<bool> owned(graph.blocks.size(), false);
  for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
    const Block& block = graph.blocks[b];
    if (!valid(block.inputs, false) || !valid(block.outputs, true)) {
      return internal_error("graph '" + block.name + "': an input or output refers to no value");
    }
    for (const Node& node : block.nodes) {
      if (!valid(node.inputs, true) || !valid(node.outputs, true)) {
        return internal_error("node " + describe(node) + " refers to no value");
      }
      for (const auto& [attribute, body] : node.blocks) {
        // A body is stored after the block that owns it, so ownership is a tree and recursion ends.
        if (body <= static_cast<std::int32_t>(b) || std::size_t(body) >= graph.blocks.size() ||
            owned[std::size_t(body)]) {
          return internal_error("node " + describe(node) + " refers to an invalid body");
        }
        owned[std::size_t(body)] = true;
      }
    }
  }
  return ok();
}

}  // namespace

Status verify(Graph& graph) {
  if (graph.blocks.empty()) return internal_error("graph has no blocks");
  FORERUN_CHECK(check_indices(graph));

  constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> producer(graph.values.size(), kNone);
  std::vector<bool> taken(graph.values.size(), false);
  std::vector<ValueId> uses;
  for (Block& block : graph.blocks) {
    const std::size_t count = block.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (const ValueId output : block.nodes[i].outputs) {
        if (output == kNoValue) continue;
        if (taken[std::size_t(output)]) {
          return bad_input("node " + describe(block.nodes[i]) + ": value '" + graph.values[std::size_t(output)].name +
                           "' has two producers");
        }
        taken[std::size_t(output)] = true;
        producer[std::size_t(output)] = static_cast<std::int32_t>(i);
      }
    }
    // Kahn's algorithm; the smallest ready index first keeps an already sorted file as it is.
    std::vector<std::vector<std::int32_t>> consumers(count);
    std::vector<std::int32_t> pending(count, 0);
    bool sorted = true;
    for (std::size_t i = 0; i < count; ++i) {
      uses.clear();
      collect_uses(graph, block.nodes[i], uses);
      std::sort(uses.begin(), uses.end());
      uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
      for (const ValueId use : uses) {
        if (use == kNoValue || producer[std::size_t(use)] == kNone) continue;
        const std::int32_t from = producer[std::size_t(use)];
        if (std::size_t(from) >= i) sorted = false;
        consumers[std::size_t(from)].push_back(static_cast<std::int32_t>(i));
        ++pending[i];
      }
    }
    if (!sorted) {
      std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
      for (std::size_t i = 0; i < count; ++i) {
        if (pending[i] == 0) ready.push(static_cast<std::int32_t>(i));
      }
      std::vector<Node> ordered;
      ordered.reserve(count);
      while (!ready.empty()) {
        const auto i = std::size_t(ready.top());
        ready.pop();
        ordered.push_back(std::move(block.nodes[i]));
        for (const std::int32_t next : consumers[i]) {
          if (--pending[std::size_t(next)] == 0) ready.push(next);
        }
      }
      if (ordered.size() != count) {
        const auto stuck = std::find_if(pending.begin(), pending.end(), [](std::int32_t n) { return n > 0; });
        const auto& node = block.nodes[std::size_t(stuck - pending.begin())];
        return bad_input("the graph has a cycle through node " + describe(node));
      }
      block.nodes = std::move(ordered);
    }
    for (const Node& node : block.nodes) {
      for (const ValueId output : node.outputs) {
        if (output != kNoValue) producer[std::size_t(output)] = kNone;  // the next block has its own order
      }
    }
  }
  FORERUN_CHECK(check_values(graph));
  FORERUN_CHECK(check_configuration(graph));
  warn_of_attributes(graph);
  return ok();
}

}  // namespace forerun
