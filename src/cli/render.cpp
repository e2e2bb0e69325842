#include "cli/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/render_parts.hpp"
#include "devices/ceilings.hpp"

namespace forerun {
namespace {

std::string with_unit(double value, double step, std::initializer_list<const char*> units) {
  const char* unit = "";
  for (const char* next : units) {
    unit = next;
    if (std::abs(value) < step || next == *(units.end() - 1)) break;
    value /= step;
  }
  return fmt::format("{:.{}f}{}", value, *unit == 0 || value >= 100 ? (*unit == 0 ? 0 : 1) : 2,
                     *unit == 0 ? "" : std::string(" ") + unit);
}

std::string shape_text(const TensorInfo& tensor) {
  if (!tensor.shape_known) return "?";
  return fmt::format("{}[{}]", tensor.is_bound ? "at most " : "", fmt::join(tensor.shape, ", "));
}

std::string shorten(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : "…" + text.substr(text.size() - width + 1);
}

}  // namespace

std::string notes(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += "note: " + warning + "\n";
  return text;
}

std::string bar(double share, int width) {
  const int full = int(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < full; ++i) text += "█";
  return text + std::string(std::size_t(width - full), ' ');
}

std::string number(double value) {
  return value >= 1000  ? fmt::format("{:.0f}", value)
         : value >= 100 ? fmt::format("{:.1f}", value)
                        : fmt::format("{:.3g}", value);
}

std::string workload_line(const WorkloadInfo& w) {
  std::string line = fmt::format("{} ({}), batch {}", w.title.empty() ? w.name : w.title, w.format, w.batch);
  if (w.sequence) line += fmt::format(", sequence {}", *w.sequence);
  line += fmt::format(", {}, {}", name_of(w.precision), name_of(w.runtime));
  if (w.phase != Phase::Forward) line += fmt::format(", {}", name_of(w.phase));
  if (w.training) line += fmt::format(", training step ({})", name_of(w.optimizer));
  return line +
         fmt::format("; {} parameters, {}MACs\n", human_count(double(w.parameters)), human_count(double(w.macs)));
}

std::string human_count(double value) { return with_unit(value, 1000, {"", "K", "M", "G", "T", "P"}); }
std::string human_bytes(double bytes) { return with_unit(bytes, 1024, {"B", "KB", "MB", "GB", "TB"}); }

std::string render_table(const InspectReport& report) {
  const Totals& t = report.totals;
  std::string text = fmt::format("{} ({})\n", report.name, report.format);
  for (const TensorInfo& input : report.inputs)
    text += fmt::format("  in   {} {} {}\n", input.name, input.dtype, shape_text(input));
  for (const TensorInfo& output : report.outputs)
    text += fmt::format("  out  {} {} {}\n", output.name, output.dtype, shape_text(output));
  text += fmt::format(
      "{} nodes, {} edges; {} parameters ({}); {}MACs, {}FLOPs; moves {}; peak activations {}; coverage {:.1f} %\n\n",
      t.nodes, t.edges, human_count(double(t.parameters)), human_bytes(double(t.weight_bytes)),
      human_count(double(t.macs)), human_count(double(t.flops)), human_bytes(double(t.bytes_moved)),
      human_bytes(double(t.activation_peak_bytes)), t.coverage * 100);
  text += fmt::format("{:<24}{:>7}{:>12}{:>8}{:>12}{:>12}  {}\n", "operator", "count", "FLOPs", "share", "parameters",
                      "moved", "");
  std::vector<std::pair<std::string, OperatorTotals>> rows(t.operators.begin(), t.operators.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.flops, a.second.bytes_moved) > std::pair(b.second.flops, b.second.bytes_moved);
  });
  for (const auto& [name, row] : rows) {
    const double share = t.flops > 0 ? double(row.flops) / double(t.flops) : 0;
    text += fmt::format("{:<24}{:>7}{:>12}{:>7.1f}%{:>12}{:>12}  {}\n", shorten(name, 23), row.count,
                        human_count(double(row.flops)), share * 100, human_count(double(row.parameters)),
                        human_bytes(double(row.bytes_moved)), bar(share, 16));
  }
  text += "\nlargest nodes\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(10, report.largest.size()); ++i) {
    const NodeInfo& node = report.largest[i];
    const double share = t.flops > 0 ? double(node.flops) / double(t.flops) : 0;
    text += fmt::format("  {:<16}{:>12}{:>7.1f}%  {}\n", node.op_type, human_count(double(node.flops)), share * 100,
                        shorten(node.name, 60));
  }
  return text + (report.warnings.empty() ? "" : "\n" + notes(report.warnings));
}

std::string render_table(const NodesReport& report) {
  std::string text = fmt::format("{} ({}), {} nodes\n", report.name, report.format, report.nodes.size());
  text += fmt::format("{:<40}{:<24}{:>20}{:>12}{:>12}{:>12}{:>12}  {}\n", "name", "operator", "output", "MACs", "FLOPs",
                      "moved", "parameters", "inputs");
  for (const NodeRow& row : report.nodes) {
    const auto cost = [&row](std::string known) { return row.cost_known ? std::move(known) : std::string("?"); };
    std::string inputs;
    for (const TensorInfo& input : row.inputs) inputs += (inputs.empty() ? "" : ", ") + shape_text(input);
    text += fmt::format("{:<40}{:<24}{:>20}{:>12}{:>12}{:>12}{:>12}  {}\n", shorten(row.name, 39),
                        shorten(row.op_type, 23), row.outputs.empty() ? "" : shape_text(row.outputs[0]),
                        cost(human_count(double(row.macs))), cost(human_count(double(row.flops))),
                        cost(human_bytes(double(row.bytes_moved))), human_count(double(row.parameters)), inputs);
  }
  return text + (report.warnings.empty() ? "" : "\n" + notes(report.warnings));
}

std::string render_summary(const InspectReport& report) {
  const Totals& t = report.totals;
  std::string text = fmt::format(
      "The network {} has {} nodes and {} edges. At batch {} one pass takes {:.3f} GFLOPs ({:.3f} GMACs); it has "
      "{:.3f} million parameters.\n",
      report.name, t.nodes, t.edges, report.batch, double(t.flops) / 1e9, double(t.macs) / 1e9,
      double(t.parameters) / 1e6);
  std::vector<std::pair<std::string, OperatorTotals>> rows(t.operators.begin(), t.operators.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.flops, a.second.count) > std::pair(b.second.flops, b.second.count);
  });
  for (const auto& [name, row] : rows) {
    text += fmt::format("{} {}: {:.6g} MFLOPs, {:.6g} MMACs, {} parameters.\n", row.count, name,
                        double(row.flops) / 1e6, double(row.macs) / 1e6, row.parameters);
  }
  for (const std::string& warning : report.warnings) text += "Note: " + warning + ".\n";
  return text;
}

std::string render_table(const MigReport& report) {
  std::string text = workload_line(report.workload);
  text += report.advice ? fmt::format("{}: {} ({})\n\n", report.device, report.advice->profile, report.advice->why)
                        : fmt::format("{}: no slice holds it\n\n", report.device);
  text += fmt::format("{:<12}{:>6}{:>10}{:>10}{:>12}{:>12}{:>14}\n", "profile", "fits", "memory", "SMs", "ms", "per s",
                      "card, per s");
  for (const SliceEstimate& s : report.slices) {
    text += fmt::format("{:<12}{:>6}{:>10}{:>10}{:>12}{:>12}{:>10} ×{:<2}\n", s.profile.profile, s.fits ? "yes" : "no",
                        human_bytes(s.profile.memory_gib * 1073741824.0), s.profile.sm_count, number(s.latency_ms),
                        number(s.throughput_per_s), number(s.total_throughput_per_s), s.profile.instances);
  }
  if (report.utilisation) text += "\n" + use_line(*report.utilisation);
  for (const std::string& command : report.advice ? mig_commands(*report.advice) : std::vector<std::string>())
    text += "  " + command + "\n";
  return text + "\n" + notes(report.warnings);
}

std::string render_device(const Device& d) {
  std::string text = fmt::format("{}  {}\n", d.id, d.name);
  const auto line = [&text](const char* what, const std::string& value) {
    text += fmt::format("  {:<22}{}\n", what, value);
  };
  line("maker, architecture", d.maker + ", " + d.architecture);
  line("multiprocessors", std::to_string(d.sm_count));
  if (d.clock_boost_mhz) line("boost clock", fmt::format("{:.0f} MHz", *d.clock_boost_mhz));
  for (const auto& [name, rate] : d.peak_tflops) line(("peak " + name).c_str(), fmt::format("{:g} TFLOP/s", rate));
  line("memory", fmt::format("{:g} GiB, {:g} GB/s", d.memory_gib, d.memory_bandwidth_gb_per_s));
  if (d.l2_mib) line("L2", fmt::format("{:g} MiB", *d.l2_mib));
  line("power limit", fmt::format("{:g} W", d.power_limit_w));
  if (d.interconnect.gb_per_s)
    line("interconnect", fmt::format("{} {:g} GB/s", d.interconnect.kind, *d.interconnect.gb_per_s));
  if (d.measured) {
    for (const auto& [name, rate] : d.measured->peak_tflops)
      line(("measured " + name).c_str(), fmt::format("{:.4g} TFLOP/s", rate));
  }
  for (const BandwidthCeiling& c : bandwidth_ceilings(d)) {
    if (c.basis == CeilingBasis::DataSheet) continue;
    line(fmt::format("{} rate", c.level).c_str(), fmt::format("{:.0f} GB/s ({})", c.gb_per_s, name_of(c.basis)));
  }
  for (const MigProfile& p : d.mig) {
    line("MIG", fmt::format("{}: {} of {} SMs, {:g} GiB, up to {}", p.profile, p.sm_count, d.sm_count, p.memory_gib,
                            p.instances));
  }
  for (const auto& [what, source] : d.sources) line(("source, " + what).c_str(), source);
  return text;
}

}  // namespace forerun
