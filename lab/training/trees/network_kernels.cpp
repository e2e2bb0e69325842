#include "training/trees/network_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "features/kernel_facts.hpp"

namespace forerun {
namespace {

constexpr double kHostBound = 0.5;  // a pass whose device part is below this share of its host part waits for the host

constexpr std::array<std::string_view, 6> kHidden = {"device_log_sms",           "device_log_bandwidth",
                                                     "device_log_peak",          "device_log_l2",
                                                     "device_log_shared_memory", "device_compute_capability"};

const double* measured_ms(const Example& example, std::string_view metric) {
  const auto found = example.metrics.find(metric);
  return found == example.metrics.end() ? nullptr : &found->second;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

bool teaches_kernels(const Example& example, const TreeInput& input) {
  return input.domain == RunKind::LanguageInference && !example.workload.training &&
         measured_ms(example, kLatencyGraph) != nullptr;
}

int generation_of(const TreeInput& input) {
  static const std::size_t kColumn =
      std::size_t(std::find(kernel_fact_names().begin(), kernel_fact_names().end(), "device_compute_capability") -
                  kernel_fact_names().begin());
  return input.facts.empty() ? 0 : int(input.facts[kColumn]);
}

std::map<std::string, double> host_factors(const TreeRows& rows, std::span<const std::size_t> train, int generation) {
  struct Ratios {
    std::vector<double> all, same;
  };
  std::map<std::string, Ratios> ratios;
  for (const std::size_t i : train) {
    const double* eager = measured_ms(rows.examples[i], kLatencyEager);
    const TreeInput& input = rows.inputs[i];
    if (eager == nullptr || input.device_ms >= kHostBound * input.host_ms) continue;
    Ratios& mine = ratios[rows.examples[i].campaign];
    mine.all.push_back(*eager / input.host_ms);
    if (generation_of(input) == generation) mine.same.push_back(*eager / input.host_ms);
  }
  std::map<std::string, double> medians;
  for (auto& [name, found] : ratios)
    medians[name] = median(found.same.empty() ? std::move(found.all) : std::move(found.same));
  return medians;
}

Result<TreeNodes> train_network_kernels(std::span<const TeachingRun> train, std::uint64_t seed) {
  std::vector<std::size_t> hidden;
  for (std::size_t c = 0; c < kernel_fact_names().size(); ++c) {
    if (std::find(kHidden.begin(), kHidden.end(), kernel_fact_names()[c]) != kHidden.end()) hidden.push_back(c);
  }
  std::vector<OperatorRows> sums;
  for (const TeachingRun& taught : train) {
    OperatorRows row;
    row.facts = taught.input->facts;
    for (std::size_t at = 0; at < row.facts.size(); at += kernel_fact_count()) {
      for (const std::size_t c : hidden) row.facts[at + c] = 0;
    }
    row.ideal_us = taught.input->roofline_us;
    row.measured_us = 1e3 * *measured_ms(*taught.example, kLatencyGraph);
    sums.push_back(std::move(row));
  }
  if (sums.empty()) return bad_input("no language model's kernels were measured: nothing to learn from");
  KernelTraining training;
  training.parameters.rounds = 120;
  training.parameters.max_depth = 6;
  training.parameters.eta = 0.15;
  training.parameters.lambda = 20;
  training.parameters.seed = seed;
  return train_kernels(sums, training);
}

}  // namespace forerun
