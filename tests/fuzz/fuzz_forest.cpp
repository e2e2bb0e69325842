// Any bytes as the sections of a forest in a bundle: nodes, means and roots. A forest that is taken must answer one
// row, many rows and an explanation alike. The input: two bytes with the number of trees and features, then nodes.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "predictors/trees/forest.hpp"

namespace {

// Nodes with small fields in any bytes: most inputs would otherwise be refused at the first child.
forerun::TreeNodes nodes_of(const std::uint8_t* data, std::size_t size, std::size_t features) {
  forerun::TreeNodes trees;
  const std::size_t count = std::min<std::size_t>(data[0] % 16 + 1, size / 4);
  for (std::size_t at = 2; at + 4 <= size; at += 4) {
    forerun::TreeNode node;
    node.value = data[at] == 255 ? std::nanf("") : float(std::int8_t(data[at]));
    node.children = data[at + 1] == 0 ? 0 : std::uint32_t((at - 2) / 4 + data[at + 1]);
    if (data[at + 1] == 255) node.children = ~0U - data[at];
    node.feature = std::uint16_t(data[at + 2] % (features + 1));
    node.missing_left = data[at + 3] % 3;
    trees.nodes.push_back(node);
    trees.means.push_back(float(data[at + 3]));
    if (trees.roots.size() < count && data[at + 3] > 200) trees.roots.push_back(std::uint32_t((at - 2) / 4));
  }
  if (trees.roots.empty()) trees.roots.push_back(0);
  return trees;
}

void use(const forerun::Forest& forest, std::size_t features) {
  constexpr std::size_t kRows = 67;
  std::vector<float> rows(kRows * features), sums(kRows, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = float(int(i * 37 % 255) - 127);
  forest.predict(rows, features, sums);
  const float one = forest.predict(std::span(rows).first(features));
  if (std::memcmp(&one, sums.data(), sizeof one) != 0 && !std::isnan(one)) std::abort();
  std::vector<double> by_feature(features, 0);
  double base = 0;
  forest.add_contributions(std::span(rows).first(features), by_feature, base);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 6) return 0;
  const std::size_t features = data[1] % 8 + 1;
  const forerun::TreeNodes trees = nodes_of(data, size, features);
  forerun::BundleManifest manifest;
  manifest.name = manifest.kind = "fuzz";
  forerun::BundleWriter writer(std::move(manifest));
  if (!forerun::add_forest(writer, "f", trees)) return 0;
  const auto bytes = writer.bytes();
  if (!bytes) return 0;
  const auto bundle = forerun::Bundle::from_bytes(*bytes, "fuzz");
  if (!bundle) return 0;
  const auto forest = forerun::Forest::from_bundle(*bundle, "f", features);
  if (forest) use(*forest, features);
  return 0;
}
