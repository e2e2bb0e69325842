#include "dataset/tree_rows.hpp"

#include <map>

#include "analysis/analyze.hpp"
#include "base/on_cores.hpp"
#include "features/kernel_facts.hpp"
#include "features/transfer_facts.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

Result<TreeInput> make_input(const Example& example, const Device& device, KernelBasis basis) {
  FORERUN_TRY(const Graph graph, analyze(*example.net, example.workload.binding));
  const std::vector<Kernel> kernels = list_kernels(graph, example.workload);
  const RooflineEstimate roofline = estimate_roofline(graph, kernels, example.workload, device);
  TreeInput input = make_tree_input(graph, sum_totals(graph), kernels, example.workload, device, roofline, {}, basis);
  input.host_ms *= example.host_time;
  input.counted = example.counted;
  return input;
}

// Timed by itself, and long enough that the gap to the next kernel of its graph does not count.
bool can_be_known(const OperatorExample& example) {
  constexpr double kShortMs = 0.015;
  return example.kernels.size() == 1 && example.op == "conv2d" && !example.host_included &&
         example.latency_ms > kShortMs;
}

}  // namespace

Result<TreeRows> make_tree_rows(std::vector<Example> examples, const Catalogue& catalogue, unsigned threads,
                                KernelBasis basis) {
  std::map<std::string, Device> devices;
  for (const Example& example : examples) {
    if (devices.contains(example.device)) continue;
    FORERUN_TRY(Device device, catalogue.find(example.device));
    devices.emplace(example.device, std::move(device));
  }
  std::vector<std::optional<TreeInput>> made(examples.size());
  std::vector<std::string> problems(examples.size());
  const auto make = [&](std::size_t i) {
    auto input = make_input(examples[i], devices.at(examples[i].device), basis);
    if (input) {
      made[i] = std::move(*input);
    } else {
      problems[i] = examples[i].row_id + ": " + input.error().message;
    }
  };
  on_cores(examples.size(), make, threads);
  TreeRows rows;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (!made[i]) {
      rows.failures.push_back(problems[i]);
      continue;
    }
    rows.inputs.push_back(std::move(*made[i]));
    rows.examples.push_back(std::move(examples[i]));
  }
  return rows;
}

std::vector<OperatorRows> make_operator_rows(std::span<const OperatorExample> examples, const Catalogue& catalogue,
                                             const ProductConstants& products) {
  std::map<std::string, std::optional<Device>> devices;
  std::vector<OperatorRows> all;
  const std::size_t width = kernel_fact_count(), carried = transfer_fact_count();
  for (const OperatorExample& example : examples) {
    const auto [found, is_new] = devices.try_emplace(example.device);
    if (is_new) {
      if (auto device = catalogue.find(example.device)) found->second = std::move(*device);
    }
    if (!found->second || example.kernels.empty()) continue;
    OperatorRows rows;
    rows.facts.resize(example.kernels.size() * width);
    rows.transfer_facts.resize(example.kernels.size() * carried);
    const Device& device = *found->second;
    for (std::size_t k = 0; k < example.kernels.size(); ++k) {
      const Kernel& kernel = example.kernels[k];
      extract_kernel_facts(kernel, device, example.host_included, std::span(rows.facts).subspan(k * width, width));
      rows.ideal_us.push_back(ideal_kernel_us(kernel, device) * kernel.runs);
      const KernelPhysics physics = kernel_physics(kernel, device, example.setting, products);
      extract_transfer_facts(kernel, device, physics, example.host_included,
                             std::span(rows.transfer_facts).subspan(k * carried, carried));
      rows.physics_us.push_back(physics.total_us * kernel.runs);
      rows.kinds.push_back(transfer_kind(kernel, device, example.host_included));
      rows.roofline_us += time_kernel(kernel, device, shipped_constants()).time_us;
      if (in_groups(kernel)) rows.grouped = std::ptrdiff_t(k);
      const bool product = kernel.macs > 0 && kernel.m > 0;
      if (k == 0 || (product && !rows.is_product)) rows.kernel_class = kernel.kernel_class;
      rows.is_product = rows.is_product || product;
    }
    if (can_be_known(example)) rows.key = known_kernel_key(example.kernels.front(), device);
    rows.measured_us = example.latency_ms * 1e3;
    rows.host_us = example.host_us;
    rows.timing_us = example.timing_us;
    rows.floor_us = example.floor_us;
    rows.at_floor = example.at_floor();
    rows.roofline_us = as_timed(rows, rows.roofline_us);
    rows.device = example.device;
    rows.op = example.op;
    rows.source = example.source;
    rows.row_id = example.row_id;
    all.push_back(std::move(rows));
  }
  return all;
}

}  // namespace forerun
