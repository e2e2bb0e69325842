#include "predictors/compiled/compiled_pass.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "predictors/roofline/roofline_predictor.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

// 90 % half widths (log scale) of the ratio compiled / replay on devices where no compiled network was measured.
constexpr double kUnmeasuredRatio = 0.35;
constexpr double kUnmeasuredMemory = 0.25;
constexpr double kUnmeasuredPower = 0.25;

double unmeasured_width(Metric metric) {
  return metric == Metric::Latency ? kUnmeasuredRatio : metric == Metric::Memory ? kUnmeasuredMemory : kUnmeasuredPower;
}

double log_width(const Estimate& estimate) {
  return estimate.low > 0 && estimate.high > estimate.low ? std::log(estimate.high / estimate.low) / 2 : 0;
}

Estimate around(double value, double half_width, Basis basis) {
  return {value, value * std::exp(-half_width), value * std::exp(half_width), basis, kCompiledName};
}

Estimate estimate_of(const CompiledInput& input, Metric metric, const CompiledFactors* learned,
                     const std::vector<float>& facts) {
  const Estimate& replay = input.answer.at(metric);
  const double base = compiled_base(input, metric);
  const RunKind kind = run_kind_of(input.compiled.graph, input.compiled.workload);
  const CompiledFactors::Factor* factor =
      learned != nullptr && learned->knows(input.compiled) ? learned->find(metric) : nullptr;
  if (factor == nullptr || factor->half_width[std::size_t(kind)] <= 0) {
    const double half = std::hypot(log_width(replay), unmeasured_width(metric));
    return around(base, half, replay.basis);
  }
  const double value = base * std::exp(double(factor->trees.predict(facts)));
  return around(value, factor->half_width[std::size_t(kind)], Basis::Learned);
}

}  // namespace

Result<CompiledFactors> CompiledFactors::load(const Bundle& bundle) {
  FORERUN_CHECK(bundle.check_schema(compiled_schema()));
  CompiledFactors factors;
  FORERUN_TRY(const std::string_view text, bundle.part("compiled"));
  try {
    const Json json = Json::parse(text);
    factors.devices_ = json.at("devices").get<std::vector<std::string>>();
    for (std::size_t m = 0; m < kCompiledMetrics.size(); ++m) {
      const std::string name(name_of(kCompiledMetrics[m]));
      const auto entry = json.at("half_widths").find(name);
      if (entry == json.at("half_widths").end()) continue;
      FORERUN_TRY(factors.factors_[m].trees, Forest::from_bundle(bundle, name, compiled_fact_names().size()));
      for (std::size_t k = 0; k < std::size_t(RunKind::Count); ++k) {
        const double width = entry->value(std::string(name_of(RunKind(k))), 0.0);
        if (!std::isfinite(width) || width < 0) return bad_input(bundle.file_name() + ": half width of " + name);
        factors.factors_[m].half_width[k] = width;
      }
    }
  } catch (const Json::exception& error) {
    return bad_input(bundle.file_name() + ": part compiled: " + error.what());
  }
  return factors;
}

bool CompiledFactors::knows(const PredictorInput& input) const {
  return std::find(devices_.begin(), devices_.end(), input.device.id) != devices_.end();
}

const CompiledFactors::Factor* CompiledFactors::find(Metric metric) const {
  const auto found = std::find(kCompiledMetrics.begin(), kCompiledMetrics.end(), metric);
  if (found == kCompiledMetrics.end()) return nullptr;
  const Factor& factor = factors_[std::size_t(found - kCompiledMetrics.begin())];
  return factor.trees.trees() > 0 ? &factor : nullptr;
}

Answer compiled_answer(const CompiledInput& input, const CompiledFactors* learned) {
  Answer answer = analytic_answer(input.compiled);
  const std::vector<float> facts = compiled_facts(input);
  for (const Metric metric : kCompiledMetrics) {
    if (input.answer.contains(metric)) answer.estimates.set(metric, estimate_of(input, metric, learned, facts));
  }
  const Estimate latency = answer.estimates.at(Metric::Latency), power = answer.estimates.at(Metric::Power);
  answer.estimates.set(Metric::Energy, around(latency.value / 1e3 * power.value,
                                              std::hypot(log_width(latency), log_width(power)), power.basis));
  // What the process holds beside the allocator is the same.
  const Estimate &memory = answer.estimates.at(Metric::Memory), &before = input.answer.at(Metric::Memory);
  const Estimate& process = input.answer.at(Metric::DeviceMemory);
  const double held = std::max(memory.value, process.value + memory.value - before.value);
  answer.estimates.set(Metric::DeviceMemory,
                       around(held, std::hypot(log_width(process), log_width(memory)), memory.basis));
  if (learned == nullptr || !learned->knows(input.compiled)) {
    answer.warnings.push_back(
        "compiled: no compiled network was measured on " + input.compiled.device.id +
        "; its graph replay times the analytic ratio of both kernel lists, with a wider interval");
  }
  return answer;
}

Result<std::string> make_compiled_bundle(const std::string& device,
                                         const std::array<TrainedFactor, kCompiledMetrics.size()>& factors,
                                         const std::string& provenance) {
  Json widths = Json::object();
  BundleManifest manifest;
  for (std::size_t m = 0; m < factors.size(); ++m) {
    if (factors[m].trees.roots.empty()) continue;
    const std::string name(name_of(kCompiledMetrics[m]));
    manifest.metrics.push_back(name);
    for (std::size_t k = 0; k < std::size_t(RunKind::Count); ++k) {
      if (factors[m].half_width[k] > 0) widths[name][std::string(name_of(RunKind(k)))] = factors[m].half_width[k];
    }
  }
  manifest.name = kCompiledName;
  manifest.kind = kCompiledName;
  manifest.schema = compiled_schema();
  manifest.parts = {{"compiled", Json{{"devices", {device}}, {"half_widths", widths}}.dump()},
                    {"provenance", provenance}};
  BundleWriter writer(std::move(manifest));
  for (std::size_t m = 0; m < factors.size(); ++m) {
    if (!factors[m].trees.roots.empty())
      FORERUN_CHECK(add_forest(writer, std::string(name_of(kCompiledMetrics[m])), factors[m].trees));
  }
  return writer.bytes();
}

}  // namespace forerun
