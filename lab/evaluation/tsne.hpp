// t-SNE: rows of many numbers as points in a plane, near ones near. Exact, for a few thousand rows.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace forerun {

struct TsneOptions {
  double perplexity = 30;  // about how many neighbours a row has
  int iterations = 500;
  std::uint64_t seed = 1337;
};
// `values`: row after row of `width` numbers. REQUIRES: values.size() a multiple of width
[[nodiscard]] std::vector<std::pair<double, double>> tsne(std::span<const float> values, std::size_t width,
                                                          const TsneOptions& options = {});

}  // namespace forerun
