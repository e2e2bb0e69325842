#include "readers/printable.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(Printable, KeepsPlainAndUtf8Text) {
  EXPECT_EQ(printable("/layer.0/Conv"), "/layer.0/Conv");
  EXPECT_EQ(printable("größe → 網"), "größe → 網");
}

TEST(Printable, ReplacesControlCharactersAndInvalidBytes) {
  EXPECT_EQ(printable("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("cut \xe2\x86"), "cut ??");
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "overlong form";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "surrogate";
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(InQuotes, ShortensLongNames) {
  EXPECT_EQ(in_quotes("x"), "'x'");
  EXPECT_LT(in_quotes(std::string(1000, 'x')).size(), 200U);
}

}  // namespace
}  // namespace forerun
