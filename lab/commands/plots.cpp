#include "commands/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/svg.hpp"
#include "commands/ceilings.hpp"

namespace forerun {
namespace {

constexpr SvgFrame kFrame{.width = 600, .height = 384, .left = 70, .right = 230, .top = 40, .bottom = 56};
constexpr SvgLine kSheetLine{.color = "#888888", .width = 1.2, .is_dashed = true};

// "64 KiB", "1.5 GiB"
std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

SvgLine line_of(std::size_t i) { return {.color = svg_color(i), .width = 2}; }

// 1, 2 and 5 of every decade.
void y_ticks(SvgChart& chart, double low, double high) {
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      if (decade * step >= low && decade * step <= high) chart.y_tick(decade * step);
    }
  }
}

void dotted_curve(SvgChart& chart, const std::vector<std::pair<double, double>>& points, std::size_t i) {
  chart.curve(points, line_of(i));
  for (const auto& [x, y] : points) chart.dot(x, y, 2.5, svg_color(i), 1);
}

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
  SvgChart chart(fmt::format("{}: read bandwidth by working set ({})", result.device_name, result.date),
                 {"working set, all multiprocessors together", x_low / 1.3, x_high * 1.3},
                 {"GB/s", y_low / 1.5, y_high * 1.5}, kFrame);
  y_ticks(chart, y_low / 1.5, y_high * 1.5);
  for (double tick = std::exp2(std::ceil(std::log2(x_low))); tick <= x_high; tick *= 8)
    chart.x_tick(tick, bytes_text(tick));
  if (result.l2_bytes > x_low && result.l2_bytes < x_high) {
    chart.curve({{result.l2_bytes, y_low / 1.5}, {result.l2_bytes, y_high * 1.5}}, kSheetLine);
    chart.legend_line(kSheetLine, "L2 size: " + bytes_text(result.l2_bytes));
  }
  dotted_curve(chart, shared, 0);
  dotted_curve(chart, own, 1);
  chart.legend_line(line_of(0), "one buffer, past L1");
  chart.legend_line(line_of(1), "a buffer per multiprocessor");
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
  SvgChart chart(fmt::format("{}: roofline with measured ceilings ({})", result.device_name, result.date),
                 {"operations per byte of device memory", x_low, x_high}, {"TFLOP/s", y_low, top * 3}, kFrame);
  y_ticks(chart, y_low, top * 3);
  chart.x_decades();
  const auto roof = [&](double gb_per_s, double tflops, const SvgLine& line) {
    const double ridge = tflops * 1e3 / gb_per_s;
    std::vector<std::pair<double, double>> points;
    const double start = std::max(x_low, y_low * 1e3 / gb_per_s);
    if (start < ridge) points.emplace_back(start, start * gb_per_s / 1e3);
    points.emplace_back(std::clamp(ridge, x_low, x_high), tflops);
    points.emplace_back(x_high, tflops);
    chart.curve(points, line);
  };
  std::size_t index = 0;
  for (const auto& [precision, rate] : ceilings.peak_tflops) {
    const SvgLine line = line_of(index++);
    if (bandwidth > 0) roof(bandwidth, rate, line);
    chart.legend_line(line, fmt::format("{}: {:.4g} TFLOP/s", precision, rate));
    if (data_sheet && data_sheet->peak_tflops.contains(precision) && data_sheet->memory_bandwidth_gb_per_s > 0) {
      roof(data_sheet->memory_bandwidth_gb_per_s, data_sheet->peak_tflops.at(precision),
           {.color = line.color, .width = 1.2, .is_dashed = true});
    }
  }
  if (bandwidth > 0) chart.legend_line({.color = "#000000", .width = 2}, fmt::format("memory: {:.4g} GB/s", bandwidth));
  if (data_sheet)
    chart.legend_line({.color = "#000000", .is_dashed = true},
                      fmt::format("data sheet ({:.4g} GB/s)", data_sheet->memory_bandwidth_gb_per_s));
  return chart.svg();
}

}  // namespace forerun
