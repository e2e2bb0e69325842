// Writes a graph node by node while a reader translates native operators. Counts what it takes, so that a small file
// cannot expand without end; the first limit that is passed is remembered and returned by finish().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace forerun {

struct GraphLimits {
  std::int64_t nodes = 500'000;
  std::int64_t values = 2'000'000;
  std::int64_t bytes = std::int64_t{1} << 30;  // memory of the graph, roughly
};

class GraphWriter {
 public:
  explicit GraphWriter(GraphLimits limits = {});

  Graph graph;
  // Of the native operator that is being translated: new nodes take them.
  std::string op_type, name, module;
  std::int32_t block = 0;  // where nodes go

  [[nodiscard]] Value& value(ValueId id) { return graph.values[std::size_t(id)]; }
  [[nodiscard]] const Value& value(ValueId id) const { return graph.values[std::size_t(id)]; }
  [[nodiscard]] bool has_room() const { return !failure_; }

  // A value without shape; dims can be set afterwards. Past the limits it is value 0 again and again.
  ValueId new_value(std::string_view name, DType dtype);
  ValueId shaped(std::string_view name, DType dtype, Dims dims, ValueRole role);
  ValueId constant(const std::vector<std::int64_t>& contents);  // one-dimensional int64, shared between uses
  ValueId scalar(std::int64_t content);
  ValueId reals(const std::vector<double>& contents, DType dtype = DType::Float32);
  ValueId real(double content, DType dtype = DType::Float32);

  // One node whose results are given.
  Node& add(OpKind kind, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
            std::vector<Attribute> attributes = {});
  // One node with one result that is made here, of the type of its first input unless `dtype` says otherwise.
  ValueId op(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {},
             DType dtype = DType::Undefined);
  // A node the IR has no operator for.
  void unknown(std::string_view domain, std::vector<ValueId> inputs, std::vector<ValueId> outputs);

  [[nodiscard]] bool is_read(ValueId id) const { return read_[std::size_t(id)]; }  // by a node written so far
  // A native operator may have become several nodes, from `first` on in this block: the one that does its work keeps
  // its name, the others take the IR's.
  void settle_names(std::size_t first);
  [[nodiscard]] std::size_t node_count() const { return graph.blocks[std::size_t(block)].nodes.size(); }
  // The last node of the block that makes `id`; nullptr when none does.
  [[nodiscard]] Node* producer(ValueId id);
  // The node that makes `from` makes `to` instead; false when none does.
  bool redirect(ValueId from, ValueId to);
  std::int32_t new_block(std::string_view block_name);
  void remove_unused_views();   // Reshape, Squeeze, Unsqueeze and Identity nodes whose results nothing uses
  void warn(std::string text);  // once

  // Charges memory for something else than nodes and values.
  void charge(std::int64_t bytes);
  void fail(Error error);
  // The graph, verified; or what went wrong.
  Result<Graph> finish();

 private:
  GraphLimits limits_;
  std::optional<Error> failure_;
  std::int64_t nodes_ = 0, bytes_ = 0;
  std::vector<std::pair<std::int32_t, std::int32_t>> producers_;  // by value: block and node; -1 for none
  std::vector<bool> read_;
  std::map<std::vector<std::int64_t>, ValueId> constants_;
  std::map<std::int64_t, ValueId> scalars_;
  std::set<std::string> warned_;
};

}  // namespace forerun
