// `forerun plan` as a table.
#include <fmt/format.h>

#include "cli/render.hpp"

namespace forerun {

std::string render_table(const LayoutReport& report) {
  std::string text = fmt::format("{} {}{}, {} node{}: {} layouts, {} fit\n\n", report.devices, report.device,
                                 report.system.empty() ? "" : " (" + report.system + ")", report.nodes,
                                 report.nodes == 1 ? "" : "s", report.considered, report.fitting);
  text += fmt::format("{:>6}{:>9}{:>8}{:>6}{:>7}{:>5}{:>7}{:>7} {:<10}{:>10}{:>10}{:>12}{:>7}{:>9}{:>11}\n", "tensor",
                      "pipeline", "context", "data", "expert", "zero", "micro", "passes", "recompute", "memory",
                      "step ms", "samples/s", "MFU", "$/h", "$/million");
  for (const PlannedLayout& p : report.best) {
    const Parallelism& l = p.layout.degrees;
    const StepOptions& s = p.layout.step;
    text += fmt::format("{:>6}{:>9}{:>8}{:>6}{:>7}{:>5}{:>7}{:>7} {:<10}{:>10}{:>10.4g}{:>12.4g}{:>6.1f}%{:>9}{:>11}\n",
                        l.tensor, l.pipeline, l.context, l.data, l.expert, s.zero, s.micro_batch, s.micro_batches,
                        name_of(s.checkpointing), human_bytes(p.memory_mb * 1048576), p.step_ms, p.samples_per_s,
                        p.mfu * 100, p.usd_per_hour ? fmt::format("{:.2f}", *p.usd_per_hour) : "-",
                        p.usd_per_million ? fmt::format("{:.4g}", *p.usd_per_million) : "-");
  }
  if (report.best.empty()) text += "  none fits\n";
  if (!report.problems.empty()) text += "\nwhy others do not\n";
  for (const LayoutProblem& problem : report.problems)
    text += fmt::format("  {:>7} layouts: {}\n", problem.layouts, problem.why);
  text += "\n";
  for (const std::string& warning : report.warnings) text += "note: " + warning + "\n";
  return text;
}

}  // namespace forerun
