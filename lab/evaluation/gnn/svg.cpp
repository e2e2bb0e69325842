#include "evaluation/gnn/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace forerun {
namespace {

constexpr double kWidth = 720, kHeight = 400, kLeft = 64, kRight = 170, kTop = 36, kBottom = 44;

std::string color_of(std::size_t i) { return fmt::format("hsl({}, 62%, {}%)", i * 137 % 360, i % 2 == 0 ? 42 : 56); }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string open_picture(const std::string& title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n<text x=\"{2}\" y=\"22\" font-size=\"15\">{3}</text>\n"
      "<rect x=\"{2}\" y=\"{4}\" width=\"{5}\" height=\"{6}\" fill=\"none\" stroke=\"#999\"/>\n",
      kWidth, kHeight, kLeft, escaped(title), kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
}

std::string legend(std::size_t i, const std::string& name) {
  const double y = kTop + 12 + 16 * static_cast<double>(i), x = kWidth - kRight + 12;
  return fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n", x, y - 9,
      color_of(i), x + 15, y, escaped(name));
}

struct Range {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void add(double value) { low = std::min(low, value), high = std::max(high, value); }
  [[nodiscard]] double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

double place_x(double share) { return kLeft + 6 + share * (kWidth - kLeft - kRight - 12); }
double place_y(double share) { return kHeight - kBottom - 6 - share * (kHeight - kTop - kBottom - 12); }

}  // namespace

std::string draw_curves(const std::string& title, const std::string& y_label, const std::vector<SvgCurve>& curves) {
  std::string out = open_picture(title);
  Range x, y;
  for (const SvgCurve& curve : curves) {
    x.add(1);
    x.add(static_cast<double>(curve.values.size()));
    for (const double value : curve.values) y.add(std::log10(std::max(1e-9, value)));
  }
  for (int tick = 0; tick <= 4 && !curves.empty(); ++tick) {
    const double share = tick / 4.0;
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.2g}</text>\n", kLeft - 6, place_y(share) + 4,
                       std::pow(10, y.low + share * (y.high - y.low)));
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n", place_x(share),
                       kHeight - kBottom + 16, x.low + share * (x.high - x.low));
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">epoch</text>\n", (kLeft + kWidth - kRight) / 2,
                     kHeight - 8);
  out += fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", kHeight / 2,
                     escaped(y_label));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string points;
    for (std::size_t e = 0; e < curves[i].values.size(); ++e) {
      points += fmt::format("{:.1f},{:.1f} ", place_x(x.share(static_cast<double>(e + 1))),
                            place_y(y.share(std::log10(std::max(1e-9, curves[i].values[e])))));
    }
    out += fmt::format("<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"{}\" points=\"{}\"/>\n", color_of(i),
                       points) +
           legend(i, curves[i].name);
  }
  return out + "</svg>\n";
}

std::string draw_points(const std::string& title, const std::vector<SvgPoints>& groups) {
  std::string out = open_picture(title);
  Range x, y;
  for (const SvgPoints& group : groups) {
    for (const auto& [a, b] : group.points) x.add(a), y.add(b);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const auto& [a, b] : groups[i].points) {
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" fill-opacity=\"0.7\"/>\n",
                         place_x(x.share(a)), place_y(y.share(b)), color_of(i));
    }
    out += legend(i, groups[i].name);
  }
  return out + "</svg>\n";
}

}  // namespace forerun
