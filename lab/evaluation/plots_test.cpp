#include "evaluation/plots.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(Plots, OneDotARowAndOneNameAFamily) {
  const std::vector<Judged> rows = {
      {1, 1.1, 0, 0, "resnet", "", ""}, {100, 90, 0, 0, "vit", "", ""}, {10, 10, 0, 0, "vit", "", ""}};
  const std::string svg = plot_predicted(rows, "Latency <eager>", "ms");
  std::size_t dots = 0;
  for (std::size_t at = svg.find("r=\"2\""); at != std::string::npos; at = svg.find("r=\"2\"", at + 1)) ++dots;
  EXPECT_EQ(dots, 3U);
  EXPECT_NE(svg.find(">resnet<"), std::string::npos);
  EXPECT_NE(svg.find("Latency &lt;eager&gt;"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Plots, NoRowsStillMakeAPicture) { EXPECT_TRUE(plot_predicted({}, "none", "ms").ends_with("</svg>\n")); }

TEST(Plots, BarsSayTheirValue) { EXPECT_NE(plot_bars({{"vit", 12.34}}, "Error").find("12.3 %"), std::string::npos); }

TEST(Plots, CurvesAndGroupsAreNamed) {
  const std::string curves = plot_epochs("Loss", "loss", {{"mean", {1, 0.1, 0}}, {"alone", {2}}});
  EXPECT_NE(curves.find(">mean<"), std::string::npos);
  EXPECT_EQ(curves.find("nan"), std::string::npos);
  EXPECT_EQ(curves.find("inf"), std::string::npos);
  EXPECT_NE(plot_groups("Points", {{"vit", {{1, 2}}}}).find(">vit<"), std::string::npos);
  EXPECT_EQ(plot_epochs("none", "loss", {}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace forerun
