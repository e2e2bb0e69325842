#include "training/trees/kernel_power_training.hpp"

#include <algorithm>
#include <cmath>

#include "predictors/trees/kernel_power.hpp"

namespace forerun {
namespace {

constexpr double kLargestError = 0.3;  // of the log: a wild reading pulls no harder than this

double metric_of(const Example& example, std::string_view name) {
  const auto found = example.metrics.find(name);
  return found == example.metrics.end() ? 0 : found->second;
}

}  // namespace

std::vector<PowerReading> power_readings(const TreeRows& rows) {
  std::vector<PowerReading> readings;
  for (std::size_t i = 0; i < rows.examples.size(); ++i) {
    const Example& e = rows.examples[i];
    const double kernels = kernels_ms(rows.inputs[i], metric_of(e, kLatencyGraph));
    for (const auto& [energy, power] : {std::pair(kEnergy, kPower), std::pair(kEnergyGraph, kPowerGraph)}) {
      const double joules = metric_of(e, energy), watts = metric_of(e, power);
      if (joules > 0 && watts > 0)
        readings.push_back(
            {i,
             watts,
             {kernels, 1e3 * joules / watts, energy == kEnergy ? rows.inputs[i].counted.wait_w : kWaitPowerW}});
    }
  }
  return readings;
}

Result<TreeNodes> train_kernel_power(const TreeRows& rows, std::span<const PowerReading> readings, std::uint64_t seed,
                                     int rounds) {
  RowMatrix facts;
  facts.width = power_fact_names().size();
  std::vector<std::uint32_t> owner;
  std::vector<double> usual;    // watts that a kernel adds to its pass's mean at a score of 0
  std::vector<double> waiting;  // watts from the time without kernels
  for (std::size_t r = 0; r < readings.size(); ++r) {
    const PowerReading& reading = readings[r];
    const TreeInput& input = rows.inputs[reading.example];
    waiting.push_back(pass_power_w(reading.pass, 0));
    const double busy = pass_power_w(reading.pass, kUsualPowerW) - waiting.back();
    facts.add(power_facts(input));
    for (const double us : input.kernel_us) {
      owner.push_back(std::uint32_t(r));
      usual.push_back(busy * us / (1e3 * input.kernel_ms));
    }
  }
  if (readings.empty()) return bad_input("no energy was measured: nothing to learn power from");
  // As in train_kernels: half the squared log error of each reading's sum.
  std::vector<double> watts(usual.size()), sum(readings.size());
  const auto gradients = [&](std::span<const float> scores, std::span<float> first, std::span<float> second) {
    sum = waiting;
    for (std::size_t k = 0; k < usual.size(); ++k) {
      watts[k] = usual[k] * std::exp(double(scores[k]));
      sum[owner[k]] += watts[k];
    }
    for (std::size_t k = 0; k < usual.size(); ++k) {
      const double share = watts[k] / sum[owner[k]];
      const double error =
          std::clamp(std::log(sum[owner[k]] / readings[owner[k]].watts), -kLargestError, kLargestError);
      first[k] = float(error * share);
      second[k] = float(std::max(share, 1e-6));
    }
  };
  TreeParameters p;
  p.rounds = rounds;
  p.max_depth = 11;
  p.eta = 0.9;
  p.subsample = 0.8;
  p.colsample = 0.4;
  p.max_bins = 64;
  p.min_child_weight = 0.5;
  p.lambda = 1;
  p.seed = seed;
  p.monotone.assign(facts.width, 0);
  for (std::size_t c = 0; c < facts.width; ++c) {
    const std::string& name = power_fact_names()[c];
    if (name == "log_mac_rate" || name == "log_byte_rate")
      p.monotone[c] = 1;  // more done in the same time takes more power
  }
  return train_trees(facts, p, gradients);
}

}  // namespace forerun
