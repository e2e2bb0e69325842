// `forerun advise` as a table.
#include <fmt/format.h>

#include <algorithm>

#include "cli/render.hpp"
#include "cli/render_parts.hpp"

namespace forerun {
namespace {

constexpr std::size_t kRejectedShown = 8;

// What a person should know before applying it.
const char* risk_text(Risk risk) {
  switch (risk) {
    case Risk::Numerics: return "check the accuracy";
    case Risk::Calibration: return "calibrate, check the accuracy";
    case Risk::Architecture: return "another network: train anew";
    default: return "";
  }
}

std::string command_of(const Change& change) {
  std::string text;
  for (const Setting& setting : change.settings)
    text += " --" + setting.option + (setting.value.empty() ? "" : " " + setting.value);
  for (const std::string& edit : change.edits) text += " [" + edit + "]";
  return text.empty() ? text : text.substr(1);
}

std::string line_of(const Change& change, const std::string& label) {
  const std::string interval = fmt::format("({:.2f} – {:.2f})", change.low, change.high);
  std::string text =
      fmt::format("{:>3} {:>10}  x {:<6.2f} {:<17} {:>3.0f} %  {}\n", label, number(change.after.value), change.factor,
                  interval, change.probability * 100, change.parts.empty() ? change.title : change.parts.front());
  const std::string indent(47, ' ');
  for (std::size_t i = 1; i < change.parts.size(); ++i) text += indent + change.parts[i] + "\n";
  const std::string edge(6, ' ');
  if (!change.why.empty()) text += edge + change.why + "\n";
  const char* risk = risk_text(change.risk);
  return text + edge + command_of(change) + (*risk != '\0' ? std::string("; ") + risk : "") + "\n";
}

}  // namespace

std::string render_table(const AdviseReport& report) {
  std::string text = workload_line(report.workload);
  text +=
      fmt::format("on {}: {} {} {} ({} – {}){}\n", report.device_name, report.label, number(report.before_goal.value),
                  report.unit, number(report.before_goal.low), number(report.before_goal.high),
                  report.before.advice.fits ? "" : "; it does not fit into the device's memory");
  text += "time goes to";
  for (const NamedTerm& term : kKernelTerms) {
    const double share = report.time.total() > 0 ? report.time.*term.value / report.time.total() : 0;
    if (term.value != &KernelTerms::learned) text += fmt::format("  {} {:.0f} %", term.name, share * 100);
  }
  text += "\n\n";
  if (report.proposals.empty()) text += fmt::format("no change improves {}\n", report.label);
  if (!report.proposals.empty()) {
    text += fmt::format("{:>3} {:>10}  {:<8} {:<15} {:>7}  {}\n", "", report.unit, "gain", "90 % interval", "sure",
                        "change");
  }
  for (std::size_t i = 0; i < report.proposals.size(); ++i)
    text += line_of(report.proposals[i], fmt::format("{}", i + 1));
  if (!report.together.empty()) text += "\ntogether\n";
  for (std::size_t i = 0; i < report.together.size(); ++i)
    text += line_of(report.together[i], std::string(1, char('A' + i)));
  if (!report.rejected.empty()) text += "\nestimated and not proposed\n";
  for (std::size_t i = 0; i < std::min(kRejectedShown, report.rejected.size()); ++i)
    text += fmt::format("  {}: {}\n", report.rejected[i].title, report.rejected[i].reason);
  if (report.rejected.size() > kRejectedShown)
    text += fmt::format("  and {} more (--json lists them)\n", report.rejected.size() - kRejectedShown);
  text += fmt::format(
      "\n{} workloads were estimated. A gain's interval takes the errors before and after as independent, "
      "so it is wide rather than narrow.\n",
      report.estimated);
  return text + notes(report.warnings);
}

}  // namespace forerun
