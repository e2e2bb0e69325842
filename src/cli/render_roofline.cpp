// The roofline as a terminal chart and as an SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/svg.hpp"
#include "cli/render.hpp"

namespace forerun {
namespace {

struct Range {
  double low, high;  // decades
  [[nodiscard]] double place(double value) const { return (std::log10(std::max(value, 1e-12)) - low) / (high - low); }
};

struct Chart {
  Range x{-2, 4}, y{0, 6};  // FLOP per byte; GFLOP/s
  double compute = 0;       // highest ceiling of the precision in use, TFLOP/s
  double memory = 0, l2 = 0, l1 = 0;
};

Chart layout(const RooflineReport& report) {
  Chart chart;
  for (const Ceiling& c : report.ceilings) {
    if (c.is_bandwidth) {
      (c.name.starts_with("L1") ? chart.l1 : c.name.starts_with("L2") ? chart.l2 : chart.memory) = c.value;
    } else if (c.is_used) {
      chart.compute = std::max(chart.compute, c.value);
    }
  }
  double lowest = 1e9;
  for (const RooflinePoint& p : report.points) {
    if (p.flops > 0) lowest = std::min(lowest, p.gflops_per_s);
  }
  chart.y = {std::floor(std::log10(std::max(0.1, std::min(lowest, 100.0)))),
             std::ceil(std::log10(std::max(1.0, chart.compute * 1000)))};
  return chart;
}

struct Level {
  const char* name;
  double Traffic::*bytes;
  std::string_view color;
};
constexpr Level kLevels[] = {
    {"memory", &Traffic::memory, "#1d4ed8"}, {"L2", &Traffic::l2, "#059669"}, {"L1", &Traffic::l1, "#d97706"}};

double intensity_at(const RooflinePoint& point, const Level& level) {
  const double bytes = point.traffic.*level.bytes;
  return bytes > 0 ? point.flops / bytes : 0;
}

std::string name_of_point(const RooflinePoint& point) {
  return point.variant.empty() ? point.kernel : point.variant + ": " + point.kernel;
}

std::string_view name_of_stage(Stage stage) {
  return stage == Stage::Forward ? "forward" : stage == Stage::Backward ? "backward" : "update";
}

void draw_ceiling(SvgChart& svg, const Ceiling& c, const Chart& chart) {
  const double lowest_x = std::pow(10, chart.x.low), lowest_y = std::pow(10, chart.y.low);
  if (c.is_bandwidth) {
    const double start = std::max(lowest_x, lowest_y / c.value);
    svg.curve({{start, start * c.value}, {chart.compute * 1000 / c.value, chart.compute * 1000}},
              {.width = 1.5, .is_dashed = !c.is_measured});
    svg.picture().text(svg.x(start) + 6, svg.y(start * c.value) - 6, fmt::format("{} {:.0f} GB/s", c.name, c.value));
    return;
  }
  if (!c.is_used) return;  // a unit that no kernel uses
  const double top = c.value * 1000, right = std::pow(10, chart.x.high);
  const double start = chart.memory > 0 ? top / std::max(chart.memory, chart.l2) : 1;
  svg.curve({{std::clamp(start, lowest_x, right), top}, {right, top}}, {.color = "#888", .is_dashed = !c.is_measured});
  svg.picture().text(svg.x(right), svg.y(top) - 3,
                     fmt::format("{} {:.4g} TFLOP/s{}", c.name, c.value, c.is_measured ? " measured" : ""),
                     Anchor::End);
}

// The longest kernels; of a sweep all.
std::string kernel_table(const RooflineReport& report) {
  std::string text = fmt::format("\n{:<9}{:>10}{:>12}{:>10}{:>10}{:>10}  {}\n", "stage", "ms", "GFLOP/s", "FLOP/B L1",
                                 "L2", "memory", "kernel");
  const bool is_sweep = !report.points.empty() && !report.points.front().variant.empty();
  constexpr std::size_t kLongest = 8;
  const std::size_t shown = is_sweep ? report.points.size() : std::min(kLongest, report.points.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const RooflinePoint& p = report.points[i];
    text += fmt::format("{:<9}{:>10.4g}{:>12.5g}{:>10.3g}{:>10.3g}{:>10.3g}  {} ({} ×)\n", name_of_stage(p.stage),
                        p.time_ms, p.gflops_per_s, intensity_at(p, kLevels[2]), intensity_at(p, kLevels[1]),
                        p.intensity, name_of_point(p), p.count);
    if (!is_sweep && i < 5) text += fmt::format("{:9}{}\n", "", p.why);
  }
  return text + "\n";
}

}  // namespace

std::string render_chart(const RooflineReport& report) {
  constexpr int kWidth = 72;
  constexpr int kHeight = 20;
  const Chart chart = layout(report);
  std::vector<std::string> grid(kHeight, std::string(kWidth, ' '));
  const auto put = [&](double x, double y, char mark) {
    const int column = int(chart.x.place(x) * (kWidth - 1));
    const int row = kHeight - 1 - int(chart.y.place(y) * (kHeight - 1));
    if (column >= 0 && column < kWidth && row >= 0 && row < kHeight) grid[std::size_t(row)][std::size_t(column)] = mark;
  };
  for (int i = 0; i < kWidth; ++i) {
    const double x = std::pow(10, chart.x.low + (chart.x.high - chart.x.low) * i / (kWidth - 1));
    if (chart.l2 > 0) put(x, std::min(chart.l2 * x, chart.compute * 1000), '.');
    put(x, std::min(chart.memory * x, chart.compute * 1000), '-');
  }
  for (auto p = report.points.rbegin(); p != report.points.rend(); ++p) {
    if (p->flops <= 0) continue;
    put(intensity_at(*p, kLevels[2]), p->gflops_per_s, '1');
    put(intensity_at(*p, kLevels[1]), p->gflops_per_s, '2');
    put(p->intensity, p->gflops_per_s, p->bound == Bound::Compute ? 'C' : p->bound == Bound::Memory ? 'M' : 'L');
  }
  std::string text =
      fmt::format("{} on {}: GFLOP/s against FLOP per byte, both logarithmic\n", report.workload.name, report.device);
  for (int row = 0; row < kHeight; ++row) {
    const double y = std::pow(10, chart.y.low + (chart.y.high - chart.y.low) * (kHeight - 1 - row) / (kHeight - 1));
    text += fmt::format("{:>9} |{}\n", row % 4 == 0 ? fmt::format("{:.3g}", y) : "", grid[std::size_t(row)]);
  }
  text += fmt::format("{:>9} +{}\n{:>11}{:<24}{:<24}{}\n", "", std::string(kWidth, '-'), "", "0.01", "1",
                      "100            10000");
  text +=
      "C compute-, M memory-, L launch-bound kernels at their intensity of memory, 2 of L2, 1 of L1; - memory and "
      "compute ceilings, . L2\n";
  text += kernel_table(report);
  for (const std::string& warning : report.warnings) text += "note: " + warning + "\n";
  return text;
}

std::string render_svg(const RooflineReport& report) {
  const Chart chart = layout(report);
  const auto axis = [](const char* label, const Range& range) {
    return SvgAxis{label, std::pow(10, range.low), std::pow(10, range.high)};
  };
  SvgChart svg(fmt::format("{} on {} ({}, batch {})", report.workload.name, report.device_name,
                           name_of(report.workload.precision), report.workload.batch),
               axis("FLOP per byte", chart.x), axis("GFLOP/s", chart.y),
               {.width = 720, .height = 440, .left = 80, .right = 150, .top = 40, .bottom = 60});
  svg.x_decades();
  svg.y_decades();
  for (const Ceiling& c : report.ceilings) draw_ceiling(svg, c, chart);
  double longest = 1e-12;
  for (const RooflinePoint& p : report.points) longest = std::max(longest, p.time_ms);
  for (auto p = report.points.rbegin(); p != report.points.rend(); ++p) {
    if (p->flops <= 0) continue;
    const auto inside = [](double value, const Range& range) {
      return std::clamp(value, std::pow(10, range.low), std::pow(10, range.high));
    };
    const double opacity = p->stage == Stage::Forward ? 0.7 : 0.35;
    for (const Level& level : kLevels) {
      const double intensity = intensity_at(*p, level);
      svg.dot(inside(intensity, chart.x), inside(p->gflops_per_s, chart.y), 2 + 7 * std::sqrt(p->time_ms / longest),
              level.color, opacity,
              fmt::format("{}, {}: {:.3g} ms, {} ×, {:.3g} FLOP per byte of {}; {}", name_of_point(*p),
                          name_of_stage(p->stage), p->time_ms, p->count, intensity, level.name, p->why));
    }
  }
  for (const Level& level : kLevels) svg.legend_dot(level.color, fmt::format("{} bytes", level.name));
  const bool has_gradients = std::any_of(report.points.begin(), report.points.end(),
                                         [](const RooflinePoint& p) { return p.stage != Stage::Forward; });
  if (has_gradients) svg.legend_dot("#bbbbbb", "faint: backward");
  return svg.svg();
}

}  // namespace forerun
