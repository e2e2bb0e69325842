#include "base/json_keys.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(JsonKeys, FindsAKeyThatStandsTwice) {
  EXPECT_EQ(find_duplicate_key(R"({"a": 1, "b": [{"a": 2}], "a": 3})", 8), "a");
  EXPECT_EQ(find_duplicate_key(R"({"a": {"b": 1, "c": {"d": 1, "d": 2}}})", 8), "d");
  EXPECT_EQ(find_duplicate_key(R"([{"a": 1}, {"x": "a", "y": 2, "x": 1}])", 8), "x");
}

TEST(JsonKeys, TakesTextsAndEqualKeysOfOtherObjectsForWhatTheyAre) {
  EXPECT_EQ(find_duplicate_key(R"({"a": "a", "b": "a", "c": ["a", "a"], "d": {"a": 1}})", 8), std::nullopt);
  EXPECT_EQ(find_duplicate_key(R"({"a\"": 1, "a": "{\"b\":1,\"b\":2}"})", 8), std::nullopt);
  EXPECT_EQ(find_duplicate_key("[]", 8), std::nullopt);
  EXPECT_EQ(find_duplicate_key("", 8), std::nullopt);
}

TEST(JsonKeys, LooksNoDeeperThanAsked) {
  const char* text = R"({"config": {"a": 1, "a": 2}, "b": 1})";
  EXPECT_EQ(find_duplicate_key(text, 1), std::nullopt);
  EXPECT_EQ(find_duplicate_key(text, 2), "a");
}

}  // namespace
}  // namespace forerun
