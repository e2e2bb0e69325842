#include "evaluation/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/svg.hpp"

namespace forerun {
namespace {

constexpr double kLeastLoss = 1e-9;  // a logarithmic scale has no 0

struct Range {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void add(double value) { low = std::min(low, value), high = std::max(high, value); }
  [[nodiscard]] bool is_empty() const { return low > high; }
};

}  // namespace

std::string plot_predicted(std::span<const Judged> rows, const std::string& title, const std::string& unit) {
  Range range;
  std::map<std::string, std::size_t> families;
  for (const Judged& row : rows) {
    range.add(row.measured);
    range.add(row.predicted);
    families.try_emplace(row.family, families.size());
  }
  if (range.is_empty()) range = {1, 10};
  const double from = std::floor(std::log10(range.low) * 2) / 2,
               to = std::max(from + 0.5, std::ceil(std::log10(range.high) * 2) / 2);
  const double begin = std::pow(10.0, from), end = std::pow(10.0, to);
  SvgChart chart(title, {"measured, " + unit, begin, end}, {"predicted, " + unit, begin, end},
                 {.width = 420, .height = 420, .left = 60, .right = 150, .top = 40, .bottom = 50});
  chart.x_decades();
  chart.y_decades();
  chart.curve({{begin, begin}, {end, end}}, {});
  for (const double factor : {1.1, 1 / 1.1}) {
    const double a = factor < 1 ? begin / factor : begin, b = factor > 1 ? end / factor : end;
    chart.curve({{a, a * factor}, {b, b * factor}}, {.color = "#999", .is_dashed = true});
  }
  for (const Judged& row : rows) chart.dot(row.measured, row.predicted, 2, svg_color(families[row.family]));
  for (const auto& [family, index] : families) chart.legend_dot(svg_color(index), family);
  return chart.svg();
}

std::string plot_bars(const std::vector<std::pair<std::string, double>>& bars, const std::string& title) {
  constexpr double kRow = 18, kNames = 130, kWidth = 380, kTop = 40;
  double largest = 1;
  for (const auto& [name, value] : bars) largest = std::max(largest, value);
  SvgPicture picture(kNames + kWidth + 70, kTop + kRow * double(bars.size()) + 10, title, kNames);
  double line = kTop;
  for (const auto& [name, value] : bars) {
    const double length = value / largest * kWidth;
    picture.text(kNames - 6, line + 12, name, Anchor::End);
    picture.rectangle(kNames, line, length, 13, svg_color(0));
    picture.text(kNames + length + 5, line + 11, fmt::format("{:.1f} %", value));
    line += kRow;
  }
  return picture.svg();
}

std::string plot_epochs(const std::string& title, const std::string& y_label, const std::vector<EpochCurve>& curves) {
  Range epochs, values;
  epochs.add(1);
  for (const EpochCurve& curve : curves) {
    epochs.add(double(curve.values.size()));
    for (const double value : curve.values) values.add(std::max(kLeastLoss, value));
  }
  if (values.is_empty()) values = {1, 10};
  SvgChart chart(title, {"epoch", epochs.low, epochs.high, false}, {y_label, values.low, values.high});
  for (int tick = 0; tick <= 4; ++tick) {
    const double share = tick / 4.0;
    const double epoch = epochs.low + share * (epochs.high - epochs.low);
    const double value = values.low * std::pow(values.high / values.low, share);
    chart.x_tick(epoch, fmt::format("{:.0f}", epoch));
    chart.y_tick(value, fmt::format("{:.2g}", value));
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::vector<std::pair<double, double>> points;
    for (std::size_t e = 0; e < curves[i].values.size(); ++e)
      points.emplace_back(double(e + 1), std::max(kLeastLoss, curves[i].values[e]));
    const SvgLine line{.color = svg_color(i), .width = 1.6};
    chart.curve(points, line);
    chart.legend_line(line, curves[i].name);
  }
  return chart.svg();
}

std::string plot_groups(const std::string& title, const std::vector<PointGroup>& groups) {
  Range x, y;
  for (const PointGroup& group : groups) {
    for (const auto& [a, b] : group.points) x.add(a), y.add(b);
  }
  if (x.is_empty()) x = y = {0, 1};
  SvgChart chart(title, {"", x.low, x.high, false}, {"", y.low, y.high, false});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const auto& [a, b] : groups[i].points) chart.dot(a, b, 3, svg_color(i), 0.7);
    chart.legend_dot(svg_color(i), groups[i].name);
  }
  return chart.svg();
}

}  // namespace forerun
