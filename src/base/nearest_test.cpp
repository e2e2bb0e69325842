#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("preditc", "predict"), 2u);
}

TEST(Nearest, NamesWhatIsLikelyMeantAndNothingElse) {
  const std::vector<std::string> commands = {"inspect", "predict", "plan"};
  EXPECT_EQ(did_you_mean("preditc", commands), "; did you mean 'predict'?");
  EXPECT_EQ(did_you_mean("frobnicate", commands), "");
  EXPECT_EQ(likely_meant("plaan", {"plane", "plan"}, 1), (std::vector<std::string>{"plan"}));
}

}  // namespace
}  // namespace forerun
