// The answer of `forerun predict` for people: verdict, table, then what belongs to one device.
#include <fmt/format.h>

#include <algorithm>

#include "cli/render.hpp"
#include "cli/render_parts.hpp"
#include "cli/text_table.hpp"
#include "records/trust.hpp"

namespace forerun {
namespace {

using Ranked = std::vector<const DeviceResult*>;

std::string optional(const std::optional<double>& value) { return value ? number(*value) : "-"; }

std::string number_of(const Estimates& estimates, Metric metric) {
  const Estimate* found = estimates.find(metric);
  return found == nullptr ? "-" : number(found->value);
}

std::string value_of(const DeviceResult& result, Metric metric) { return number_of(result.estimates, metric); }

std::string interval_of(const DeviceResult& result, Metric metric) {
  const Estimate* found = result.estimates.find(metric);
  return found == nullptr ? "-" : number(found->low) + " – " + number(found->high);
}

std::string memory_of(const DeviceResult& result, Metric metric) {
  const Estimate* found = result.estimates.find(metric);
  return found == nullptr ? "-" : human_bytes(found->value * 1048576);
}

bool holds(const DeviceResult& r) { return r.limits ? r.limits->holds() : r.advice.fits; }

std::string holds_cell(const DeviceResult& result, const View& view) {
  if (!result.limits && !result.estimates.contains(Metric::DeviceMemory)) return "-";  // of phones and boards
  return coloured(view, holds(result) ? Colour::Good : Colour::Bad, holds(result) ? "yes" : "no");
}

// Why not, and what would help.
std::string why_cell(const DeviceResult& result) {
  if (!result.limits || result.limits->holds()) return "";
  std::string text = result.limits->misses.front().reason;
  for (const Remedy& remedy : result.limits->remedies) text += "; " + remedy.text;
  return text;
}

std::string sure_cell(const DeviceResult& result) {
  return result.limits ? fmt::format("{:.0f} %", 100 * std::clamp(result.limits->probability, 0.01, 0.99)) : "";
}

std::string trust_cell(const DeviceResult& result, Metric metric) {
  const Estimate* found = result.estimates.find(metric);
  return found == nullptr ? "-" : std::string(trust_of(*found, result.was_measured));
}

// Columns leave a narrow terminal in the order of the second number, the highest first.
Result<std::string> pass_table(const PredictReport& report, const Ranked& ranked, const View& view) {
  TextTable table({{"device", "device", 0, true},
                   {"latency_ms", report.workload.training ? "step ms" : "ms", 0},
                   {"interval", "90 % interval", 2},
                   {"bar", "", 13, true},
                   {"throughput_per_s", "samples/s", 4},
                   {"device_memory_mb", "memory", 7},
                   {"energy_j", "J", 9},
                   {"power_w", "W", 10},
                   {"holds", report.limited ? "holds" : "fits", 1, true},
                   {"sure", "sure", 8},
                   {"mig", "MIG", 11, true},
                   {"usd_per_hour", "$/h", 3},
                   {"usd_per_million", "$/million", 6},
                   {"co2_g_per_million", "g CO2/mil.", 12},
                   {"hours_total", "h in total", 3},
                   {"usd_total", "$ in total", 3},
                   {"trust", "rests on", 5, true}});
  FORERUN_CHECK(table.check(view.columns));
  double slowest = 0;
  for (const DeviceResult* result : ranked) {
    if (const Estimate* time = result->estimates.find(Metric::Latency)) slowest = std::max(slowest, time->value);
  }
  for (const DeviceResult* result : ranked) {
    const Advice& a = result->advice;
    const Estimate* time = result->estimates.find(Metric::Latency);
    if (time == nullptr) {
      table.add({result->device, "-"});
      continue;
    }
    table.add({result->device, number(time->value), interval_of(*result, Metric::Latency),
               ranked.size() > 1 ? bar(slowest > 0 ? time->value / slowest : 0, 10) : "",
               value_of(*result, Metric::Throughput), memory_of(*result, Metric::DeviceMemory),
               value_of(*result, Metric::Energy), value_of(*result, Metric::Power), holds_cell(*result, view),
               report.limited ? sure_cell(*result) : "", a.mig ? a.mig->profile : "", optional(a.usd_per_hour),
               optional(a.usd_per_million), optional(a.co2_g_per_million), a.hours_total ? number(*a.hours_total) : "",
               a.usd_total ? number(*a.usd_total) : "", trust_cell(*result, Metric::Latency)});
  }
  return table.render(view);
}

const ServingMetric* serving_metric(const DeviceResult& result, std::string_view key) {
  if (!result.serving) return nullptr;
  for (const ServingMetric& m : result.serving->metrics) {
    if (m.key == key) return &m;
  }
  return nullptr;
}

// What decides between devices that serve.
Result<std::string> serving_table(const PredictReport& report, const Ranked& ranked, const View& view) {
  TextTable table({{"device", "device", 0, true},
                   {"ttft_ms", "TTFT ms", 1},
                   {"ttft_p90", "p90", 5},
                   {"ttft_p99", "p99", 9},
                   {"tpot_ms", "TPOT ms", 1},
                   {"tpot_p90", "p90", 6},
                   {"tpot_p99", "p99", 10},
                   {"tokens_per_s", "tokens/s", 2},
                   {"interval", "90 % interval", 8},
                   {"tokens_per_s_per_device", "per device", 11},
                   {"max_concurrency", "at once", 7},
                   {"serving_memory_mb", "memory", 12},
                   {"holds", report.limited ? "holds" : "fits", 0, true},
                   {"sure", "sure", 4},
                   {"usd_per_hour", "$/h", 3},
                   {"usd_per_million", "$/M tokens", 4},
                   {"trust", "rests on", 13, true},
                   {"note", "", 3, true}});
  FORERUN_CHECK(table.check(view.columns));
  for (const DeviceResult* result : ranked) {
    if (!result->serving) {
      table.add({result->device, "-"});
      continue;
    }
    const auto mean = [&](std::string_view key) {
      const ServingMetric* m = serving_metric(*result, key);
      return m != nullptr ? number(m->value) : "-";
    };
    const auto tail = [&](std::string_view key, std::optional<double> ServingMetric::*p) {
      const ServingMetric* m = serving_metric(*result, key);
      return m != nullptr && m->*p ? number(*(m->*p)) : "-";
    };
    const Advice& a = result->advice;
    table.add({result->device, mean("ttft_ms"), tail("ttft_ms", &ServingMetric::p90),
               tail("ttft_ms", &ServingMetric::p99), mean("tpot_ms"), tail("tpot_ms", &ServingMetric::p90),
               tail("tpot_ms", &ServingMetric::p99), mean("tokens_per_s"), interval_of(*result, Metric::TokenRate),
               mean("tokens_per_s_per_device"), fmt::format("{}", result->serving->max_concurrency),
               memory_of(*result, Metric::ServingMemory), holds_cell(*result, view),
               report.limited ? sure_cell(*result) : "", optional(a.usd_per_hour), optional(a.usd_per_million),
               trust_cell(*result, Metric::TokenRate), result->serving->saturated ? "saturated" : ""});
  }
  return table.render(view);
}

// Devices that miss something, with the reason and the nearest change that helps.
std::string misses(const Ranked& ranked, const View& view) {
  constexpr std::size_t kShown = 12;
  std::string text;
  std::size_t count = 0;
  for (const DeviceResult* result : ranked) {
    const std::string why = why_cell(*result);
    if (why.empty() || ++count > kShown) continue;
    text += "  " + coloured(view, Colour::Bad, result->device) + ": " + why + "\n";
  }
  if (count > kShown) text += fmt::format("  … and {} more (--json lists them)\n", count - kShown);
  return text.empty() ? text : "\nwhy not, and what would help\n" + text;
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
std::string render_serving(const ServingReport& s, const View& view) {
  TextTable table({{"metric", "  under load", 0, true},
                   {"mean", "mean", 0},
                   {"p50", "p50", 3},
                   {"p90", "p90", 1},
                   {"p99", "p99", 2},
                   {"interval", "90 % interval of the mean", 4, true}});
  const auto cell = [](const std::optional<double>& value) { return value ? number(*value) : std::string(); };
  for (const ServingMetric& m : s.metrics) {
    table.add({"  " + std::string(m.key), number(m.value), cell(m.p50), cell(m.p90), cell(m.p99),
               m.high > m.low ? number(m.low) + " – " + number(m.high) : ""});
  }
  View all = view;
  all.columns.clear();
  return "\n" + engine_line(s) + (s.metrics.empty() ? "" : table.render(all));
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
                        number_of(answer.estimates, Metric::Energy), number_of(answer.estimates, Metric::Power),
                        name_of(answer.bound), host);
  }
  return text.empty() ? text : "\nby runtime\n" + text;
}

std::string render_numbers(const DeviceResult& result) {
  std::string text;
  for (const auto& [metric, estimate] : result.estimates) {
    const MetricSpec& spec = spec_of(metric);
    if (spec.scope == MetricScope::Pass && metric != Metric::Memory) continue;  // in the table above
    if (result.serving && spec.scope == MetricScope::Serving && metric != Metric::ServingMemory) continue;  // below
    text += fmt::format("  {:<22}{:>12}  ({} – {}), {}: {}\n", spec.key, number(estimate.value), number(estimate.low),
                        number(estimate.high), trust_of(estimate, result.was_measured), spec.meaning);
  }
  for (const auto& [metric, value] : result.measured)
    text += fmt::format("  measured {:<13}{:>12}\n", name_of(metric), number(value));
  for (const auto& [key, value] : result.capacity) text += fmt::format("  {:<22}{:>12.0f}\n", key, value);
  return text;
}

std::string render_advice(const Advice& a) {
  std::string text;
  if (a.mig) text += "  MIG " + a.mig->profile + ": " + a.mig->why + "\n";
  if (a.epoch_s) text += fmt::format("  an epoch of {} steps takes {} s\n", number(*a.epoch_steps), number(*a.epoch_s));
  if (a.hours_total) {
    text += fmt::format("  in total {} h, {} kWh{}{}\n", number(*a.hours_total), number(*a.energy_kwh_total),
                        a.usd_total ? ", $" + number(*a.usd_total) : "",
                        a.co2_g_total ? ", " + number(*a.co2_g_total / 1000) + " kg CO2" : "");
  }
  return text;
}

// The longest kernels.
std::string render_breakdown(const DeviceResult& result) {
  constexpr std::size_t kShown = 10;
  const Estimate* latency = result.estimates.find(Metric::Latency);
  if (latency == nullptr) return "";
  std::string text = "\nwhere the time goes\n";
  for (std::size_t i = 0; i < std::min(kShown, result.breakdown.size()); ++i) {
    const BreakdownRow& row = result.breakdown[i];
    text +=
        fmt::format("  {:>9} ms {:>5.1f}%  {:<8}{:>4} × {}\n", number(row.time_ms()),
                    row.time_ms() / std::max(1e-12, latency->value) * 100, name_of(row.bound()), row.count, row.kernel);
  }
  return text;
}

// The terms of the ten longest kernels, and the features that moved the answer.
std::string render_explanation(const DeviceResult& result) {
  std::string text = "\nthe longest kernels by cause, in ms (they add up to the kernel's time)\n  ";
  for (const NamedTerm& term : kKernelTerms) text += fmt::format("{:>10}", term.name);
  text += fmt::format("{:>10}  kernel\n", "sum");
  for (std::size_t i = 0; i < std::min<std::size_t>(10, result.breakdown.size()); ++i) {
    const BreakdownRow& row = result.breakdown[i];
    text += "  ";
    for (const NamedTerm& term : kKernelTerms) text += fmt::format("{:>10}", number(row.terms.*term.value / 1e3));
    text += fmt::format("{:>10}  {}\n", number(row.time_ms()), row.kernel);
  }
  if (result.explanation.empty()) return text;
  text += "\nwhat moved the answer\n";
  for (const FeatureEffect& c : result.explanation)
    text += fmt::format("  {:<12} × {:<8.3f} {} = {:.4g}\n", name_of(c.metric), c.contribution.factor,
                        c.contribution.feature, c.contribution.value);
  return text;
}

std::string footer(const PredictReport& report, const View& view) {
  std::string text;
  const auto dated = std::find_if(report.results.begin(), report.results.end(),
                                  [](const DeviceResult& r) { return r.advice.usd_per_hour.has_value(); });
  if (dated != report.results.end()) {
    text += fmt::format("prices: {} median of {}; carbon: {}\n", dated->advice.price_kind, dated->advice.price_date,
                        dated->advice.region);
  }
  const bool serves = !report.results.empty() && report.results.front().serving;
  text +=
      serves ? "TTFT = time to first token, TPOT = time per next token, both under this load (--users, --input-tokens, "
               "--output-tokens); --phase asks about one pass\n"
      : report.workload.training ? "ms = one training step (forward, loss, backward, optimiser); memory = what the "
                                   "process occupies on the device\n"
                                 : "ms = one pass over the whole batch, device synchronised; memory = what the "
                                   "process occupies on the device\n";
  return wrapped(view, coloured(view, Colour::Dim, text.substr(0, text.size() - 1))) + "\n";
}

// A serving question: the network and its load.
std::string load_line(const PredictReport& report) {
  const WorkloadInfo& w = report.workload;
  const Load& load = *report.load;
  std::string engine;
  for (const DeviceResult& result : report.results) {
    if (result.serving) engine = result.serving->engine + " " + result.serving->version;
  }
  std::string text = fmt::format("{} ({}), {} parameters, {}, {}: ", w.title, w.format,
                                 human_count(double(w.parameters)), name_of(w.precision), engine);
  if (!load.trace.empty()) return text + fmt::format("a trace of {} requests\n", load.trace.size());
  text += load.requests_per_s
              ? number(*load.requests_per_s) + " requests a second"
              : fmt::format("{} request{} at once", *load.concurrency, *load.concurrency > 1 ? "s" : "");
  return text + fmt::format(" of {:g} prompt and {:g} output tokens\n", load.input.mean, load.output.mean);
}

}  // namespace

Result<std::string> render_table(const PredictReport& report, const View& view) {
  std::string text = wrapped(view, report.load ? load_line(report) : workload_line(report.workload));
  if (report.verdict) text += "\n" + wrapped(view, coloured(view, Colour::Strong, report.verdict->text)) + "\n";
  Ranked ranked;
  const bool as_asked = report.is_sorted;
  for (const std::size_t place : rank_results(report, ""))
    ranked.push_back(&report.results[as_asked ? ranked.size() : place]);
  const bool serves = std::any_of(ranked.begin(), ranked.end(), [](const auto* r) { return r->serving.has_value(); });
  FORERUN_TRY(const std::string table, serves ? serving_table(report, ranked, view) : pass_table(report, ranked, view));
  text += "\n" + (ranked.empty() ? "no device is left to show\n" : table);
  std::string rest = misses(ranked, view);
  if (ranked.size() == 1) {
    const DeviceResult& one = *ranked.front();
    rest += render_numbers(one);
    if (one.serving) rest += render_serving(*one.serving, view);
    rest += render_runtimes(one) + render_advice(one.advice) + (one.utilisation ? use_line(*one.utilisation) : "") +
            vendor_table(one.advice.vendors) + render_breakdown(one);
    if (view.explain) rest += render_explanation(one);
  }
  const std::string notes = merged_notes(ranked);
  return text + wrapped(view, rest + (notes.empty() ? "" : "\n" + notes)) + footer(report, view);
}

}  // namespace forerun
