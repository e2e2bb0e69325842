#include "evaluation/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace forerun {
namespace {

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

}  // namespace

std::string to_markdown(const ReportPage& page) {
  std::string out = "# " + page.title + "\n\n" + page.introduction + "\n";
  for (const ReportSection& section : page.sections) {
    out += "\n## " + section.heading + "\n\n";
    if (!section.text.empty()) out += section.text + "\n\n";
    for (const ReportTable& table : section.tables) append_table(out, table);
    for (const std::string& image : section.images) out += fmt::format("![{}]({})\n\n", section.heading, image);
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
