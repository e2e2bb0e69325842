#include "training/trees/correction_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace forerun {
namespace {

// Answers that the device's times exceed by a factor, with noise of its own for each network.
CorrectionChoice choose(std::size_t count, double factor, double noise, unsigned seed) {
  std::mt19937 draw(seed);
  std::normal_distribution<double> error(0, noise);
  std::vector<CorrectionRow> rows(count);
  std::vector<std::string> networks(count);
  for (std::size_t i = 0; i < count; ++i) {
    networks[i] = "n" + std::to_string(i / 2);
    rows[i].answered = 1 + double(i);
    rows[i].measured = rows[i].answered * factor * std::exp(error(draw));
    rows[i].point[i % 3] = 1;
  }
  return choose_correction(rows, networks);
}

TEST(CorrectionChoice, TakesACorrectionThatFoldsShowToHelp) {
  const CorrectionChoice choice = choose(12, 1.7, 0.05, 1);
  EXPECT_TRUE(choice.helps);
  EXPECT_LT(choice.corrected_error, 0.3 * choice.answered_error);
}

TEST(CorrectionChoice, LeavesAnswersAloneWhereRowsAreNoise) {
  int kept = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) kept += choose(10, 1, 0.3, seed).helps ? 1 : 0;
  EXPECT_LE(kept, 4);
}

TEST(CorrectionChoice, JudgesNothingByTwoRows) {
  const CorrectionChoice choice = choose(2, 2, 0, 1);
  EXPECT_TRUE(choice.helps);
  EXPECT_EQ(choice.answered_error, 0);
}

}  // namespace
}  // namespace forerun
