// A page of results: sections with text, tables and pictures, written as Markdown and as JSON from the same content.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "evaluation/accuracy.hpp"

namespace forerun {

struct ReportTable {
  std::string caption = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // as many cells as columns
};

struct ReportSection {
  std::string id = {};  // stable: a section is replaced by one with the same id
  std::string heading = {};
  std::string text = {};  // Markdown, before the tables
  std::vector<ReportTable> tables = {};
  std::vector<std::string> images = {};  // paths relative to the page
};

struct ReportPage {
  std::string title = {};
  std::string introduction = {};
  std::vector<ReportSection> sections = {};
};

[[nodiscard]] std::string to_markdown(const ReportPage& page);
// Markdown whose long tables have become links to CSV files.
struct SplitPage {
  std::string markdown = {};
  std::map<std::string, std::string> files = {};  // name -> CSV text
};
// Tables of at most `kShortTable` rows stay in the page. A file is named after its heading and caption; `folder` ("" or
// ending in '/') goes before the name in links.
constexpr std::size_t kShortTable = 8;
[[nodiscard]] SplitPage move_tables(const std::string& markdown, const std::string& folder);
// Writes the page and its CSV files, which lie in `folder` beside it.
Status write_page(const std::filesystem::path& path, const std::string& folder, const std::string& markdown);
[[nodiscard]] std::string to_json(const ReportPage& page);
// Reads a page that to_json() wrote, so that one command replaces its own sections and keeps the others.
Result<ReportPage> parse_page(const std::string& json);
// Replaces the section with the same id, or adds it at the end.
void put_section(ReportPage& page, ReportSection section);

// "6.1 ± 0.3"
[[nodiscard]] std::string percent_cell(const Repeated& value);
// The usual columns of an accuracy table, one row of cells for it.
[[nodiscard]] std::vector<std::string> accuracy_columns();
[[nodiscard]] std::vector<std::string> accuracy_cells(std::span<const Accuracy> repeats);

}  // namespace forerun
