#include "cli/text_table.hpp"

#include <algorithm>

namespace forerun {
namespace {

constexpr std::size_t kGap = 2;

std::string padded(const std::string& text, std::size_t width, bool is_left) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return is_left ? text + space : space + text;
}

}  // namespace

std::size_t TextTable::width(std::size_t column) const {
  std::size_t most = 0;
  for (const auto& row : rows_) most = std::max(most, column < row.size() ? width_of(row[column]) : 0);
  return std::max(most, width_of(columns_[column].heading));
}

std::vector<std::size_t> TextTable::shown(const View& view, std::vector<std::size_t>& left_out) const {
  std::vector<std::size_t> places;
  if (!view.columns.empty()) {
    for (const std::string& key : view.columns) {
      const auto found =
          std::find_if(columns_.begin(), columns_.end(), [&](const TextColumn& c) { return c.key == key; });
      if (found != columns_.end()) places.push_back(std::size_t(found - columns_.begin()));
    }
    return places;
  }
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool is_empty =
        std::all_of(rows_.begin(), rows_.end(), [&](const auto& row) { return c >= row.size() || row[c].empty(); });
    if (is_empty) continue;
    places.push_back(c);
    total += width(c) + kGap;
  }
  while (view.width > 0 && total > std::size_t(view.width) + kGap && !places.empty()) {
    const auto last = std::max_element(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return columns_[a].order < columns_[b].order;
    });
    if (columns_[*last].order == 0) break;
    total -= width(*last) + kGap;
    left_out.push_back(*last);
    places.erase(last);
  }
  return places;
}

std::string TextTable::render(const View& view) const {
  std::vector<std::size_t> left_out;
  const std::vector<std::size_t> places = shown(view, left_out);
  std::string text;
  const auto line = [&](const auto& cell) {
    std::string one;
    for (const std::size_t c : places) {
      const bool is_last = c == places.back();
      std::string content = cell(c);
      one += is_last && columns_[c].is_left ? content : padded(content, width(c), columns_[c].is_left);
      if (!is_last) one += std::string(kGap, ' ');
    }
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  };
  line([&](std::size_t c) { return columns_[c].heading; });
  for (const auto& row : rows_) line([&](std::size_t c) { return c < row.size() ? row[c] : std::string(); });
  if (!left_out.empty()) {
    std::sort(left_out.begin(), left_out.end());
    std::string names;
    for (const std::size_t c : left_out) names += (names.empty() ? "" : ", ") + columns_[c].key;
    text += wrapped(view, coloured(view, Colour::Dim, "no room for " + names + " (--columns shows them)")) + "\n";
  }
  return text;
}

Status TextTable::check(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (std::any_of(columns_.begin(), columns_.end(), [&](const TextColumn& c) { return c.key == key; })) continue;
    std::string names;
    for (const TextColumn& column : columns_) names += (names.empty() ? "" : ", ") + column.key;
    return bad_input("--columns: there is no column '" + key + "' in this table; there are " + names);
  }
  return ok();
}

}  // namespace forerun
