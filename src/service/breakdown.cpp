// Where the time goes: kernels of one name joined, the largest first.
#include <fmt/format.h>

#include <algorithm>

#include "predictors/roofline/traffic.hpp"
#include "service/estimate.hpp"

namespace forerun {
namespace {

std::vector<std::string> operators_of(const Kernel& kernel, const Graph& graph) {
  if (kernel.node < 0) return {std::string(kernel.label)};
  return {graph.blocks[std::size_t(kernel.block)].nodes[std::size_t(kernel.node)].op_type};
}

}  // namespace

std::vector<BreakdownRow> break_down(const Plan& plan, std::span<const KernelTerms> kernels, std::size_t most,
                                     const Device* device) {
  std::vector<BreakdownRow> list(plan.group_names.size());
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const Kernel& kernel = plan.kernels[i];
    const auto group = std::size_t(plan.kernel_group[i]);
    BreakdownRow& row = list[group];
    if (row.kernel.empty()) {
      row.kernel = plan.group_names[group];
      row.operators = operators_of(kernel, *plan.graph);
      row.kernel_class = kernel.kernel_class;
      row.count = 0;
    }
    row.count += std::int64_t(kernel.runs);
    add(row.terms, kernels[i]);
    row.flops += kernel.flops * kernel.runs;
    row.bytes += (kernel.read_bytes + kernel.write_bytes) * kernel.runs;
    if (device != nullptr) add(row.traffic, traffic_of(kernel, *device), kernel.runs);
  }
  std::sort(list.begin(), list.end(),
            [](const BreakdownRow& a, const BreakdownRow& b) { return a.time_ms() > b.time_ms(); });
  if (list.size() > most) {
    BreakdownRow rest;
    rest.kernel = fmt::format("{} other kinds", list.size() - most);
    rest.count = 0;
    for (std::size_t i = most; i < list.size(); ++i) {
      rest.count += list[i].count;
      add(rest.terms, list[i].terms);
      rest.flops += list[i].flops;
      rest.bytes += list[i].bytes;
      add(rest.traffic, list[i].traffic);
    }
    list.resize(most);
    list.push_back(std::move(rest));
  }
  return list;
}

std::vector<BreakdownRow> break_down(const Plan& plan, std::span<const KernelTerms> kernels,
                                     const ParallelReport& report, const Device* device) {
  std::vector<BreakdownRow> list =
      kernels.empty() ? std::vector<BreakdownRow>() : break_down(plan, kernels, kBreakdownRows, device);
  double kernels_ms = 0;
  for (const BreakdownRow& row : list) kernels_ms += row.time_ms();
  const double working_ms = report.times.compute_ms + report.times.update_ms;
  // Recomputed, divided and repeated passes: every row in proportion.
  const double factor = kernels_ms > 0 ? working_ms / kernels_ms : 0;
  for (BreakdownRow& row : list) {
    row.terms = scaled(row.terms, factor);
    row.count *= report.step.micro_batches;
    row.flops *= double(report.step.micro_batches);
    row.bytes *= double(report.step.micro_batches);
    add(row.traffic, Traffic(row.traffic), double(report.step.micro_batches) - 1);
  }
  const auto add_row = [&](std::string name, std::string_view waits_on, double ms) {
    if (ms <= 0) return;
    BreakdownRow row;
    row.kernel = std::move(name);
    row.operators = {std::string(waits_on)};
    row.waits_on = waits_on;
    row.waiting_us = ms * 1e3;
    list.push_back(std::move(row));
  };
  add_row("messages between devices", "communication", report.times.communication_ms);
  add_row("pipeline bubble", "bubble", report.times.bubble_ms);
  add_row("waiting for input", "input", report.times.input_ms);
  std::stable_sort(list.begin(), list.end(),
                   [](const BreakdownRow& a, const BreakdownRow& b) { return a.time_ms() > b.time_ms(); });
  return list;
}

}  // namespace forerun
