#include <map>
#include <tuple>

#include "advice/optimise/graph_edits.hpp"
#include "advice/optimise/places.hpp"

namespace forerun {
namespace {

// A product of a computed value with a stored matrix, and the bias that is added to nothing but its result.
struct Product {
  std::size_t node = 0;
  ValueId weight = kNoValue, bias = kNoValue;
  std::ptrdiff_t adding = -1;  // the node that adds the bias; -1: the product itself, or none
  ValueId result = kNoValue;   // after the bias
  std::int64_t width = 0;
};

bool is_stored_matrix(const Graph& graph, const Places& where, ValueId id) {
  const Value& value = graph.values[std::size_t(id)];
  return is_weight(value) && value.has_shape && value.dims.size() == 2 && value.stored_bytes < 0 &&
         where.has_one_use(id);
}

bool is_stored_vector(const Graph& graph, ValueId id, std::int64_t width) {
  const Value& value = graph.values[std::size_t(id)];
  return is_weight(value) && value.has_shape && value.dims == Dims{width};
}

std::optional<Product> product_at(const Graph& graph, const Places& where, std::size_t n) {
  const Node& node = graph.main().nodes[n];
  const bool is_gemm = node.kind == OpKind::Gemm;
  if ((node.kind != OpKind::MatMul && !is_gemm) || node.inputs.size() < 2 || node.inputs[1] == kNoValue) return {};
  if (is_gemm && (int_attribute(node, "transA", 0) != 0 || real_attribute(node, "alpha", 1) != 1 ||
                  real_attribute(node, "beta", 1) != 1))
    return {};
  if (!is_stored_matrix(graph, where, node.inputs[1])) return {};
  const bool is_transposed = is_gemm && int_attribute(node, "transB", 0) != 0;
  Product product{n, node.inputs[1]};
  product.width = graph.values[std::size_t(product.weight)].dims[is_transposed ? 0 : 1];
  product.result = node.outputs[0];
  if (is_gemm && node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    if (!is_stored_vector(graph, node.inputs[2], product.width)) return {};
    product.bias = node.inputs[2];
    return product;
  }
  if (!where.has_one_use(product.result)) return product;
  const Use use = where.uses[std::size_t(product.result)].front();
  const Node& next = graph.main().nodes[use.node];
  if (next.kind != OpKind::Add || next.inputs.size() != 2) return product;
  const ValueId other = next.inputs[1 - use.input];
  if (!is_stored_vector(graph, other, product.width)) return product;
  product.bias = other;
  product.adding = std::ptrdiff_t(use.node);
  product.result = next.outputs[0];
  return product;
}

// A copy of a value that is `width` wide at `axis` (from the back: -1).
ValueId widened(Graph& graph, ValueId like, std::ptrdiff_t axis, std::int64_t width, const std::string& suffix) {
  Value value = graph.values[std::size_t(like)];
  value.name += suffix;
  if (value.has_shape && !value.dims.empty())
    value.dims[axis < 0 ? value.dims.size() - std::size_t(-axis) : std::size_t(axis)] = width;
  return add_value(graph, std::move(value));
}

void join(Graph& graph, const std::vector<Product>& parts, std::vector<bool>& replaced) {
  std::vector<std::int64_t> widths;
  std::int64_t width = 0;
  for (const Product& part : parts) {
    widths.push_back(part.width);
    width += part.width;
    replaced[part.node] = true;
    if (part.adding >= 0) replaced[std::size_t(part.adding)] = true;
  }
  const Product& first = parts.front();
  Node product = graph.main().nodes[first.node];
  const bool is_transposed = product.kind == OpKind::Gemm && int_attribute(product, "transB", 0) != 0;
  product.inputs[1] = widened(graph, first.weight, is_transposed ? 0 : 1, width, ".joined");
  ValueId result = widened(graph, product.outputs[0], -1, width, ".joined");
  product.outputs = {result};
  const bool has_bias = first.bias != kNoValue;
  const ValueId bias = has_bias ? widened(graph, first.bias, 0, width, ".joined") : kNoValue;
  if (has_bias && first.adding < 0) product.inputs[2] = bias;
  graph.main().nodes.push_back(product);
  if (has_bias && first.adding >= 0) {
    Node adding = graph.main().nodes[std::size_t(first.adding)];
    const ValueId sum = widened(graph, adding.outputs[0], -1, width, ".joined");
    adding.inputs = {result, bias};
    adding.outputs = {sum};
    result = sum;
    graph.main().nodes.push_back(std::move(adding));
  }
  Node split;
  split.kind = OpKind::Split;
  split.op_type = "Split";
  split.name = product.name;
  split.module = product.module;
  split.inputs = {result, add_integers(graph, graph.values[std::size_t(result)].name + ".widths", widths)};
  for (const Product& part : parts) split.outputs.push_back(part.result);
  set_attribute(split, "axis", std::int64_t{-1});
  graph.main().nodes.push_back(std::move(split));
}

}  // namespace

std::size_t join_products(Graph& graph) {
  const Places where(graph);
  // Products are alike where they read one value, by one operator, with a bias or all without.
  using Key = std::tuple<ValueId, OpKind, bool, bool, std::int64_t>;
  std::map<Key, std::vector<Product>> alike;
  for (std::size_t n = 0; n < graph.main().nodes.size(); ++n) {
    const auto product = product_at(graph, where, n);
    if (!product) continue;
    const Node& node = graph.main().nodes[n];
    alike[{node.inputs[0], node.kind, product->bias != kNoValue, product->adding >= 0,
           int_attribute(node, "transB", 0)}]
        .push_back(*product);
  }
  std::size_t places = 0;
  std::vector<bool> replaced(graph.main().nodes.size(), false);
  for (const auto& [key, parts] : alike) {
    if (parts.size() < 2) continue;
    join(graph, parts, replaced);
    ++places;
  }
  erase_nodes(graph, replaced);
  return places;
}

}  // namespace forerun
