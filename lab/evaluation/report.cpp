#include "evaluation/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text_file.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

void append_row(std::string& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    std::string escaped;
    for (const char c : cell) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    out += "| " + escaped + " ";
  }
  out += "|\n";
}

void append_table(std::string& out, const ReportTable& table) {
  if (!table.caption.empty()) out += "**" + table.caption + "**\n\n";
  append_row(out, table.columns);
  for (std::size_t i = 0; i < table.columns.size(); ++i) out += i == 0 ? "|---" : "|---:";
  out += "|\n";
  for (const auto& row : table.rows) append_row(out, row);
  out += "\n";
}

constexpr std::size_t kLongestName = 80;  // of a CSV file, without its ending

// "By device, class" -> "by-device-class"
std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += char(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

// "| a | b\\|c |" -> {"a", "b|c"}
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cells.back() += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  cells.pop_back();  // after the last bar
  for (std::string& cell : cells) {
    const auto first = cell.find_first_not_of(' ');
    cell = first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1);
  }
  return cells;
}

std::string csv_row(const std::string& line) {
  std::string out;
  for (const std::string& cell : cells_of(line)) {
    std::string quoted;
    for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    const bool must_quote = cell.find_first_of(",\"") != std::string::npos;
    out += (out.empty() ? "" : ",") + (must_quote ? '"' + quoted + '"' : cell);
  }
  return out + "\n";
}

}  // namespace

SplitPage move_tables(const std::string& markdown, const std::string& folder) {
  SplitPage page;
  std::string heading, caption;
  std::istringstream in(markdown);
  std::string line;
  bool more = bool(std::getline(in, line));
  while (more) {
    if (!line.starts_with("|")) {
      if (line.starts_with("## ")) heading = line.substr(3);
      const bool is_caption = line.size() > 4 && line.starts_with("**") && line.ends_with("**");
      if (is_caption) caption = line.substr(2, line.size() - 4);
      if (!is_caption && !line.empty()) caption.clear();
      page.markdown += line + "\n";
      more = bool(std::getline(in, line));
      continue;
    }
    std::vector<std::string> lines;
    for (; more && line.starts_with("|"); more = bool(std::getline(in, line))) lines.push_back(line);
    if (lines.size() < kShortTable + 3) {
      for (const std::string& row : lines) page.markdown += row + "\n";
      continue;
    }
    const std::string stem = slug(heading + " " + caption).substr(0, kLongestName);
    std::string name = stem;
    for (int copy = 2; page.files.contains(name + ".csv"); ++copy) name = fmt::format("{}-{}", stem, copy);
    std::string csv;
    for (std::size_t i = 0; i < lines.size(); ++i) csv += i == 1 ? "" : csv_row(lines[i]);
    page.files[name + ".csv"] = csv;
    if (!caption.empty()) {  // the link says the same
      page.markdown.erase(page.markdown.rfind("**" + caption + "**"));
      if (page.markdown.ends_with(" rows\n\n")) page.markdown.pop_back();  // one list
    }
    page.markdown +=
        fmt::format("- [{}]({}{}.csv): {} rows\n", caption.empty() ? "Table" : caption, folder, name, lines.size() - 2);
    caption.clear();
  }
  return page;
}

Status write_page(const fs::path& path, const std::string& folder, const std::string& markdown) {
  const SplitPage page = move_tables(markdown, folder);
  for (const auto& [name, text] : page.files)
    FORERUN_CHECK(write_text_file((path.parent_path() / folder / name).string(), text));
  return write_text_file(path.string(), page.markdown);
}

std::string to_markdown(const ReportPage& page) {
  std::string out = "# " + page.title + "\n\n" + page.introduction + "\n";
  for (const ReportSection& section : page.sections) {
    out += "\n## " + section.heading + "\n\n";
    if (!section.text.empty()) out += section.text + "\n\n";
    for (const ReportTable& table : section.tables) append_table(out, table);
    if (!section.images.empty()) out += fmt::format("![{}]({})\n\n", section.heading, section.images.front());
    if (section.images.size() > 1) {
      out += "More pictures:";
      for (std::size_t i = 1; i < section.images.size(); ++i)
        out += fmt::format("{} [{}]({})", i > 1 ? "," : "", fs::path(section.images[i]).stem().string(),
                           section.images[i]);
      out += ".\n\n";
    }
  }
  return out;
}

std::string to_json(const ReportPage& page) {
  nlohmann::ordered_json json;
  json["title"] = page.title;
  json["introduction"] = page.introduction;
  json["sections"] = nlohmann::ordered_json::array();
  for (const ReportSection& s : page.sections) {
    nlohmann::ordered_json section;
    section["id"] = s.id;
    section["heading"] = s.heading;
    section["text"] = s.text;
    section["images"] = s.images;
    section["tables"] = nlohmann::ordered_json::array();
    for (const ReportTable& t : s.tables)
      section["tables"].push_back({{"caption", t.caption}, {"columns", t.columns}, {"rows", t.rows}});
    json["sections"].push_back(std::move(section));
  }
  return json.dump(1) + "\n";
}

Result<ReportPage> parse_page(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    ReportPage page{.title = json.at("title"), .introduction = json.at("introduction"), .sections = {}};
    for (const auto& s : json.at("sections")) {
      ReportSection section{
          .id = s.at("id"), .heading = s.at("heading"), .text = s.at("text"), .tables = {}, .images = s.at("images")};
      for (const auto& t : s.at("tables")) section.tables.push_back({t.at("caption"), t.at("columns"), t.at("rows")});
      page.sections.push_back(std::move(section));
    }
    return page;
  } catch (const nlohmann::json::exception& error) {
    return bad_input(std::string("not a report page: ") + error.what());
  }
}

void put_section(ReportPage& page, ReportSection section) {
  const auto found = std::find_if(page.sections.begin(), page.sections.end(),
                                  [&](const ReportSection& s) { return s.id == section.id; });
  if (found == page.sections.end()) {
    page.sections.push_back(std::move(section));
  } else {
    *found = std::move(section);
  }
}

std::string percent_cell(const Repeated& value) {
  return value.spread > 0 ? fmt::format("{:.1f} ± {:.1f}", value.mean, value.spread)
                          : fmt::format("{:.1f}", value.mean);
}

std::vector<std::string> accuracy_columns() {
  return {"rows",          "MAPE %",      "median APE %",           "RMSE",
          "Kendall's tau", "within 10 %", "90 % interval covers %", "interval width %"};
}

std::vector<std::string> accuracy_cells(std::span<const Accuracy> repeats) {
  const auto mean_of = [&](double Accuracy::*member) {
    std::vector<double> values;
    for (const Accuracy& a : repeats) values.push_back(a.*member);
    return repeated(values);
  };
  const auto coverage = mean_of(&Accuracy::coverage);
  return {repeats.empty() ? "0" : std::to_string(repeats.front().rows),
          percent_cell(mean_of(&Accuracy::mape)),
          percent_cell(mean_of(&Accuracy::median_ape)),
          fmt::format("{:.3g}", mean_of(&Accuracy::rmse).mean),
          fmt::format("{:.3f}", mean_of(&Accuracy::kendall_tau).mean),
          fmt::format("{:.0f}", mean_of(&Accuracy::within_10).mean),
          coverage.mean > 0 ? fmt::format("{:.1f}", coverage.mean) : "–",
          coverage.mean > 0 ? fmt::format("{:.0f}", mean_of(&Accuracy::width).mean) : "–"};
}

}  // namespace forerun
