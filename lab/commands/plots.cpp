#include "commands/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/ceilings.hpp"

namespace forerun {
namespace {

constexpr std::array<std::string_view, 10> kColors = {"#1b6ca8", "#c1442e", "#2e8b57", "#8a4fbf", "#b8860b",
                                                      "#008b8b", "#a0522d", "#555555", "#d81b8c", "#6b8e23"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// "64 KiB", "1.5 GiB"
std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

// A chart with logarithmic axes. Points outside the range are the caller's mistake and land outside the frame.
class LogChart {
 public:
  LogChart(std::string title, std::string x_label, std::string y_label, std::pair<double, double> x,
           std::pair<double, double> y)
      : title_(std::move(title)), x_label_(std::move(x_label)), y_label_(std::move(y_label)), x_(x), y_(y) {}

  [[nodiscard]] double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log(value / x_.first) / std::log(x_.second / x_.first);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * std::log(value / y_.first) / std::log(y_.second / y_.first);
  }
  void x_tick(double value, const std::string& label) {
    body_ += fmt::format(
        R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#e4e4e4"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>)"
        "\n",
        x(value), kTop, kHeight - kBottom, kHeight - kBottom + 16, escaped(label));
  }
  void y_ticks() {
    for (double decade = std::pow(10, std::floor(std::log10(y_.first))); decade <= y_.second; decade *= 10) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double value = decade * step;
        if (value < y_.first || value > y_.second) continue;
        body_ += fmt::format(
            R"(<line x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}" stroke="#e4e4e4"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:g}</text>)"
            "\n",
            kLeft, y(value), kWidth - kRight, kLeft - 6, y(value) + 4, value);
      }
    }
  }
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view color, bool is_dashed,
             bool has_dots) {
    std::string path;
    for (const auto& [px, py] : points) path += fmt::format("{:.1f},{:.1f} ", x(px), y(py));
    body_ += fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="{}"{}/>)"
                         "\n",
                         path, color, is_dashed ? 1.2 : 2, is_dashed ? R"( stroke-dasharray="5 4")" : "");
    if (!has_dots) return;
    for (const auto& [px, py] : points)
      body_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}"/>)"
                           "\n",
                           x(px), y(py), color);
  }
  void legend(std::string_view color, bool is_dashed, const std::string& label) {
    const double at = kTop + 14 + 17.0 * legend_rows_++;
    body_ += fmt::format(
        R"(<line x1="{0}" y1="{1}" x2="{2}" y2="{1}" stroke="{3}" stroke-width="2"{4}/><text x="{5}" y="{6}">{7}</text>)"
        "\n",
        kWidth - kRight + 12, at, kWidth - kRight + 36, color, is_dashed ? R"( stroke-dasharray="5 4")" : "",
        kWidth - kRight + 42, at + 4, escaped(label));
  }
  [[nodiscard]] std::string svg() const {
    return fmt::format(
        R"svg(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">
<title>{2}</title>
<rect width="{0}" height="{1}" fill="white"/>
<text x="{3}" y="24" font-size="15">{2}</text>
{4}<rect x="{3}" y="{5}" width="{6}" height="{7}" fill="none" stroke="#888"/>
<text x="{8}" y="{9}" text-anchor="middle">{10}</text>
<text transform="translate(16 {11}) rotate(-90)" text-anchor="middle">{12}</text>
</svg>
)svg",
        kWidth, kHeight, escaped(title_), kLeft, body_, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom,
        (kLeft + kWidth - kRight) / 2, kHeight - 12, escaped(x_label_), kHeight / 2, escaped(y_label_));
  }

 private:
  static constexpr int kWidth = 900, kHeight = 480, kLeft = 70, kRight = 230, kTop = 40, kBottom = 56;
  std::string title_, x_label_, y_label_;
  std::pair<double, double> x_, y_;
  std::string body_;
  int legend_rows_ = 0;
};

std::vector<std::pair<double, double>> points_of(const std::vector<BandwidthPoint>& sweep, double scale) {
  std::vector<std::pair<double, double>> points;
  for (const BandwidthPoint& point : sweep) points.emplace_back(point.working_set_bytes * scale, point.gb_per_s);
  return points;
}

}  // namespace

std::string bandwidth_svg(const Characterization& result) {
  // The private sweep counts one multiprocessor's buffer; all of them together are the working set.
  const auto shared = points_of(result.shared_sweep, 1);
  const auto own = points_of(result.private_sweep, std::max(1, result.multiprocessors));
  double x_low = 1e18, x_high = 1, y_low = 1e18, y_high = 1;
  for (const auto* sweep : {&shared, &own}) {
    for (const auto& [bytes, rate] : *sweep) {
      x_low = std::min(x_low, bytes);
      x_high = std::max(x_high, bytes);
      y_low = std::min(y_low, rate);
      y_high = std::max(y_high, rate);
    }
  }
  if (x_low > x_high) x_low = y_low = 0.5, x_high = y_high = 2;
  LogChart chart(fmt::format("{}: read bandwidth by working set ({})", result.device_name, result.date),
                 "working set, all multiprocessors together", "GB/s", {x_low / 1.3, x_high * 1.3},
                 {y_low / 1.5, y_high * 1.5});
  chart.y_ticks();
  for (double tick = std::exp2(std::ceil(std::log2(x_low))); tick <= x_high; tick *= 8)
    chart.x_tick(tick, bytes_text(tick));
  if (result.l2_bytes > x_low && result.l2_bytes < x_high) {
    chart.curve({{result.l2_bytes, y_low / 1.5}, {result.l2_bytes, y_high * 1.5}}, "#888888", true, false);
    chart.legend("#888888", true, "L2 size: " + bytes_text(result.l2_bytes));
  }
  chart.curve(shared, kColors[0], false, true);
  chart.curve(own, kColors[1], false, true);
  chart.legend(kColors[0], false, "one buffer, past L1");
  chart.legend(kColors[1], false, "a buffer per multiprocessor");
  return chart.svg();
}

std::string roofline_svg(const Characterization& result, const std::optional<Device>& data_sheet) {
  const MeasuredCeilings ceilings = ceilings_of(result);
  const double bandwidth = ceilings.memory_bandwidth_gb_per_s.value_or(0);
  double top = 1;
  double bottom = 1e18;
  for (const auto& [precision, rate] : ceilings.peak_tflops) {
    top = std::max(top, rate);
    bottom = std::min(bottom, rate);
  }
  const double x_low = 0.1;
  const double x_high = 1e4;
  const double y_low = std::max(1e-3, std::min(bottom, bandwidth * x_low / 1e3) / 2);
  LogChart chart(fmt::format("{}: roofline with measured ceilings ({})", result.device_name, result.date),
                 "operations per byte of device memory", "TFLOP/s", {x_low, x_high}, {y_low, top * 3});
  chart.y_ticks();
  for (double tick = x_low; tick <= x_high * 1.001; tick *= 10) chart.x_tick(tick, fmt::format("{:g}", tick));
  const auto roof = [&](double gb_per_s, double tflops, std::string_view color, bool is_dashed) {
    const double ridge = tflops * 1e3 / gb_per_s;
    std::vector<std::pair<double, double>> points;
    const double start = std::max(x_low, y_low * 1e3 / gb_per_s);
    if (start < ridge) points.emplace_back(start, start * gb_per_s / 1e3);
    points.emplace_back(std::clamp(ridge, x_low, x_high), tflops);
    points.emplace_back(x_high, tflops);
    chart.curve(points, color, is_dashed, false);
  };
  std::size_t index = 0;
  for (const auto& [precision, rate] : ceilings.peak_tflops) {
    const std::string_view color = kColors[index++ % kColors.size()];
    if (bandwidth > 0) roof(bandwidth, rate, color, false);
    chart.legend(color, false, fmt::format("{}: {:.4g} TFLOP/s", precision, rate));
    if (data_sheet && data_sheet->peak_tflops.contains(precision) && data_sheet->memory_bandwidth_gb_per_s > 0) {
      roof(data_sheet->memory_bandwidth_gb_per_s, data_sheet->peak_tflops.at(precision), color, true);
    }
  }
  if (bandwidth > 0) chart.legend("#000000", false, fmt::format("memory: {:.4g} GB/s", bandwidth));
  if (data_sheet)
    chart.legend("#000000", true, fmt::format("data sheet ({:.4g} GB/s)", data_sheet->memory_bandwidth_gb_per_s));
  return chart.svg();
}

}  // namespace forerun
