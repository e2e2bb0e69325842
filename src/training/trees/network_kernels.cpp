#include "training/trees/network_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "features/kernel_facts.hpp"

namespace forerun {
namespace {

constexpr double kHostBound = 0.5;    // a pass whose device part is below this share of its host part waits for the host
constexpr double kDeviceBound = 1.6;  // a pass this much longer than its host part is decided by the device

constexpr std::array<std::string_view, 6> kHidden = {"device_log_sms", "device_log_bandwidth", "device_log_peak", "device_log_l2",
                                                     "device_log_shared_memory", "device_compute_capability"};

const double* measured_ms(const Example& example, std::string_view metric) {
  const auto found = example.metrics.find(metric);
  return found == example.metrics.end() ? nullptr : &found->second;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// log(measured / host) of rows that wait for the host, by a key of the example.
template <typename Key>
std::map<std::string, double> host_medians(const TreeRows& rows, std::span<const std::size_t> train, Key key) {
  std::map<std::string, std::vector<double>> ratios;
  for (const std::size_t i : train) {
    const double* eager = measured_ms(rows.examples[i], kLatencyEager);
    const TreeInput& input = rows.inputs[i];
    if (eager != nullptr && input.device_ms < kHostBound * input.host_ms) ratios[key(rows.examples[i])].push_back(*eager / input.host_ms);
  }
  std::map<std::string, double> medians;
  for (auto& [name, values] : ratios) medians[name] = median(std::move(values));
  return medians;
}

}  // namespace

std::vector<bool> device_bound_rows(const TreeRows& rows) {
  std::vector<std::size_t> all(rows.inputs.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto machine = [](const Example& e) { return e.campaign + "/" + e.device; };
  const auto factors = host_medians(rows, all, machine);
  std::vector<bool> bound(rows.inputs.size(), false);
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    const Example& e = rows.examples[i];
    if (e.workload.training) continue;
    if (measured_ms(e, kLatencyGraph) != nullptr) bound[i] = true;
    const double* eager = measured_ms(e, kLatencyEager);
    const auto factor = factors.find(machine(e));
    if (!bound[i] && eager != nullptr && factor != factors.end()) bound[i] = *eager > kDeviceBound * factor->second * rows.inputs[i].host_ms;
  }
  return bound;
}

std::map<std::string, double> host_factors(const TreeRows& rows, std::span<const std::size_t> train) {
  return host_medians(rows, train, [](const Example& e) { return e.campaign; });
}

Result<TreeNodes> train_network_kernels(const TreeRows& rows, std::span<const std::size_t> train, std::uint64_t seed) {
  std::vector<std::size_t> hidden;
  for (std::size_t c = 0; c < kernel_fact_names().size(); ++c) {
    if (std::find(kHidden.begin(), kHidden.end(), kernel_fact_names()[c]) != kHidden.end()) hidden.push_back(c);
  }
  const std::vector<bool> bound = device_bound_rows(rows);
  std::vector<OperatorRows> sums;
  for (const std::size_t i : train) {
    if (!bound[i]) continue;
    const TreeInput& input = rows.inputs[i];
    const double* graph = measured_ms(rows.examples[i], kLatencyGraph);
    OperatorRows row;
    row.facts = input.facts;
    for (std::size_t at = 0; at < row.facts.size(); at += kernel_fact_count()) {
      for (const std::size_t c : hidden) row.facts[at + c] = 0;
    }
    row.ideal_us = input.roofline_us;
    row.measured_us = 1e3 * (graph != nullptr ? *graph : *measured_ms(rows.examples[i], kLatencyEager));
    sums.push_back(std::move(row));
  }
  if (sums.empty()) return bad_input("no network was measured that its device decides");
  KernelTraining training;
  training.parameters.rounds = 120;
  training.parameters.max_depth = 6;
  training.parameters.eta = 0.15;
  training.parameters.lambda = 20;
  training.parameters.seed = seed;
  return train_kernels(sums, training);
}

}  // namespace forerun
