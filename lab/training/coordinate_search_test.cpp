#include "training/coordinate_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace forerun {
namespace {

// Lowest at (3, -1).
struct Bowl {
  struct Trial {
    double gain, value;
  };
  std::vector<double> at = {0, 0};
  [[nodiscard]] static double cost(const std::vector<double>& x) {
    return (x[0] - 3) * (x[0] - 3) + std::abs(x[1] + 1);
  }
  [[nodiscard]] std::size_t count() const { return at.size(); }
  [[nodiscard]] Trial try_step(std::size_t c, double size, bool is_up, int /*round*/) const {
    std::vector<double> moved = at;
    moved[c] += is_up ? size : -size;
    return {cost(at) - cost(moved), moved[c]};
  }
  void apply(std::size_t c, const Trial& trial) { at[c] = trial.value; }
};

TEST(CoordinateSearch, FindsTheLowestPoint) {
  const std::vector<double> sizes = {1, 0.25};
  for (const bool takes_first : {true, false}) {
    Bowl bowl;
    double gained = 0;
    descend(bowl, {.sizes = sizes, .rounds = 10, .takes_first = takes_first},
            [&](double, int, double gain) { gained += gain; });
    EXPECT_DOUBLE_EQ(bowl.at[0], 3);
    EXPECT_DOUBLE_EQ(bowl.at[1], -1);
    EXPECT_DOUBLE_EQ(gained, 10) << "what the cost has fallen by";
  }
}

TEST(CoordinateSearch, StopsWhereARoundGainsTooLittle) {
  const std::vector<double> sizes = {1};
  Bowl bowl;
  int rounds = 0;
  descend(bowl, {.sizes = sizes, .rounds = 10, .worth_a_round = 4}, [&](double, int, double) { ++rounds; });
  EXPECT_EQ(rounds, 2) << "6, then 3";
  bowl = {};
  descend(bowl, {.sizes = sizes, .rounds = 10, .worth_a_step = 2}, [](double, int, double) {});
  EXPECT_DOUBLE_EQ(bowl.at[0], 2) << "the last step would gain 1";
  EXPECT_DOUBLE_EQ(bowl.at[1], 0);
}

}  // namespace
}  // namespace forerun
