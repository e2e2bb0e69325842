#include "base/json_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace forerun {
namespace {

std::string number(double value) { return JsonWriter().number(value).take(); }
std::string text(std::string_view value) { return JsonWriter().text(value).take(); }

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  JsonWriter json;
  json.begin_object().field("a", std::int64_t{1}).key("b").begin_array().begin_object().end_object().null().end_array();
  json.field("c", true).texts("d", std::vector<std::string>{"x", "y"}).key("e").raw("[1]").end_object();
  EXPECT_EQ(json.take(), R"({"a":1,"b":[{},null],"c":true,"d":["x","y"],"e":[1]})");
}

TEST(JsonWriter, WritesSixSignificantDigits) {
  EXPECT_EQ(number(0), "0.0");
  EXPECT_EQ(number(8), "8.0");
  EXPECT_EQ(number(-8), "-8.0");
  EXPECT_EQ(number(1234567), "1234570.0");
  EXPECT_EQ(number(999999.6), "1000000.0");
  EXPECT_EQ(number(3.14159265), "3.14159");
  EXPECT_EQ(number(100.25), "100.25");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(0.00012345678), "0.000123457");
  EXPECT_EQ(number(1.5e-9), "1.5e-09");
  EXPECT_EQ(number(2e20), "2e+20");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "0.0");
  EXPECT_EQ(number(std::nan("")), "0.0");
}

TEST(JsonWriter, NumbersReadBackWithinTheirDigits) {
  for (double value = 1.7e-12; value < 1e25; value *= 3.3) {
    EXPECT_NEAR(std::stod(number(value)), value, value * 5.1e-6) << number(value);
    EXPECT_NEAR(std::stod(number(-value)), -value, value * 5.1e-6) << number(-value);
  }
}

TEST(JsonWriter, EscapesTexts) {
  EXPECT_EQ(text("plain"), R"("plain")");
  EXPECT_EQ(text("a\"b\\c\n\r\t\x01\x1f"), R"("a\"b\\c\n\r\t\u0001\u001f")");
  EXPECT_EQ(text(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(text("64→128 × 😀"), "\"64→128 × 😀\"");
}

TEST(JsonWriter, ReplacesWhatIsNoUtf8) {
  const std::string bad = "\"\xEF\xBF\xBD\"";
  EXPECT_EQ(text("\xff"), bad);
  EXPECT_EQ(text("\xc3"), bad);
  EXPECT_EQ(text("\xc0\xaf"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");      // overlong
  EXPECT_EQ(text("\xe2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");      // cut
  EXPECT_EQ(text("\xed\xa0\x80").find('\xed'), std::string::npos);  // half a surrogate pair
  EXPECT_EQ(text("\xf5\x80\x80\x80").find('\xf5'), std::string::npos);
}

}  // namespace
}  // namespace forerun
