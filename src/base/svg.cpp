#include "base/svg.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace forerun {
namespace {

constexpr std::array<std::string_view, 12> kColors = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
                                                      "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#003f5c", "#58508d"};
constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
constexpr std::string_view kGridColor = "#e4e4e4";

std::string label_of(double value, std::string_view label) {
  return label.empty() ? fmt::format("{:g}", value) : std::string(label);
}

}  // namespace

std::string svg_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string_view svg_color(std::size_t i) { return kColors[i % kColors.size()]; }

SvgPicture::SvgPicture(double width, double height, std::string_view title, double title_x)
    : body_(fmt::format(
          R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:g} {1:g}" width="{0:g}" height="{1:g}" font-family="sans-serif" font-size="12">
<title>{3}</title>
<rect width="100%" height="100%" fill="white"/>
<text x="{2:g}" y="24" font-size="15">{3}</text>
)",
          width, height, title_x, svg_escaped(title))) {}

void SvgPicture::text(double x, double y, std::string_view text, Anchor anchor) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       kAnchors[std::size_t(anchor)], svg_escaped(text));
}

void SvgPicture::vertical_text(double x, double y, std::string_view text) {
  body_ += fmt::format("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", x,
                       y, svg_escaped(text));
}

void SvgPicture::polyline(const std::vector<std::pair<double, double>>& points, const SvgLine& line) {
  body_ += "<polyline points=\"";
  for (const auto& [x, y] : points) body_ += fmt::format("{:.1f},{:.1f} ", x, y);
  body_ += fmt::format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"{}/>\n", line.color, line.width,
                       line.is_dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void SvgPicture::rectangle(double x, double y, double width, double height, std::string_view fill,
                           std::string_view stroke) {
  body_ +=
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"{}\"/>\n", x,
                  y, width, height, fill, stroke);
}

void SvgPicture::circle(double x, double y, double radius, std::string_view fill, double opacity,
                        std::string_view hint) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.3g}\" fill=\"{}\" fill-opacity=\"{:g}\"", x, y,
                       radius, fill, opacity);
  body_ += hint.empty() ? "/>\n" : fmt::format("><title>{}</title></circle>\n", svg_escaped(hint));
}

double SvgAxis::share(double value) const {
  if (!(high > low)) return 0.5;
  return is_logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

SvgChart::SvgChart(std::string_view title, SvgAxis x, SvgAxis y, const Frame& frame)
    : x_(std::move(x)),
      y_(std::move(y)),
      frame_(frame),
      picture_(frame.left + frame.width + frame.right, frame.top + frame.height + frame.bottom, title, frame.left) {
  picture_.rectangle(frame.left, frame.top, frame.width, frame.height, "none", "#888");
  picture_.text(frame.left + frame.width / 2, frame.top + frame.height + 40, x_.label, Anchor::Middle);
  picture_.vertical_text(16, frame.top + frame.height / 2, y_.label);
}

void SvgChart::x_tick(double value, std::string_view label) {
  const double bottom = frame_.top + frame_.height;
  picture_.polyline({{x(value), frame_.top}, {x(value), bottom}}, {.color = kGridColor});
  picture_.text(x(value), bottom + 16, label_of(value, label), Anchor::Middle);
}

void SvgChart::y_tick(double value, std::string_view label) {
  picture_.polyline({{frame_.left, y(value)}, {frame_.left + frame_.width, y(value)}}, {.color = kGridColor});
  picture_.text(frame_.left - 6, y(value) + 4, label_of(value, label), Anchor::End);
}

void SvgChart::x_decades() {
  for (double decade = std::ceil(std::log10(x_.low) - 1e-9); decade <= std::log10(x_.high) + 1e-9; ++decade)
    x_tick(std::pow(10, decade));
}

void SvgChart::y_decades() {
  for (double decade = std::ceil(std::log10(y_.low) - 1e-9); decade <= std::log10(y_.high) + 1e-9; ++decade)
    y_tick(std::pow(10, decade));
}

void SvgChart::curve(const std::vector<std::pair<double, double>>& points, const SvgLine& line) {
  std::vector<std::pair<double, double>> placed;
  for (const auto& [px, py] : points) placed.emplace_back(x(px), y(py));
  picture_.polyline(placed, line);
}

void SvgChart::dot(double px, double py, double radius, std::string_view color, double opacity, std::string_view hint) {
  picture_.circle(x(px), y(py), radius, color, opacity, hint);
}

double SvgChart::next_legend_y() { return frame_.top + 14 + 16.0 * legend_rows_++; }

void SvgChart::legend_line(const SvgLine& line, std::string_view label) {
  const double at = next_legend_y();
  picture_.polyline({{legend_x(), at}, {legend_x() + 24, at}}, line);
  picture_.text(legend_x() + 30, at + 4, label);
}

void SvgChart::legend_dot(std::string_view color, std::string_view label) {
  const double at = next_legend_y();
  picture_.circle(legend_x() + 4, at, 4, color);
  picture_.text(legend_x() + 14, at + 4, label);
}

}  // namespace forerun
