#include "evaluation/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace forerun {
namespace {

constexpr double kSide = 420, kLeft = 60, kTop = 40;
constexpr std::array<const char*, 12> kColours = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
                                                  "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#003f5c", "#58508d"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? std::string("&lt;") : c == '&' ? std::string("&amp;") : std::string(1, c);
  return out;
}

std::string head(double width, double height, const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:.0f}\" y=\"20\" font-size=\"14\">{3}</text>\n",
      width, height, kLeft, escaped(title));
}

}  // namespace

std::string plot_predicted(std::span<const Judged> rows, const std::string& title, const std::string& unit) {
  double low = INFINITY, high = 0;
  std::map<std::string, std::size_t> families;
  for (const Judged& row : rows) {
    low = std::min({low, row.measured, row.predicted});
    high = std::max({high, row.measured, row.predicted});
    families.try_emplace(row.family, families.size());
  }
  if (rows.empty()) low = 1, high = 10;
  const double from = std::floor(std::log10(low) * 2) / 2,
               to = std::max(from + 0.5, std::ceil(std::log10(high) * 2) / 2);
  const auto at = [&](double value) { return (std::log10(value) - from) / (to - from) * kSide; };
  const auto x = [&](double value) { return kLeft + at(value); };
  const auto y = [&](double value) { return kTop + kSide - at(value); };
  std::string svg = head(kLeft + kSide + 150, kTop + kSide + 50, title);
  svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft,
                     kTop, kSide, kSide);
  for (int decade = int(std::ceil(from)); decade <= int(std::floor(to)); ++decade) {
    const double value = std::pow(10.0, decade);
    svg += fmt::format("<path d=\"M{0:.1f} {1} v{2} M{3} {4:.1f} h{2}\" stroke=\"#ddd\"/>", x(value), kTop, kSide,
                       kLeft, y(value));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>", x(value), kTop + kSide + 15,
                       value);
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", kLeft - 5, y(value) + 4, value);
  }
  const double begin = std::pow(10.0, from), end = std::pow(10.0, to);
  svg +=
      fmt::format("<path d=\"M{:.1f} {:.1f} L{:.1f} {:.1f}\" stroke=\"#444\"/>\n", x(begin), y(begin), x(end), y(end));
  for (const double factor : {1.1, 1 / 1.1}) {
    const double a = factor < 1 ? begin / factor : begin, b = factor > 1 ? end / factor : end;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f} L{:.1f} {:.1f}\" stroke=\"#999\" stroke-dasharray=\"4 3\"/>\n", x(a),
                       y(a * factor), x(b), y(b * factor));
  }
  for (const Judged& row : rows) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\" fill-opacity=\"0.65\"/>\n",
                       x(row.measured), y(row.predicted), kColours[families[row.family] % kColours.size()]);
  }
  double line = kTop + 8;
  for (const auto& [family, index] : families) {
    svg += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                       kLeft + kSide + 14, line, kColours[index % kColours.size()], kLeft + kSide + 22, line + 4,
                       escaped(family));
    line += 14;
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured, {}</text>\n", kLeft + kSide / 2,
                     kTop + kSide + 35, unit);
  svg += fmt::format(
      "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">predicted, {}</text>\n</svg>\n",
      kTop + kSide / 2, unit);
  return svg;
}

std::string plot_bars(const std::vector<std::pair<std::string, double>>& bars, const std::string& title) {
  double largest = 1;
  for (const auto& [name, value] : bars) largest = std::max(largest, value);
  constexpr double kRow = 18, kNames = 130, kWidth = 380;
  std::string svg = head(kNames + kWidth + 70, kTop + kRow * double(bars.size()) + 10, title);
  double line = kTop;
  for (const auto& [name, value] : bars) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kNames - 6, line + 12, escaped(name));
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"13\" fill=\"#1f77b4\"/>", kNames, line,
                       value / largest * kWidth);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{:.1f} %</text>\n", kNames + value / largest * kWidth + 5,
                       line + 11, value);
    line += kRow;
  }
  return svg + "</svg>\n";
}

}  // namespace forerun
