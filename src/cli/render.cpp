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

std::string bar(double share, int width) {
  const int full = int(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < full; ++i) text += "█";
  return text + std::string(std::size_t(width - full), ' ');
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

std::string number(double value) {
  return value >= 1000  ? fmt::format("{:.0f}", value)
         : value >= 100 ? fmt::format("{:.1f}", value)
                        : fmt::format("{:.3g}", value);
}

std::string workload_line(const WorkloadInfo& w) {
  std::string line = fmt::format("{} ({}), batch {}", w.name, w.format, w.batch);
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

// The terms of the ten longest kernels.
std::string render_terms(const DeviceResult& result) {
  std::string text = "\nthe longest kernels by cause, in ms (they add up to the kernel's time)\n  ";
  for (const NamedTerm& term : kKernelTerms) text += fmt::format("{:>10}", term.name);
  text += fmt::format("{:>10}  kernel\n", "sum");
  for (std::size_t i = 0; i < std::min<std::size_t>(10, result.breakdown.size()); ++i) {
    const BreakdownRow& row = result.breakdown[i];
    text += "  ";
    for (const NamedTerm& term : kKernelTerms) text += fmt::format("{:>10}", number(row.terms.*term.value / 1e3));
    text += fmt::format("{:>10}  {}\n", number(row.time_ms()), row.kernel);
  }
  return text;
}

std::string shared_notes(const std::vector<const DeviceResult*>& ranked) {
  constexpr std::size_t kMostNotes = 8;
  std::vector<std::string> shared;
  for (const DeviceResult* result : ranked) {
    for (const std::string& warning : result->warnings) {
      if (std::find(shared.begin(), shared.end(), warning) == shared.end() && shared.size() < kMostNotes)
        shared.push_back(warning);
    }
  }
  return "\n" + notes(shared);
}

std::string engine_line(const ServingReport& s) {
  std::string line =
      fmt::format("{} {}, {} device{}", s.engine, s.version, number(s.devices), s.devices > 1 ? "s" : "");
  if (s.max_concurrency > 0)
    line += fmt::format("; KV cache of {} tokens, {} requests of this length at once",
                        human_count(s.kv_capacity_tokens), s.max_concurrency);
  if (s.highest_rate) line += fmt::format("; keeps the limits up to {} requests/s", number(*s.highest_rate));
  return line + (s.saturated ? "; SATURATED\n" : "\n");
}

// One device: every number with its percentiles.
std::string render_serving(const ServingReport& s) {
  std::string text = "\n" + engine_line(s);
  text += fmt::format("  {:<26}{:>10}{:>10}{:>10}{:>10}   90 % interval of the mean\n", "under load", "mean", "p50",
                      "p90", "p99");
  const auto optional = [](const std::optional<double>& value) { return value ? number(*value) : std::string(); };
  for (const ServingMetric& m : s.metrics) {
    text += fmt::format("  {:<26}{:>10}{:>10}{:>10}{:>10}", m.key, number(m.value), optional(m.p50), optional(m.p90),
                        optional(m.p99));
    text += m.high > m.low ? fmt::format("   {} – {}\n", number(m.low), number(m.high)) : "\n";
  }
  return text;
}

// Several devices: what decides between them, the best rate first.
std::string render_serving_table(const std::vector<const DeviceResult*>& ranked) {
  std::string text =
      fmt::format("\n{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}{:>10} {:<5}{:>10}  {}\n", "device", "TTFT ms", "p99",
                  "TPOT ms", "p99", "tokens/s", "per device", "fit at once", "fits", "$/M tokens", "");
  for (const DeviceResult* result : ranked) {
    if (!result->serving) continue;
    const ServingReport& s = *result->serving;
    const auto find = [&](std::string_view key) -> const ServingMetric* {
      for (const ServingMetric& m : s.metrics) {
        if (m.key == key) return &m;
      }
      return nullptr;
    };
    const auto mean = [&](std::string_view key) { return find(key) ? number(find(key)->value) : std::string("-"); };
    const auto p99 = [&](std::string_view key) {
      return find(key) && find(key)->p99 ? number(*find(key)->p99) : std::string("-");
    };
    text += fmt::format("{:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}{:>11} {:<5}{:>10}  {}\n", result->device,
                        mean("ttft_ms"), p99("ttft_ms"), mean("tpot_ms"), p99("tpot_ms"), mean("tokens_per_s"),
                        mean("tokens_per_s_per_device"), s.max_concurrency, result->advice.fits ? "yes" : "no",
                        result->advice.usd_per_million ? number(*result->advice.usd_per_million) : "-",
                        s.saturated ? "saturated" : "");
  }
  return text;
}

// Every runtime of one device, with what bounds it.
std::string render_runtimes(const DeviceResult& result) {
  std::string text;
  for (const RuntimeAnswer& answer : result.runtimes) {
    const Estimate& time = answer.estimates.at(Metric::Latency);
    const std::string host = answer.host_share > 0.005
                                 ? fmt::format(", waits for the host for {:.0f} % of it", 100 * answer.host_share)
                                 : "";
    text += fmt::format("  {:<9}{:>10} ms ({} – {}), {:>8} J, {:>6} W, bound by {}{}\n", name_of(answer.runtime),
                        number(time.value), number(time.low), number(time.high),
                        number(answer.estimates.at(Metric::Energy).value),
                        number(answer.estimates.at(Metric::Power).value), name_of(answer.bound), host);
  }
  return text.empty() ? text : "\nby runtime\n" + text;
}

std::string render_table(const PredictReport& report, bool explain) {
  std::string text = workload_line(report.workload);
  std::vector<const DeviceResult*> ranked;
  for (const DeviceResult& result : report.results) ranked.push_back(&result);
  const auto latency = [](const DeviceResult* result) {
    const Estimate* e = result->estimates.find(Metric::Latency);
    return e != nullptr ? e->value : 1e300;
  };
  std::stable_sort(ranked.begin(), ranked.end(), [&](const auto* a, const auto* b) {
    return std::pair(!a->advice.fits, latency(a)) < std::pair(!b->advice.fits, latency(b));
  });
  const bool is_serving = !ranked.empty() && ranked.front()->serving.has_value();
  if (is_serving && ranked.size() > 1) {
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto* a, const auto* b) {
      const Estimate *x = a->estimates.find(Metric::TokenRate), *y = b->estimates.find(Metric::TokenRate);
      return std::pair(a->advice.fits, x ? x->value : 0) > std::pair(b->advice.fits, y ? y->value : 0);
    });
    return text + render_serving_table(ranked) + shared_notes(ranked);
  }
  double slowest = 0;
  for (const DeviceResult* result : ranked) slowest = std::max(slowest, latency(result) < 1e299 ? latency(result) : 0);
  text += fmt::format("\n{:<18}{:>10}{:>17} {:<10}{:>11}{:>10}{:>9}{:>8} {:<5}{:<10}{:>10}{:>11}  {}\n", "device",
                      report.workload.training ? "step ms" : "ms", "90 % interval", "", "samples/s", "memory", "J", "W",
                      "fits", "MIG", "$/million", "g CO2/mil.", "basis");
  for (const DeviceResult* result : ranked) {
    const Estimate* time = result->estimates.find(Metric::Latency);
    if (time == nullptr) {
      text += fmt::format("{:<18}{:>10}\n", result->device, "-");
      continue;
    }
    const Advice& a = result->advice;
    const Estimate* memory = result->estimates.find(Metric::DeviceMemory);
    const auto known = [&](Metric metric) {  // of phones and boards latency alone is
      const Estimate* estimate = result->estimates.find(metric);
      return estimate != nullptr ? number(estimate->value) : "-";
    };
    text += fmt::format(
        "{:<18}{:>10}{:>17} {}{:>11}{:>10}{:>9}{:>8} {:<5}{:<10}{:>10}{:>11}  {}\n", result->device,
        number(time->value), number(time->low) + " – " + number(time->high),
        bar(slowest > 0 ? time->value / slowest : 0, 10), number(result->estimates.find(Metric::Throughput)->value),
        memory != nullptr ? human_bytes(memory->value * 1048576) : "-", known(Metric::Energy), known(Metric::Power),
        memory == nullptr ? "-"
        : a.fits          ? "yes"
                          : "no",
        a.mig ? a.mig->profile : "-", a.usd_per_million ? number(*a.usd_per_million) : "-",
        a.co2_g_per_million ? number(*a.co2_g_per_million) : "-", time->predictor);
  }
  const DeviceResult* best = ranked.empty() ? nullptr : ranked.front();
  if (ranked.size() == 1) {
    for (const auto& [metric, estimate] : best->estimates) {
      const MetricSpec& spec = spec_of(metric);
      if (spec.scope == MetricScope::Pass && metric != Metric::Memory) continue;  // in the table above
      if (is_serving && spec.scope == MetricScope::Serving && metric != Metric::ServingMemory) continue;  // below
      text += fmt::format("  {:<22}{:>12}  ({} – {}), {}: {}\n", spec.key, number(estimate.value), number(estimate.low),
                          number(estimate.high), estimate.predictor, spec.meaning);
    }
    for (const auto& [metric, value] : best->measured)
      text += fmt::format("  measured {:<13}{:>12}\n", name_of(metric), number(value));
    for (const auto& [key, value] : best->capacity) text += fmt::format("  {:<22}{:>12.0f}\n", key, value);
    const Advice& a = best->advice;
    if (best->serving) text += render_serving(*best->serving);
    text += render_runtimes(*best);
    if (a.mig) text += "  MIG " + a.mig->profile + ": " + a.mig->why + "\n";
    if (a.hours_total) {
      text += fmt::format("  in total {} h, {} kWh{}{}\n", number(*a.hours_total), number(*a.energy_kwh_total),
                          a.usd_total ? ", $" + number(*a.usd_total) : "",
                          a.co2_g_total ? ", " + number(*a.co2_g_total / 1000) + " kg CO2" : "");
    }
    text += "\nwhere the time goes\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(10, best->breakdown.size()); ++i) {
      const BreakdownRow& row = best->breakdown[i];
      text += fmt::format("  {:>9} ms {:>5.1f}%  {:<8}{:>4} × {}\n", number(row.time_ms()),
                          row.time_ms() / std::max(1e-12, latency(best)) * 100, name_of(row.bound()), row.count,
                          row.kernel);
    }
    if (explain) text += render_terms(*best);
    if (!best->explanation.empty()) {
      text += "\nwhat moved the answer\n";
      for (const FeatureEffect& c : best->explanation)
        text += fmt::format("  {:<12} × {:<8.3f} {} = {:.4g}\n", name_of(c.metric), c.contribution.factor,
                            c.contribution.feature, c.contribution.value);
    }
    text += "\n" + notes(best->warnings);
  } else {
    text += shared_notes(ranked);
  }
  const auto dated = std::find_if(report.results.begin(), report.results.end(),
                                  [](const DeviceResult& r) { return r.advice.usd_per_hour.has_value(); });
  if (dated != report.results.end()) {
    text += fmt::format("prices: {} median of {}; carbon: {}\n", dated->advice.price_kind, dated->advice.price_date,
                        dated->advice.region);
  }
  text += report.workload.training ? "ms = one training step (forward, loss, backward, optimiser); memory = what the "
                                     "process occupies on the device\n"
                                   : "ms = one pass over the whole batch, device synchronised; memory = what the "
                                     "process occupies on the device\n";
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
