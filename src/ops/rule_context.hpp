// A node as shape, cost and fold rules see it. Shapes are complete: every dimension is known and >= 0.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.hpp"

namespace forerun {

class RuleContext {
 public:
  RuleContext(Graph& graph, Node& node) : graph_(graph), node_(node) {}

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] Graph& graph() const { return graph_; }
  [[nodiscard]] std::size_t input_count() const { return node_.inputs.size(); }
  [[nodiscard]] std::size_t output_count() const { return node_.outputs.size(); }

  // nullptr when the input is left out.
  [[nodiscard]] const Value* input(std::size_t i) const;
  // nullptr when the input is left out or its shape is unknown.
  [[nodiscard]] const Dims* shape(std::size_t i) const;
  [[nodiscard]] DType dtype(std::size_t i) const;
  // Contents of a constant input; nullptr when they are not known.
  [[nodiscard]] const Literal* literal(std::size_t i) const;
  [[nodiscard]] const std::vector<std::int64_t>* ints(std::size_t i) const;
  [[nodiscard]] const Value* output(std::size_t i) const;

  // Integers given by attribute (older opsets) or by a constant input (newer ones); nullopt when neither is known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_of(std::string_view attribute, std::size_t input) const;

  [[nodiscard]] std::int64_t int_of(std::string_view name, std::int64_t fallback) const {
    return int_attribute(node_, name, fallback);
  }
  [[nodiscard]] std::span<const std::int64_t> ints_of(std::string_view name) const {
    return ints_attribute(node_, name);
  }

  // No effect when the output is left out.
  void set(std::size_t i, DType type, Dims dims);
  void set_form(std::size_t i, ValueForm form, DType type);
  void set_literal(std::size_t i, Literal literal);
  void set_elements(std::size_t i, std::optional<std::vector<Dims>> elements);  // of a sequence; nullopt: not known

  [[nodiscard]] Error fail(const std::string& what) const;  // an error naming the node

 private:
  Graph& graph_;
  Node& node_;
};

// "1 x 3 x 224 x 224"; "scalar" of no dimensions. For messages: long ones are cut.
[[nodiscard]] std::string text_of(const Dims& dims);
// axis in [-rank, rank) -> [0, rank); nullopt outside.
[[nodiscard]] std::optional<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank);
// Numpy broadcasting; nullopt when the shapes do not fit.
[[nodiscard]] std::optional<Dims> broadcast(const Dims& a, const Dims& b);

}  // namespace forerun
