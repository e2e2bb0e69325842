#include "predictors/trees/tree_input.hpp"

#include <algorithm>
#include <cmath>

#include "features/kernel_facts.hpp"
#include "features/transfer_facts.hpp"
#include "predictors/reference_host.hpp"

namespace forerun {
namespace {

double eager_estimate(const TreeInput& input) { return eager_ms(input.kernel_ms, host_time_ms(input)); }

}  // namespace

TreeInput make_tree_input(const Graph& graph, const Totals& totals, const std::vector<Kernel>& kernels,
                          const Workload& workload, const Device& device, const RooflineEstimate& roofline,
                          std::span<const KernelGroup> groups, KernelBasis basis, const CancelToken& cancel) {
  TreeInput input;
  input.cancel = cancel;
  PacedStop stop(cancel);
  input.domain = run_kind_of(graph, workload);
  input.counted = counted({}, workload.training);
  input.table = extract_table(graph, totals, kernels, workload, device, roofline);
  const std::size_t width = kernel_fact_count();
  std::vector<KernelGroup> made;
  if (groups.empty()) groups = made = group_kernels(kernels);
  input.facts.resize(groups.size() * width);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!stop())
      extract_kernel_facts(*groups[i].kernel, device, false, std::span(input.facts).subspan(i * width, width));
    input.ideal_us.push_back(ideal_kernel_us(*groups[i].kernel, device) * groups[i].runs);
    const auto index = std::size_t(groups[i].kernel - kernels.data());
    input.roofline_us.push_back(roofline.kernels[index].time_us / std::max(1.0, groups[i].kernel->runs) *
                                groups[i].runs);
    input.classes.push_back(std::uint8_t(groups[i].kernel->kernel_class));
    input.keys.push_back(known_kernel_key(*groups[i].kernel, device));
    if (in_groups(*groups[i].kernel))
      input.grouped.emplace_back(std::uint32_t(i), groups[i].runs / std::max(1.0, 1e3 * roofline.host_ms));
  }
  if (basis == KernelBasis::Transfer) {
    const std::size_t carried = transfer_fact_count();
    input.transfer_facts.resize(groups.size() * carried);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const KernelPhysics physics = stop() ? KernelPhysics() : kernel_physics(*groups[i].kernel, device);
      extract_transfer_facts(*groups[i].kernel, device, physics, false,
                             std::span(input.transfer_facts).subspan(i * carried, carried));
      input.physics_us.push_back(physics.total_us * groups[i].runs);
      input.physics_terms.push_back(scaled(terms_of(physics), groups[i].runs));
      input.kinds.push_back(transfer_kind(*groups[i].kernel, device, false));
    }
  }
  input.device_ms = roofline.device_ms;
  input.host_ms = roofline.host_ms;
  input.eager_ms = roofline.latency_eager_ms;
  input.graph_ms = roofline.latency_graph_ms;
  input.memory_mb = roofline.memory.total_mb;
  input.device_memory_mb = roofline.memory.device_total_mb;
  input.power_w = roofline.power_eager_w;
  input.power_graph_w = roofline.power_graph_w;
  input.power_limit_w = device.power_limit_w;
  return input;
}

namespace {

std::vector<double> scaled(std::span<const float> facts, std::size_t width, std::span<const double> base_us,
                           const Forest& forest, const CancelToken& cancel = {}) {
  constexpr std::size_t kRowsAtOnce = 4096;  // between two questions to `cancel`
  std::vector<float> scores(base_us.size(), 0);
  for (std::size_t first = 0; first < scores.size() && !cancel.stopped(); first += kRowsAtOnce) {
    const std::size_t rows = std::min(kRowsAtOnce, scores.size() - first);
    forest.predict(facts.subspan(first * width, rows * width), width, std::span(scores).subspan(first, rows));
  }
  std::vector<double> us(base_us.size());
  for (std::size_t i = 0; i < us.size(); ++i) us[i] = base_us[i] * std::exp(double(scores[i]));
  return us;
}

template <typename T>
void append(std::vector<T>& all, const std::vector<T>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

void take_times(TreeInput& input, std::vector<double> us) {
  input.kernel_ms = 0;
  std::array<double, kKernelClasses> by_class{};
  for (std::size_t i = 0; i < us.size(); ++i) {
    input.kernel_ms += us[i] / 1e3;
    by_class[input.classes[i]] += us[i] / 1e3;
  }
  input.kernel_ms = std::max(input.kernel_ms, 1e-6);
  for (std::size_t c = 0; c < kKernelClasses; ++c) input.class_share[c] = float(by_class[c] / input.kernel_ms);
  input.kernel_us = std::move(us);
}

}  // namespace

std::vector<double> learned_kernel_us(std::span<const float> facts, std::span<const double> ideal_us,
                                      std::span<const std::uint64_t> keys, const Forest& kernel_forest,
                                      const KnownKernels& known, const CancelToken& cancel) {
  std::vector<double> us = scaled(facts, kernel_fact_count(), ideal_us, kernel_forest, cancel);
  for (std::size_t i = 0; i < us.size() && !known.empty(); ++i) {
    if (const auto score = known.find(keys[i])) us[i] = ideal_us[i] * std::exp(double(*score));
  }
  return us;
}

void sum_kernels(std::span<TreeInput> inputs, const Forest& kernel_forest, const KnownKernels& known) {
  if (inputs.size() == 1) {
    take_times(inputs[0], learned_kernel_us(inputs[0].facts, inputs[0].ideal_us, inputs[0].keys, kernel_forest, known,
                                            inputs[0].cancel));
    return;
  }
  for (std::size_t first = 0; first < inputs.size(); first += kInputsAtOnce) {
    const auto some = inputs.subspan(first, std::min(kInputsAtOnce, inputs.size() - first));
    std::vector<float> facts;
    std::vector<double> ideal_us;
    std::vector<std::uint64_t> keys;
    for (const TreeInput& input : some) {
      append(facts, input.facts);
      append(ideal_us, input.ideal_us);
      append(keys, input.keys);
    }
    const std::vector<double> us = learned_kernel_us(facts, ideal_us, keys, kernel_forest, known);
    auto next = us.begin();
    for (TreeInput& input : some) {
      const auto end = next + std::ptrdiff_t(input.ideal_us.size());
      take_times(input, {next, end});
      next = end;
    }
  }
}
void sum_network_kernels(TreeInput& input, const Forest& network_forest) {
  take_times(input, scaled(input.facts, kernel_fact_count(), input.roofline_us, network_forest, input.cancel));
}

void time_grouped_host(std::span<TreeInput> inputs, const Forest& host_forest) {
  const std::size_t width = kernel_fact_count();
  std::vector<float> facts;
  for (const TreeInput& input : inputs) {
    for (const auto& [kernel, runs] : input.grouped)
      facts.insert(facts.end(), input.facts.begin() + std::ptrdiff_t(kernel * width),
                   input.facts.begin() + std::ptrdiff_t((kernel + 1) * width));
  }
  std::vector<float> scores(facts.size() / width, 0);
  host_forest.predict(facts, width, scores);
  auto score = scores.begin();
  for (TreeInput& input : inputs) {
    input.host_factor = 1;
    for (const auto& [kernel, runs] : input.grouped)
      input.host_factor += runs * kUsualHostUs * std::max(0.0, std::exp(double(*score++)) - 1);
  }
}

std::vector<double> time_kernels(std::span<const float> transfer_facts, std::span<const double> physics_us,
                                 std::span<const std::string> kinds, const TransferForest& transfer,
                                 const CancelToken& cancel) {
  std::vector<double> us = scaled(transfer_facts, transfer_fact_count(), physics_us, transfer.forest, cancel);
  for (std::size_t i = 0; i < us.size(); ++i) {
    us[i] = transfer.kinds.contains(kinds[i])
                ? physics_us[i] * std::pow(us[i] / physics_us[i], transfer_share(kinds[i]))
                : physics_us[i];
  }
  return us;
}

void sum_transferred(TreeInput& input, const TransferForest& transfer) {
  take_times(input, time_kernels(input.transfer_facts, input.physics_us, input.kinds, transfer, input.cancel));
}

const std::vector<std::string>& tree_column_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const FeatureColumn& column : table_schema().columns) names.push_back(column.name);
    for (const char* name :
         {"log_kernel_sum", "log_kernel_sum_over_roofline", "log_host_over_kernel_sum", "log_eager_estimate"})
      names.emplace_back(name);
    for (std::size_t c = 0; c < kKernelClasses; ++c)
      names.push_back(std::string(name_of(KernelClass(c))) + "_kernel_sum_share");
    return names;
  }();
  return kNames;
}

std::vector<float> tree_row(const TreeInput& input) {
  std::vector<float> row = input.table;
  row.reserve(row.size() + 4 + kKernelClasses);
  row.push_back(float(std::log(input.kernel_ms)));
  row.push_back(float(std::log(input.kernel_ms / std::max(input.device_ms, 1e-6))));
  row.push_back(float(std::log(host_time_ms(input) / input.kernel_ms)));
  row.push_back(float(std::log(eager_estimate(input))));
  row.insert(row.end(), input.class_share.begin(), input.class_share.end());
  return row;
}

double tree_base(const TreeInput& input, RunMetric metric) {
  switch (metric) {
    case RunMetric::LatencyGraph: return input.kernel_ms;
    case RunMetric::LatencyEager:
    case RunMetric::Step: return eager_estimate(input);
    case RunMetric::Memory: return std::max(1.0, input.memory_mb);
    case RunMetric::DeviceMemory: return std::max(1.0, input.device_memory_mb);
    case RunMetric::Energy:
      return std::max(1.0, input.power_w) * (eager_estimate(input) + input.counted.counter_ms) / 1e3;
    case RunMetric::EnergyGraph: return std::max(1.0, input.power_graph_w) * input.kernel_ms / 1e3;
    case RunMetric::PowerGraph:
    case RunMetric::Power: return std::max(1.0, input.power_limit_w);
    case RunMetric::Count: break;
  }
  return 1;
}

double roofline_answer(const TreeInput& input, RunMetric metric) {
  switch (metric) {
    case RunMetric::LatencyGraph: return input.graph_ms;
    case RunMetric::LatencyEager:
    case RunMetric::Step: return input.eager_ms;
    case RunMetric::Memory: return input.memory_mb;
    case RunMetric::DeviceMemory: return input.device_memory_mb;
    case RunMetric::Energy: return input.power_w * input.eager_ms / 1e3;
    case RunMetric::Power: return input.power_w;
    case RunMetric::EnergyGraph: return input.power_graph_w * input.graph_ms / 1e3;
    case RunMetric::PowerGraph: return input.power_graph_w;
    case RunMetric::Count: break;
  }
  return 1;
}

}  // namespace forerun
