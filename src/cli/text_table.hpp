// A table that fits a terminal: columns that do not are left out, the least important first.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/view.hpp"

namespace forerun {

struct TextColumn {
  std::string key;  // of --columns
  std::string heading;
  int order = 0;  // of leaving out: the highest goes first; 0 stays
  bool is_left = false;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}
  // One cell for each column; a last cell that is missing is empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Columns in which every cell is empty are left out. Ends with a line that names the columns without room.
  [[nodiscard]] std::string render(const View& view) const;
  // An error names the columns there are.
  [[nodiscard]] Status check(const std::vector<std::string>& keys) const;

 private:
  [[nodiscard]] std::vector<std::size_t> shown(const View& view, std::vector<std::size_t>& left_out) const;
  [[nodiscard]] std::size_t width(std::size_t column) const;
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace forerun
