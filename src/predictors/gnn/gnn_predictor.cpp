#include "predictors/gnn/gnn_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/on_cores.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

float limited(float log_ratio) { return std::clamp(log_ratio, -kGnnLogLimit, kGnnLogLimit); }
double ratio_of(float log_ratio) { return std::exp(static_cast<double>(limited(log_ratio))); }

// Intervals are stored per kind of run, under the names that the evaluation uses.
std::string interval_key(Metric metric, RunKind kind, const Workload& workload) {
  const auto observed = run_metric_of(metric, workload);
  return observed ? std::string(name_of(kind)) + " " + std::string(name_of(*observed)) : "";
}

}  // namespace

Result<GnnPredictor::Widths> GnnPredictor::read_widths(const Bundle& bundle, std::string_view text) {
  Widths widths;
  const auto table = nlohmann::json::parse(text, nullptr, false);
  if (!table.is_object())
    return bad_input(fmt::format("{}: its table of intervals is not an object", bundle.file_name()));
  for (const auto& [metric, width] : table.items()) {
    if (!width.is_number() || !(width.get<double>() >= 0))
      return bad_input(fmt::format("{}: the interval of '{}' is not a number", bundle.file_name(), metric));
    widths[metric] = width.get<double>();
  }
  return widths;
}

Result<GnnPredictor> GnnPredictor::load(const Bundle& bundle) {
  if (bundle.manifest().kind != "gnn") {
    return bad_input(
        fmt::format("{}: a bundle of kind '{}', expected 'gnn'", bundle.file_name(), bundle.manifest().kind));
  }
  FORERUN_CHECK(bundle.check_schema(kernel_schema()));
  FORERUN_TRY(const std::string_view roofline, bundle.part("roofline"));
  if (roofline != std::to_string(roofline_hash())) {
    return bad_input(
        fmt::format("{}: predictor '{}' was trained with other values of the analytic model: train it again "
                    "(forerun-lab gnn train), or take the bundle that came with this program",
                    bundle.file_name(), bundle.manifest().name));
  }
  FORERUN_TRY(GnnEngine engine, GnnEngine::load(bundle));
  FORERUN_TRY(const std::vector<RegisterShape> shapes, check_program(engine.program()));
  const std::vector<std::int32_t>& outputs = engine.program().outputs;
  const auto output_is = [&](std::size_t i, bool per_node, Eigen::Index width) {
    const RegisterShape& shape = shapes[static_cast<std::size_t>(outputs[i])];
    return shape.per_node == per_node && shape.width == width;
  };
  bool fits = !outputs.empty() && outputs.size() % 2 == 0;
  for (std::size_t i = 0; fits && i < outputs.size(); i += 2)
    fits = output_is(i, true, kGnnNodeHeads) && output_is(i + 1, false, kGnnGraphHeads);
  if (!fits)
    return bad_input(fmt::format("{}: its outputs are not those of this program's graph network", bundle.file_name()));
  const std::size_t members = outputs.size() / 2;
  GnnPredictor predictor(std::move(engine));
  predictor.members_ = members;
  predictor.name_ = bundle.manifest().name;
  for (const std::string& key : bundle.manifest().metrics) {
    const auto metric = parse_metric(key);
    if (!metric || std::find(kGnnMetrics.begin(), kGnnMetrics.end(), *metric) == kGnnMetrics.end())
      return bad_input(fmt::format("{}: graph networks cannot predict '{}'", bundle.file_name(), key));
    predictor.metrics_.push_back(*metric);
  }
  if (const auto kernels = bundle.part("kernels")) {
    const auto id = nlohmann::json::parse(*kernels, nullptr, false);
    if (!id.is_string())
      return bad_input(fmt::format("{}: what its kernels were timed by is not a name", bundle.file_name()));
    predictor.kernels_id_ = id.get<std::string>();
  }
  FORERUN_TRY(const std::string_view conformal, bundle.part("conformal"));
  FORERUN_TRY(predictor.half_widths_, read_widths(bundle, conformal));
  if (const auto average = bundle.part("average")) {
    FORERUN_TRY(predictor.average_widths_, read_widths(bundle, *average));
  }
  if (const auto devices = bundle.part("devices")) {
    const auto list = nlohmann::json::parse(*devices, nullptr, false);
    if (!list.is_array()) return bad_input(fmt::format("{}: its list of devices is not a list", bundle.file_name()));
    for (const auto& id : list) {
      if (id.is_string()) predictor.devices_.insert(id.get<std::string>());
    }
  }
  return predictor;
}

namespace {

CountedPass counted_pass(const GnnAnswer& answer, Runtime runtime, const CountedAs& counted) {
  if (runtime == Runtime::Graph) return {answer.graph_ms, answer.graph_ms + kReplayGapMs};
  return {answer.graph_ms, answer.eager_ms * counted.uneven + counted.counter_ms, counted.wait_w};
}

}  // namespace

double GnnAnswer::power_w(Runtime runtime, const CountedAs& counted) const {
  return pass_power_w(counted_pass(*this, runtime, counted), busy_w);
}
double GnnAnswer::energy_j(Runtime runtime, const CountedAs& counted) const {
  return power_w(runtime, counted) * counted_pass(*this, runtime, counted).period_ms / 1e3;
}

Result<GnnAnswer> GnnPredictor::answer(const KernelTensors& tensors, const CancelToken& cancel) const {
  FORERUN_TRY(const std::vector<Matrix> outputs, engine_.run(tensors.graph, tensors.device_ms, cancel));
  // Geometric means over the members: of each kernel's time, and of every answer.
  const double share = 1.0 / static_cast<double>(members_);
  std::vector<double> kernel_log(tensors.device_ms.size(), 0);
  double eager = 0, replayed = 0, memory = 0, busy = 0, device_log = 0, host_log = 0;
  for (std::size_t m = 0; m < members_; ++m) {
    const Matrix& nodes = outputs[2 * m];
    const Matrix& graph = outputs[2 * m + 1];
    double device_ms = 0, host_ms = 0, drawn = 0;
    for (Eigen::Index i = 0; i < nodes.rows(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      kernel_log[index] += share * static_cast<double>(limited(nodes(i, 0)));
      device_ms += tensors.device_ms[index] * ratio_of(nodes(i, 0));
      host_ms += tensors.host_ms[index] * ratio_of(nodes(i, 1));
      drawn += tensors.device_ms[index] * ratio_of(nodes(i, 0)) * ratio_of(nodes(i, 2));
    }
    const double p = kGnnOverlapPower;
    const double log_graph = std::log(device_ms) + limited(graph(0, 2));
    const double log_eager =
        std::log(std::pow(std::pow(device_ms, p) + std::pow(host_ms, p), 1 / p)) + limited(graph(0, 3));
    eager += share * log_eager;
    replayed += share * log_graph;
    memory += share * (std::log(tensors.memory_mb) + limited(graph(0, 0)));
    busy += share * (std::log(kUsualPowerW * drawn / device_ms) + limited(graph(0, 1)));
    device_log += share * std::log(device_ms);
    host_log += share * std::log(std::max(1e-12, host_ms));
  }
  GnnAnswer answer{std::exp(eager),
                   std::exp(replayed),
                   std::exp(memory),
                   std::exp(busy),
                   std::exp(device_log),
                   std::exp(host_log),
                   {}};
  answer.kernel_ms.reserve(kernel_log.size());
  for (std::size_t i = 0; i < kernel_log.size(); ++i)
    answer.kernel_ms.push_back(tensors.device_ms[i] * std::exp(kernel_log[i]));
  if (!std::isfinite(answer.eager_ms + answer.graph_ms + answer.memory_mb + answer.busy_w))
    return internal_error("a graph network's answer is not finite");
  return answer;
}

double GnnAnswer::value_of(Metric metric, Runtime runtime, const CountedAs& counted) const {
  switch (metric) {
    case Metric::Latency: return latency_ms(runtime);
    case Metric::Memory: return memory_mb;
    case Metric::Power: return power_w(runtime, counted);
    case Metric::Energy: return energy_j(runtime, counted);
    default: return 0;
  }
}

bool GnnPredictor::was_judged_on(RunKind kind, const Workload& workload) const {
  return std::any_of(metrics_.begin(), metrics_.end(),
                     [&](Metric metric) { return half_widths_.contains(interval_key(metric, kind, workload)); });
}

Answer GnnPredictor::predict(const GnnAnswer& found, RunKind kind, const Workload& workload,
                             const Device& device) const {
  Answer answer;
  const bool measured = devices_.contains(device.id) && device.slice.empty();
  const Runtime runtime = workload.training ? Runtime::Eager : workload.runtime;
  const CountedAs counted = reference_counted(workload.training);
  if (!measured) {
    answer.warnings.push_back(
        fmt::format("predictor '{}' has seen no measured networks on {}: its intervals are those of {}", name_,
                    device.id, devices_.empty() ? "other devices" : *devices_.begin()));
  }
  for (const Metric metric : metrics_) {
    const auto width = half_widths_.find(interval_key(metric, kind, workload));
    if (width == half_widths_.end()) continue;  // never measured: no interval, no estimate
    if (!measured && (metric == Metric::Power || metric == Metric::Energy))
      continue;  // power is learned for the training devices only
    const double value = found.value_of(metric, metric == Metric::Latency ? workload.runtime : runtime, counted);
    const double factor = std::exp(width->second);
    answer.estimates.set(metric, {value, value / factor, value * factor, Basis::Learned, name_});
  }
  return answer;
}

double GnnPredictor::average_width(Metric metric, RunKind kind, const Workload& workload) const {
  const auto found = average_widths_.find(interval_key(metric, kind, workload));
  return found == average_widths_.end() ? 1 : found->second;
}

std::vector<Result<GnnAnswer>> GnnPredictor::answer_many(std::span<const KernelTensors* const> inputs,
                                                         unsigned threads) const {
  std::vector<Result<GnnAnswer>> answers(inputs.size(), Result<GnnAnswer>(internal_error("not answered")));
  on_cores(
      inputs.size(), [&](std::size_t i) { answers[i] = answer(*inputs[i]); }, threads);
  return answers;
}

}  // namespace forerun
