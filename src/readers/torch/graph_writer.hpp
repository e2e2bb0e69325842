// Appends values and nodes to a Graph. Shapes and contents of small constants follow at once from the operators' rules,
// because what PyTorch writes next may depend on them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/cancel_token.hpp"
#include "graph/graph.hpp"

namespace forerun::pytorch {

inline constexpr std::size_t kMaxNodes = 400'000;
inline constexpr std::size_t kMaxValues = 2'000'000;

class GraphWriter {
 public:
  explicit GraphWriter(Graph& graph, const CancelToken& cancel = {}) : cancel_(cancel), stop_(cancel_), graph_(graph) {}
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;

  ValueId add_value(std::string name, DType type, std::optional<Dims> dims, ValueRole role);
  ValueId add_constant(Literal contents, DType type, Dims dims);
  // A node in the current block with `results` outputs, named after it.
  std::vector<ValueId> add_node(OpKind kind, std::string_view op_type, std::vector<ValueId> inputs,
                                std::vector<Attribute> attributes, std::size_t results);
  // An operator that Forerun does not know, under PyTorch's name.
  std::vector<ValueId> add_unknown(std::string_view space, std::string_view op_type, std::vector<ValueId> inputs,
                                   std::size_t results);
  // A matrix as [columns, rows]. A stored one that nothing has used yet is kept that way, as exporters store the
  // weights of products; others get a Transpose.
  ValueId transposed(ValueId weight);
  // Several stored tensors as one of the given shape: the packed weights of a recurrent layer.
  ValueId packed(const std::vector<ValueId>& parts, Dims dims);

  [[nodiscard]] Value& value(ValueId id) { return graph_.values[std::size_t(id)]; }
  [[nodiscard]] const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }
  // nullptr when a dimension is not known.
  [[nodiscard]] const Dims* shape(ValueId id) const;
  [[nodiscard]] Graph& graph() { return graph_; }

  void set_place(std::string name, std::string module) {
    name_ = std::move(name);
    module_ = std::move(module);
  }
  void set_block(std::int32_t block) { block_ = block; }
  [[nodiscard]] std::int32_t block() const { return block_; }
  [[nodiscard]] std::size_t node_count() const { return graph_.blocks[std::size_t(block_)].nodes.size(); }
  void drop_nodes_after(std::size_t count);
  // Ask before each native operator: has the reader been cancelled?
  [[nodiscard]] Status check() { return stop_() ? cancel_.check() : ok(); }
  [[nodiscard]] bool is_full() const { return nodes_ > kMaxNodes || graph_.values.size() > kMaxValues; }

 private:
  struct Turned {
    ValueId turned = kNoValue;
    ValueId back = kNoValue;  // as it was written, made when something asks for it
  };

  void use(const std::vector<ValueId>& inputs);
  ValueId as_written(ValueId id);

  CancelToken cancel_;
  PacedStop stop_;
  Graph& graph_;
  std::string name_;    // of the native operator that is being written
  std::string module_;  // the module it runs in
  std::int32_t block_ = 0;
  std::size_t nodes_ = 0;
  std::vector<bool> used_;
  std::unordered_map<ValueId, Turned> turned_;
};

}  // namespace forerun::pytorch
