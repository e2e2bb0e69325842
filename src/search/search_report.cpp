// A search's result as JSON, CSV and SVG.
#include <algorithm>
#include <cmath>

#include "base/csv.hpp"
#include "base/json_writer.hpp"
#include "base/svg.hpp"
#include "search/search.hpp"

namespace forerun {
namespace {

// The decades around positive values, for a logarithmic axis.
SvgAxis axis_of(const SearchReport& report, const Objective& objective) {
  double low = INFINITY, high = 0;
  for (const SearchCandidate& candidate : report.feasible) {
    low = std::min(low, candidate.row.numbers[objective.column]);
    high = std::max(high, candidate.row.numbers[objective.column]);
  }
  if (!(low > 0) || !(high > 0)) low = high = 1;
  return {objective.name(), std::pow(10.0, std::floor(std::log10(low))),
          std::pow(10.0, std::ceil(std::log10(high * 1.001)))};
}

}  // namespace

std::string to_json(const SearchReport& report) {
  JsonWriter json;
  json.begin_object().field("algorithm", name_of(report.algorithm)).key("objectives").begin_array();
  for (const Objective& objective : report.objectives) {
    json.begin_object().field("column", objective.name());
    json.field("better", objective.is_lower_better ? "lower" : "higher").end_object();
  }
  json.end_array().field("evaluated", report.evaluated).field("failed", report.failed);
  json.field("over_limits", report.over_limits).field("seconds", report.seconds);
  if (!report.first_error.empty()) json.field("first_error", report.first_error);
  json.key("front").begin_array();
  for (const SearchCandidate* candidate : report.front()) {
    std::string line = to_json_line(candidate->row, candidate->question);
    line.pop_back();
    json.raw(line);
  }
  return json.end_array().end_object().take();
}

std::string to_csv(const SearchReport& report) {
  std::vector<std::string> header = {"question", "asked", "device"};
  for (const AnswerColumn& column : answer_columns()) header.push_back(column.name);
  header.emplace_back("fits");
  std::string text = csv_line(header);
  for (const SearchCandidate* candidate : report.front()) {
    const AnswerRow& row = candidate->row;
    std::vector<std::string> fields = {std::to_string(row.question), candidate->question, row.device};
    for (const double number : row.numbers)
      fields.push_back(std::isnan(number) ? "" : JsonWriter().number(number).take());
    fields.emplace_back(row.fits ? "true" : "false");
    text += csv_line(fields);
  }
  return text;
}

std::string render_svg(const SearchReport& report) {
  const Objective& x = report.objectives[0];
  const Objective& y = report.objectives[std::min<std::size_t>(1, report.objectives.size() - 1)];
  SvgChart chart("Candidates and their Pareto front", axis_of(report, x), axis_of(report, y));
  chart.x_decades();
  chart.y_decades();
  for (const SearchCandidate& candidate : report.feasible) {
    if (!candidate.is_on_front)
      chart.dot(candidate.row.numbers[x.column], candidate.row.numbers[y.column], 2, svg_color(0), 0.3);
  }
  std::vector<std::pair<double, double>> line;
  for (const SearchCandidate* candidate : report.front()) {
    const double at_x = candidate->row.numbers[x.column], at_y = candidate->row.numbers[y.column];
    chart.dot(at_x, at_y, 3.5, svg_color(1), 0.9, candidate->question);
    line.emplace_back(at_x, at_y);
  }
  if (report.objectives.size() == 2) chart.curve(line, {svg_color(1)});
  chart.legend_dot(svg_color(1), "Pareto front");
  chart.legend_dot(svg_color(0), "other candidates");
  return chart.svg();
}

}  // namespace forerun
