#include "base/csv.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>

namespace forerun {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Result<Rows> rows_of(std::string text) {
  FORERUN_TRY(auto reader, CsvReader::from_text(std::move(text)));
  Rows rows;
  while (true) {
    FORERUN_TRY(const bool found, reader.next());
    if (!found) return rows;
    std::vector<std::string>& row = rows.emplace_back();
    for (std::size_t i = 0; i < reader.columns().size(); ++i) row.emplace_back(reader.field(i));
  }
}

TEST(Csv, ReadsQuotesNewlinesAndEmptyFields) {
  const auto rows = rows_of(
      "\xef\xbb\xbf"
      "a,b,c\r\n1,\"x, \"\"y\"\"\",\r\n\n\"two\nlines\",,3");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, (Rows{{"1", "x, \"y\"", ""}, {"two\nlines", "", "3"}}));
}

TEST(Csv, NamesTheLineOfARaggedRow) {
  const auto rows = rows_of("a,b\n1,2\n\"x\ny\",2\n3\n");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().message, "text: line 5: 1 fields where the header has 2");
}

TEST(Csv, RefusesWhatIsNotCsv) {
  EXPECT_FALSE(rows_of(""));
  EXPECT_FALSE(rows_of("a,a\n1,2\n"));
  EXPECT_FALSE(rows_of("a,b\n\"1,2\n"));
  EXPECT_FALSE(rows_of("a,b\n\"1\"x,2\n"));
  EXPECT_FALSE(rows_of(std::string("a,b\n1,\0\n", 8)));
  EXPECT_FALSE(rows_of("a\n" + std::string(CsvReader::kMaxRowBytes + 1, 'x')));
  EXPECT_FALSE(rows_of(std::string(CsvReader::kMaxColumns + 1, ',')));
}

TEST(Csv, FindsFieldsAndNumbersByName) {
  auto reader = CsvReader::from_text("id,ms\nr1,1.5e3\nr2,nan\nr3,12x\n");
  ASSERT_TRUE(reader);
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(reader->field("id"), "r1");
  EXPECT_EQ(reader->number("ms"), 1500.0);
  EXPECT_EQ(reader->field("absent"), "");
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(reader->number("ms"), std::nullopt);
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(reader->number("ms"), std::nullopt);
  EXPECT_FALSE(*reader->next());
}

TEST(Csv, ReadsBackWhatItWrites) {
  const std::vector<std::string> fields = {"plain", "", "a,b", "say \"x\"", "two\nlines", "cr\r"};
  const auto rows = rows_of("1,2,3,4,5,6\n" + csv_line(fields));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(*rows, Rows{fields});
  EXPECT_EQ(*rows_of("one\n" + csv_line({""})), (Rows{{""}}));
}

TEST(Csv, RowsMayCrossTheBuffersEdge) {
  std::string text = "a,b\r\n";
  for (int i = 0; i < 40'000; ++i) text += std::to_string(i) + ",\"x\"\"\"\r\n";
  const auto rows = rows_of(text);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 40'000U);
  for (int i = 0; i < 40'000; ++i)
    ASSERT_EQ((*rows)[std::size_t(i)], (std::vector<std::string>{std::to_string(i), "x\""}));
}

TEST(Csv, ATruncatedGzipIsAnErrorAndNotTheEnd) {
  const std::string path = ::testing::TempDir() + "csv_test_truncated.csv.gz";
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzputs(file, "a\n");
  for (int i = 0; i < 50'000; ++i) ::gzputs(file, (std::to_string(i * 7919 % 100'003) + "\n").c_str());
  ::gzclose(file);
  auto whole = CsvReader::open(path);
  ASSERT_TRUE(whole);
  int rows = 0;
  for (auto found = whole->next(); found && *found; found = whole->next()) ++rows;
  EXPECT_EQ(rows, 50'000);

  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  auto half = CsvReader::open(path);
  ASSERT_TRUE(half);
  auto found = half->next();
  while (found && *found) found = half->next();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("truncated"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(Csv, AMissingFileIsNotFound) {
  const auto reader = CsvReader::open("/nonexistent/x.csv");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace forerun
