// `forerun plan --serve` as a table, and its Pareto front as an SVG.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/svg.hpp"
#include "cli/render.hpp"

namespace forerun {
namespace {

std::string layout_of(const PlannedDeployment& d) {
  std::string text;
  for (const PlannedInstances& group : d.groups) {
    std::string one = fmt::format("{} x", group.instances);
    if (group.role != InstanceRole::Whole) one = fmt::format("{} {} x", group.instances, name_of(group.role));
    one += fmt::format(" TP{}", group.tensor);
    if (group.attention_data > 1) one += fmt::format(" EP{}", group.attention_data);
    if (group.pipeline > 1) one += fmt::format(" PP{}", group.pipeline);
    text += (text.empty() ? "" : " + ") + one;
  }
  return text;
}

std::string p90(const PlannedDeployment& d, std::string_view key) {
  const ServingMetric* metric = d.find(key);
  return metric != nullptr ? fmt::format("{:.4g}", metric->p90.value_or(metric->value)) : "-";
}

std::string question_line(const ServingPlan& plan) {
  std::string text = fmt::format("{}: {:g} requests/s of {:g} and {:g} tokens", plan.network, plan.rate,
                                 plan.input.mean, plan.output.mean);
  if (plan.limits.ttft_ms) text += fmt::format(", first token in {:g} ms", *plan.limits.ttft_ms);
  if (plan.limits.tpot_ms) text += fmt::format(", {:g} ms per output token", *plan.limits.tpot_ms);
  return text;
}

}  // namespace

std::string render_table(const ServingPlan& plan) {
  std::string text = fmt::format("{}\n{} considered, {} deployments keep the limits for 90 % of the requests\n\n",
                                 question_line(plan), plan.considered, plan.keeping);
  text += fmt::format("   {:<16}{:<8}{:<6}{:<34}{:>8}{:>9}{:>12}{:>10}{:>10}{:>12}\n", "device", "engine", "in",
                      "instances", "devices", "$/h", "$/M tokens", "TTFT p90", "TPOT p90", "request p90");
  for (const PlannedDeployment& d : plan.found) {
    text += fmt::format(" {} {:<16}{:<8}{:<6}{:<34}{:>8}{:>9.2f}{:>12.4g}{:>10}{:>10}{:>12}\n",
                        d.is_on_front ? "*" : " ", d.device, d.engine, d.precision ? name_of(*d.precision) : "own",
                        layout_of(d), d.devices(), d.usd_per_hour, d.usd_per_million, p90(d, "ttft_ms"),
                        p90(d, "tpot_ms"), p90(d, "request_latency_ms"));
  }
  if (plan.found.empty()) text += "  none keeps them\n";
  text += "\n * on the Pareto front of price and latency; others are their device's cheapest\n";
  if (!plan.found.empty()) {
    text += "\nthe cheapest, one instance each\n";
    for (const PlannedInstances& group : plan.found.front().groups) {
      if (!group.command.empty())
        text += fmt::format("  {} x {}: {}\n", group.instances, name_of(group.role), group.command);
    }
  }
  if (!plan.problems.empty()) text += "\nwhy others do not\n";
  for (const LayoutProblem& problem : plan.problems) text += fmt::format("  {:>7}: {}\n", problem.layouts, problem.why);
  if (!plan.warnings.empty()) text += "\n";
  for (const std::string& warning : plan.warnings) text += "note: " + warning + "\n";
  return text;
}

std::string render_svg(const ServingPlan& plan) {
  double low_usd = 1e300, high_usd = 1e-3, low_ms = 1e300, high_ms = 1e-3;
  for (const PlannedDeployment& d : plan.found) {
    low_usd = std::min(low_usd, d.usd_per_hour);
    high_usd = std::max(high_usd, d.usd_per_hour);
    low_ms = std::min(low_ms, d.latency_ms);
    high_ms = std::max(high_ms, d.latency_ms);
  }
  if (plan.found.empty()) low_usd = low_ms = 1;
  SvgChart svg(question_line(plan), {"$ an hour", low_usd / 1.5, high_usd * 1.5},
               {"90th percentile of the request's latency, ms", low_ms / 1.5, high_ms * 1.5},
               {.width = 620, .height = 400, .left = 90, .right = 190, .top = 40, .bottom = 60});
  for (double decade = 1e-3; decade < 1e9; decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = decade * step;
      if (value > low_usd / 1.5 && value < high_usd * 1.5) svg.x_tick(value);
      if (value > low_ms / 1.5 && value < high_ms * 1.5) svg.y_tick(value);
    }
  }
  std::vector<std::pair<double, double>> front;
  for (const PlannedDeployment& d : plan.found) {
    if (!d.is_on_front) continue;
    if (!front.empty()) front.emplace_back(d.usd_per_hour, front.back().second);
    front.emplace_back(d.usd_per_hour, d.latency_ms);
  }
  svg.curve(front, {.width = 1.5});
  std::map<std::string, std::size_t> colors;
  for (const PlannedDeployment& d : plan.found) {
    const auto [color, is_new] = colors.try_emplace(d.device, colors.size());
    if (is_new) svg.legend_dot(svg_color(color->second), d.device);
    svg.dot(d.usd_per_hour, d.latency_ms, d.is_on_front ? 6 : 4, svg_color(color->second), 0.8,
            fmt::format("{} x {}, {}, {}: ${:.2f}/h, {:.4g} ms", d.devices(), d.device, d.engine, layout_of(d),
                        d.usd_per_hour, d.latency_ms));
  }
  return svg.svg();
}

}  // namespace forerun
