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

TEST(Report, LongTablesBecomeCsvFiles) {
  ReportPage page = small_page();
  ReportTable longer{.caption = "By device, class", .columns = {"device", "MAPE"}};
  for (int i = 0; i < int(kShortTable) + 1; ++i) longer.rows.push_back({"a|b, \"c\"", std::to_string(i)});
  page.sections[0].tables.push_back(longer);
  const SplitPage split = move_tables(to_markdown(page), "tables/");
  EXPECT_NE(split.markdown.find("| x\\|y | 1.0 |"), std::string::npos) << "a short table stays";
  EXPECT_NE(split.markdown.find("- [By device, class](tables/first-by-device-class.csv): 9 rows\n"), std::string::npos)
      << split.markdown;
  ASSERT_TRUE(split.files.contains("first-by-device-class.csv"));
  const std::string& csv = split.files.at("first-by-device-class.csv");
  EXPECT_TRUE(csv.starts_with("device,MAPE\n\"a|b, \"\"c\"\"\",0\n")) << csv;
}

TEST(Report, TablesWithTheSameCaptionHaveFilesOfTheirOwn) {
  ReportTable table{.caption = "", .columns = {"x"}, .rows = std::vector<std::vector<std::string>>(9, {"1"})};
  ReportPage page{
      .title = "T", .introduction = "", .sections = {{.id = "a", .heading = "First", .tables = {table, table}}}};
  const SplitPage split = move_tables(to_markdown(page), "");
  EXPECT_TRUE(split.files.contains("first.csv"));
  EXPECT_TRUE(split.files.contains("first-2.csv"));
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
