// Real serving runs (AIConfigurator's collection, Argonne's static batches) asked of the service as a user would ask
// them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evaluation/roofline/error_table.hpp"
#include "evaluation/roofline/roofline_report.hpp"
#include "evaluation/serving/serving_rows.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

// How often measurements lie inside the intervals.
struct Coverage {
  std::size_t inside = 0, all = 0;
  void add(const Estimate& estimate, double measured) {
    inside += estimate.low <= measured && measured <= estimate.high;
    ++all;
  }
  [[nodiscard]] double percent() const { return all == 0 ? 0 : 100.0 * double(inside) / double(all); }
};

std::string load_of(std::int64_t concurrency) {
  return concurrency <= 4 ? "1–4" : concurrency <= 32 ? "5–32" : concurrency <= 128 ? "33–128" : "above 128";
}

}  // namespace

Result<ReportSection> report_serving(const RooflineStudy& study, const RooflineProgress& progress) {
  ReportSection section;
  section.id = "serving";
  section.heading = "Language models: serving runs";
  ErrorTable summary({"engine", "deployment", "metric"}),
      by_network({"engine", "network", "device", "precision", "metric"}),
      by_load({"engine", "deployment", "concurrency", "metric"}), batches({"engine", "device", "metric"});
  FORERUN_TRY(const ServingRows aic, read_aic_runs(study.options.public_data));
  FORERUN_TRY(const ServingRows argonne, read_argonne_runs(study.options.public_data));
  FORERUN_TRY(const std::unique_ptr<Service> service, Service::create());
  std::map<std::string, std::size_t> skipped = aic.skipped;
  Coverage ttft_coverage, tpot_coverage;
  std::size_t done = 0, answered = 0;
  const auto ask = [&](const ServingRow& row) -> std::optional<DeviceResult> {
    if (++done % 250 == 0) progress(fmt::format("serving: {} runs", done));
    auto report = service->predict(row.request);
    if (report && report->results.front().estimates.contains(Metric::Tpot)) return std::move(report->results.front());
    ++skipped[report ? "does not fit, by the estimate" : report.error().message];
    return std::nullopt;
  };
  for (const ServingRow& row : aic.rows) {
    const auto result = ask(row);
    if (!result) continue;
    ++answered;
    const std::string deployment = row.mode == "disagg" ? "disaggregated" : "one kind of instance";
    const auto compare = [&](Metric metric, double measured, Coverage& coverage) {
      const Estimate* found = result->estimates.find(metric);
      if (found == nullptr || measured <= 0) return;
      const std::string name(name_of(metric));
      summary.add({row.engine, deployment, name}, found->value, measured);
      by_network.add({row.engine, row.network, row.device, row.precision, name}, found->value, measured);
      by_load.add({row.engine, deployment, load_of(row.concurrency), name}, found->value, measured);
      coverage.add(*found, measured);
    };
    compare(Metric::Ttft, row.ttft_ms, ttft_coverage);
    compare(Metric::Tpot, row.tpot_ms, tpot_coverage);
  }
  for (const ServingRow& row : argonne.rows) {
    const auto result = ask(row);
    if (!result) continue;
    const Estimate* found = result->estimates.find(Metric::RequestLatency);
    if (found != nullptr) batches.add({row.engine, row.device, "request_latency_ms"}, found->value, row.latency_ms);
  }
  section.text = fmt::format(
      "Runs of vLLM, SGLang and TensorRT-LLM (AIConfigurator, Apache-2.0), asked as `forerun predict NETWORK --engine "
      "… "
      "--tensor-parallel … --input-tokens … --output-tokens … --concurrency …`: {} of {} rows are answered. Constants "
      "of "
      "each engine were set on a part of its own rows (`data/engines/`), so these are no held-out errors. The 90 % "
      "intervals hold {:.0f} % of the times to first token and {:.0f} % of the times per output token. Static batches "
      "run to their end (Argonne, BSD-3-Clause) were not used to set anything.",
      answered, aic.all, ttft_coverage.percent(), tpot_coverage.percent());
  if (!skipped.empty()) {
    section.text += " Not compared:";
    for (const auto& [why, rows] : skipped) section.text += fmt::format(" {} ({} rows);", why, rows);
    section.text.back() = '.';
  }
  section.tables.push_back(summary.table("By engine and deployment"));
  section.tables.push_back(by_load.table("By engine and requests in flight"));
  section.tables.push_back(by_network.table("By network, device and precision"));
  section.tables.push_back(batches.table("Static batches, by engine and device"));
  return section;
}

}  // namespace forerun
