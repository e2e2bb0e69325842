#include "evaluation/report.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

ReportPage small_page() {
  ReportPage page{.title = "Accuracy", .introduction = "How far.", .sections = {}};
  put_section(page, {.id = "a",
                     .heading = "First",
                     .text = "Text.",
                     .tables = {{"Errors", {"metric", "MAPE"}, {{"x|y", "1.0"}}}},
                     .images = {"p.svg"}});
  put_section(page, {.id = "b", .heading = "Second"});
  return page;
}

TEST(Report, MarkdownHasHeadingsTablesAndPictures) {
  const std::string text = to_markdown(small_page());
  EXPECT_NE(text.find("# Accuracy"), std::string::npos);
  EXPECT_NE(text.find("| metric | MAPE |\n|---|---:|\n| x\\|y | 1.0 |"), std::string::npos) << text;
  EXPECT_NE(text.find("![First](p.svg)"), std::string::npos);
}

TEST(Report, JsonComesBackTheSame) {
  const ReportPage page = small_page();
  const auto again = parse_page(to_json(page));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(page));
  EXPECT_FALSE(parse_page("{}"));
}

TEST(Report, ASectionReplacesTheOneWithItsId) {
  ReportPage page = small_page();
  put_section(page, {.id = "a", .heading = "Other"});
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].heading, "Other");
}

}  // namespace
}  // namespace forerun
