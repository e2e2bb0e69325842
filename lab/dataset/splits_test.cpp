#include "dataset/splits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace forerun {
namespace {

std::vector<SplitKey> some_keys() {
  std::vector<SplitKey> keys;
  for (int n = 0; n < 40; ++n) {
    for (int row = 0; row < 3; ++row) {
      keys.push_back({"row" + std::to_string(n * 3 + row), "net" + std::to_string(n), "family" + std::to_string(n % 4),
                      n % 2 == 0 ? "a" : "b"});
    }
  }
  return keys;
}

std::set<std::string> networks_of(const std::vector<SplitKey>& keys, const std::vector<std::size_t>& rows) {
  std::set<std::string> names;
  for (const std::size_t i : rows) names.insert(keys[i].network);
  return names;
}

TEST(Split, EveryRowIsTestedExactlyOnce) {
  const auto keys = some_keys();
  for (std::size_t k = 0; k < std::size_t(SplitKind::Count); ++k) {
    const auto kind = SplitKind(k);
    std::multiset<std::size_t> tested;
    for (const Fold& fold : split(keys, kind, 3)) {
      tested.insert(fold.test.begin(), fold.test.end());
      EXPECT_EQ(fold.test.size() + fold.train.size(), keys.size());
    }
    EXPECT_EQ(tested.size(), keys.size()) << name_of(kind);
    EXPECT_EQ(std::set<std::size_t>(tested.begin(), tested.end()).size(), keys.size()) << name_of(kind);
  }
}

TEST(Split, ByArchitectureKeepsANetworkOnOneSide) {
  const auto keys = some_keys();
  for (const Fold& fold : split(keys, SplitKind::ByArchitecture, 1)) {
    const auto train = networks_of(keys, fold.train);
    for (const std::string& network : networks_of(keys, fold.test)) EXPECT_FALSE(train.contains(network));
  }
}

TEST(Split, ByArchitectureSpreadsFamilies) {
  const auto keys = some_keys();
  for (const Fold& fold : split(keys, SplitKind::ByArchitecture, 1)) {
    std::set<std::string> families;
    for (const std::size_t i : fold.test) families.insert(keys[i].family);
    EXPECT_EQ(families.size(), 4U);
  }
}

TEST(Split, SameSeedSameFoldsWhateverTheOrderOfRows) {
  auto keys = some_keys();
  const auto first = split(keys, SplitKind::AsPublished, 7);
  std::set<std::string> before;
  for (const std::size_t i : first[0].test) before.insert(keys[i].id);
  std::reverse(keys.begin(), keys.end());
  std::set<std::string> after;
  const auto again = split(keys, SplitKind::AsPublished, 7);
  for (const std::size_t i : again[0].test) after.insert(keys[i].id);
  EXPECT_EQ(before, after);
  std::set<std::string> other;
  const auto changed = split(keys, SplitKind::AsPublished, 8);
  for (const std::size_t i : changed[0].test) other.insert(keys[i].id);
  EXPECT_NE(before, other);
}

TEST(Split, LeaveOneOutNamesWhatItLeavesOut) {
  const auto keys = some_keys();
  const auto folds = split(keys, SplitKind::LeaveOneDeviceOut, 0);
  ASSERT_EQ(folds.size(), 2U);
  EXPECT_EQ(folds[1].held_out, "b");
  for (const std::size_t i : folds[1].test) EXPECT_EQ(keys[i].device, "b");
}

}  // namespace
}  // namespace forerun
