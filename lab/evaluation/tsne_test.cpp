#include "evaluation/tsne.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace forerun {
namespace {

TEST(Tsne, KeepsClustersApart) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal(0, 0.3F);
  std::vector<float> values;
  constexpr std::size_t kEach = 30, kWidth = 6;
  for (std::size_t cluster = 0; cluster < 3; ++cluster) {
    for (std::size_t i = 0; i < kEach; ++i) {
      for (std::size_t k = 0; k < kWidth; ++k) values.push_back((k == cluster ? 8.0F : 0.0F) + normal(random));
    }
  }
  const auto points = tsne(values, kWidth, {.perplexity = 10, .iterations = 300});
  ASSERT_EQ(points.size(), 3 * kEach);
  std::size_t right = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::size_t nearest = i == 0 ? 1 : 0;
    const auto distance = [&](std::size_t j) {
      return std::hypot(points[i].first - points[j].first, points[i].second - points[j].second);
    };
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j != i && distance(j) < distance(nearest)) nearest = j;
    }
    ASSERT_TRUE(std::isfinite(points[i].first) && std::isfinite(points[i].second));
    right += nearest / kEach == i / kEach ? 1 : 0;
  }
  EXPECT_GE(right, 88U);
}

TEST(Tsne, TakesFewRows) {
  EXPECT_TRUE(tsne({}, 4).empty());
  const std::vector<float> two = {0, 1};
  EXPECT_EQ(tsne(two, 1).size(), 2U);
}

}  // namespace
}  // namespace forerun
