// The roofline as a terminal chart and as an SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  double memory = 0, l2 = 0;
};

Chart layout(const RooflineReport& report) {
  Chart chart;
  for (const Ceiling& c : report.ceilings) {
    if (c.is_bandwidth) {
      (c.name.starts_with("L2") ? chart.l2 : chart.memory) = c.value;
    } else {
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

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
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
    if (p->flops > 0)
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
  text += "C compute-, M memory-, L launch-bound kernels; - memory and compute ceilings, . L2\n\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(5, report.points.size()); ++i) {
    const RooflinePoint& p = report.points[i];
    text += fmt::format("{}. {} ({} ×, {:.3g} ms): {}\n", i + 1, p.kernel, p.count, p.time_ms, p.why);
  }
  for (const std::string& warning : report.warnings) text += "note: " + warning + "\n";
  return text;
}

std::string render_svg(const RooflineReport& report) {
  constexpr double kLeft = 80, kTop = 40, kWidth = 720, kHeight = 440;
  const Chart chart = layout(report);
  const auto px = [&](double x) { return kLeft + std::clamp(chart.x.place(x), 0.0, 1.0) * kWidth; };
  const auto py = [&](double y) { return kTop + (1 - std::clamp(chart.y.place(y), 0.0, 1.0)) * kHeight; };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 560\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"860\" height=\"560\" fill=\"#ffffff\"/>\n<text x=\"80\" y=\"24\" font-size=\"15\">{} on {} ({}, "
      "batch {})</text>\n",
      escape(report.workload.name), escape(report.device_name), name_of(report.workload.precision),
      report.workload.batch);
  for (double d = chart.x.low; d <= chart.x.high; ++d) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#e5e5e5\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4:g}</text>\n",
        px(std::pow(10, d)), kTop, kTop + kHeight, kTop + kHeight + 18, std::pow(10, d));
  }
  for (double d = chart.y.low; d <= chart.y.high; ++d) {
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#e5e5e5\"/><text x=\"{3}\" y=\"{1:.1f}\" "
        "text-anchor=\"end\" dy=\"4\">{4:g}</text>\n",
        kLeft, py(std::pow(10, d)), kLeft + kWidth, kLeft - 8, std::pow(10, d));
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">FLOP per byte</text>\n<text x=\"20\" y=\"{}\" "
      "transform=\"rotate(-90 20 {})\" text-anchor=\"middle\">GFLOP/s</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 40, kTop + kHeight / 2, kTop + kHeight / 2);
  const double lowest_x = std::pow(10, chart.x.low);
  for (const Ceiling& c : report.ceilings) {
    const char* dash = c.is_measured ? "" : " stroke-dasharray=\"6 4\"";
    if (c.is_bandwidth) {
      const double knee = chart.compute * 1000 / c.value;
      const double start = std::max(lowest_x, std::pow(10, chart.y.low) / c.value);
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#444\" stroke-width=\"1.5\"{}/><text "
          "x=\"{:.1f}\" y=\"{:.1f}\" dy=\"-6\">{} {:.0f} GB/s</text>\n",
          px(start), py(start * c.value), px(knee), py(chart.compute * 1000), dash, px(start) + 6, py(start * c.value),
          escape(c.name), c.value);
    } else {
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#888\"{}/><text x=\"{:.1f}\" "
          "y=\"{:.1f}\" text-anchor=\"end\" dy=\"-3\" fill=\"#555\">{} {:.4g} TFLOP/s{}</text>\n",
          px(chart.memory > 0 ? c.value * 1000 / std::max(chart.memory, chart.l2) : 1), py(c.value * 1000),
          kLeft + kWidth, py(c.value * 1000), dash, kLeft + kWidth, py(c.value * 1000), escape(c.name), c.value,
          c.is_measured ? " measured" : "");
    }
  }
  double longest = 0;
  for (const RooflinePoint& p : report.points) longest = std::max(longest, p.time_ms);
  for (auto p = report.points.rbegin(); p != report.points.rend(); ++p) {
    if (p->flops <= 0) continue;
    const char* color = p->bound == Bound::Compute ? "#c2410c" : p->bound == Bound::Memory ? "#1d4ed8" : "#6b7280";
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.65\"><title>{}: {:.3g} ms, {} "
        "×, {}</title></circle>\n",
        px(p->intensity), py(p->gflops_per_s), 3 + 9 * std::sqrt(p->time_ms / std::max(1e-12, longest)), color,
        escape(p->kernel), p->time_ms, p->count, escape(p->why));
  }
  double legend = kLeft + 10;
  for (const auto& [name, color] : {std::pair("compute-bound", "#c2410c"), std::pair("memory-bound", "#1d4ed8"),
                                    std::pair("launch-bound", "#6b7280")}) {
    svg += fmt::format(
        "<circle cx=\"{0}\" cy=\"{1}\" r=\"6\" fill=\"{2}\"/><text x=\"{3}\" y=\"{1}\" dy=\"4\">{4}</text>\n", legend,
        kTop + kHeight + 66, color, legend + 12, name);
    legend += 130;
  }
  return svg + "</svg>\n";
}

}  // namespace forerun
