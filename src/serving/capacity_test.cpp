#include "serving/capacity.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

std::int64_t largest(std::int64_t most, std::int64_t fitting) {
  CapacitySearch search(most);
  while (const auto asked = search.next()) search.report(*asked <= fitting);
  return search.result();
}

TEST(CapacitySearch, FindsTheLargestThatFits) {
  for (const std::int64_t fitting : {0, 1, 2, 3, 100, 255}) EXPECT_EQ(largest(1 << 16, fitting), fitting);
}
TEST(CapacitySearch, StopsAtTheMaximum) { EXPECT_EQ(largest(100, 1000), 100); }
TEST(CapacitySearch, IsWithinOne256thOfTheLargest) {
  const std::int64_t found = largest(1 << 22, 1000003);
  EXPECT_LE(found, 1000003);
  EXPECT_GE(found, 1000003 - 1000003 / 256);
}

}  // namespace
}  // namespace forerun
