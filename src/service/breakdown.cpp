// Where the time goes: kernels of one name joined, the largest first.
#include <fmt/format.h>

#include <algorithm>

#include "service/estimate.hpp"

namespace forerun {
namespace {

constexpr std::size_t kBreakdownRows = 40;

std::vector<std::string> operators_of(const Kernel& kernel, const Graph& graph) {
  if (kernel.node < 0) return {std::string(kernel.label)};
  return {graph.blocks[std::size_t(kernel.block)].nodes[std::size_t(kernel.node)].op_type};
}

}  // namespace

std::vector<BreakdownRow> break_down(const Plan& plan, std::span<const KernelTerms> kernels) {
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
  }
  std::sort(list.begin(), list.end(),
            [](const BreakdownRow& a, const BreakdownRow& b) { return a.time_ms() > b.time_ms(); });
  if (list.size() > kBreakdownRows) {
    BreakdownRow rest;
    rest.kernel = fmt::format("{} other kinds", list.size() - kBreakdownRows);
    rest.count = 0;
    for (std::size_t i = kBreakdownRows; i < list.size(); ++i) {
      rest.count += list[i].count;
      add(rest.terms, list[i].terms);
      rest.flops += list[i].flops;
      rest.bytes += list[i].bytes;
    }
    list.resize(kBreakdownRows);
    list.push_back(std::move(rest));
  }
  return list;
}

}  // namespace forerun
