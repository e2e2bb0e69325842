#include "base/svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forerun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Svg, TextCannotBreakOutOfThePicture) {
  SvgPicture picture(100, 50, "<script>&\"", 10);
  picture.text(1, 2, "a<b>");
  picture.circle(1, 2, 3, "red", 1, "</title>");
  EXPECT_THAT(picture.svg(), HasSubstr("&lt;script&gt;&amp;&quot;"));
  EXPECT_THAT(picture.svg(), HasSubstr("a&lt;b&gt;"));
  EXPECT_THAT(picture.svg(), Not(HasSubstr("<title></title>")));
  EXPECT_TRUE(picture.svg().ends_with("</svg>\n"));
}

TEST(Svg, AxesPlaceValuesByTheirScale) {
  const SvgChart chart("t", {"x", 1, 100, true}, {"y", 0, 10, false},
                       {.width = 200, .height = 100, .left = 10, .right = 0, .top = 20, .bottom = 0});
  EXPECT_DOUBLE_EQ(chart.x(1), 10);
  EXPECT_DOUBLE_EQ(chart.x(10), 110);
  EXPECT_DOUBLE_EQ(chart.x(100), 210);
  EXPECT_DOUBLE_EQ(chart.y(0), 120);
  EXPECT_DOUBLE_EQ(chart.y(2.5), 95);
  EXPECT_DOUBLE_EQ((SvgAxis{"", 5, 5, false}).share(5), 0.5) << "one value lies in the middle";
}

TEST(Svg, EveryDecadeHasATick) {
  SvgChart chart("t", {"x", 0.1, 1000, true}, {"y", 1, 10, true});
  chart.x_decades();
  for (const char* label : {">0.1<", ">1<", ">10<", ">100<", ">1000<"}) EXPECT_THAT(chart.svg(), HasSubstr(label));
}

}  // namespace
}  // namespace forerun
