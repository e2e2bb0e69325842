#include "graph/graph.hpp"

#include "base/checked.hpp"

namespace forerun {

void set_module(Graph& graph, Node& node, std::string_view path) {
  if (path.empty()) {
    node.module = kNoModule;
    return;
  }
  if (graph.modules.empty() || graph.modules.back() != path) graph.modules.emplace_back(path);
  node.module = std::int32_t(graph.modules.size()) - 1;
}

std::string_view module_of(const Graph& graph, const Node& node) {
  return node.module == kNoModule ? std::string_view{} : graph.modules[std::size_t(node.module)];
}

const Attribute* find_attribute(const Node& node, std::string_view name) {
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t fallback) {
  const Attribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return fallback;
  const auto* value = std::get_if<std::int64_t>(&attribute->value);
  return value != nullptr ? *value : fallback;
}

double real_attribute(const Node& node, std::string_view name, double fallback) {
  const Attribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return fallback;
  const auto* value = std::get_if<double>(&attribute->value);
  return value != nullptr ? *value : fallback;
}

std::string_view text_attribute(const Node& node, std::string_view name, std::string_view fallback) {
  const Attribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return fallback;
  const auto* value = std::get_if<std::string>(&attribute->value);
  return value != nullptr ? std::string_view(*value) : fallback;
}

std::span<const std::int64_t> ints_attribute(const Node& node, std::string_view name) {
  const Attribute* attribute = find_attribute(node, name);
  if (attribute == nullptr) return {};
  const auto* value = std::get_if<std::vector<std::int64_t>>(&attribute->value);
  return value != nullptr ? std::span<const std::int64_t>(*value) : std::span<const std::int64_t>{};
}

std::int64_t elements_of(const Value& value) {
  if (!value.has_shape) return 0;
  // checked_product() in one pass and without divisions: every pass over a graph asks for this.
  std::int64_t product = 1;
  for (const std::int64_t dim : value.dims) {
    if (dim < 0) return 0;
    if (__builtin_mul_overflow(product, dim, &product) || product > kSizeLimit) product = kSizeLimit;
  }
  return product;
}

std::int64_t bytes_of(const Value& value) {
  return value.stored_bytes >= 0 ? value.stored_bytes : bytes_of(value.dtype, elements_of(value));
}

}  // namespace forerun
