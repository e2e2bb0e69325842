#include "service/workspace.hpp"

#include <filesystem>

#include "analysis/analyze.hpp"
#include "readers/networks.hpp"
#include "service/describe.hpp"

namespace forerun {

Result<std::shared_ptr<const Network>> Workspace::network_of(const Request& request) {
  if (request.network) return request.network;
  if (request.model.empty()) return bad_input("no MODEL given");
  std::error_code error;
  const auto status = std::filesystem::status(request.model, error);
  const bool on_disk = std::filesystem::exists(status);
  FileEntry entry;
  if (on_disk && std::filesystem::is_regular_file(status)) {
    entry.modified = std::filesystem::last_write_time(request.model, error).time_since_epoch().count();
    entry.size = std::filesystem::file_size(request.model, error);
  }
  {
    const std::scoped_lock lock(mutex_);
    const auto found = networks_.find(request.model);
    if (found != networks_.end() && found->second.modified == entry.modified && found->second.size == entry.size) {
      return found->second.network;
    }
  }
  if (on_disk) {
    FORERUN_TRY(std::unique_ptr<Network> network, read_network(request.model));
    entry.network = std::move(network);
  } else {
    FORERUN_TRY(std::unique_ptr<Network> network, find_network(request.model));
    entry.network = std::move(network);
  }
  const std::scoped_lock lock(mutex_);
  if (networks_.size() >= most_networks_) networks_.clear();
  networks_[request.model] = entry;
  return entry.network;
}

namespace {

// What most of a file's parameters are stored in: half precision when it is, else fp32.
Precision stored_precision(const Graph& graph) {
  std::map<DType, double> elements;
  for (const Value& value : graph.values) {
    if (value.is_parameter) elements[value.dtype] += double(elements_of(value));
  }
  double total = 0;
  for (const auto& [type, count] : elements) total += count;
  if (elements[DType::Float16] > total / 2) return Precision::Fp16;
  if (elements[DType::BFloat16] > total / 2) return Precision::Bf16;
  return Precision::Fp32;
}

}  // namespace

Result<std::shared_ptr<const Plan>> Workspace::plan_of(const Request& request) {
  FORERUN_TRY(const std::shared_ptr<const Network> network, network_of(request));
  Binding binding = request.binding;
  Precision precision = request.precision.value_or(Precision::Fp32);
  // A graph of its own is the same in every precision: one analysis serves all.
  binding.precision = network->is_fixed_graph() ? Precision::Fp32 : precision;
  binding.training = network->is_fixed_graph() ? false : request.train;
  const AnalysisKey analysis_key{network, binding};
  Analysis analysis;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = analyses_.find(analysis_key); found != analyses_.end()) analysis = found->second;
  }
  if (!analysis.graph) {
    FORERUN_TRY(Graph graph, analyze(*network, binding));
    auto totals = std::make_shared<Totals>(sum_totals(graph));
    const Precision stored = stored_precision(graph);
    analysis = {std::make_shared<Graph>(std::move(graph)), std::move(totals), stored};
  }
  if (!request.precision && network->is_fixed_graph()) precision = analysis.stored;
  const PlanKey plan_key{analysis_key, precision, request.train, request.train ? request.optimizer : Optimizer::None};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = plans_.find(plan_key); found != plans_.end()) return found->second;
  }
  auto plan = std::make_shared<Plan>();
  plan->graph = analysis.graph;
  plan->totals = analysis.totals;
  plan->workload.binding = binding;
  plan->workload.binding.precision = precision;
  plan->workload.precision = precision;
  plan->workload.training = request.train;
  plan->workload.optimizer = request.optimizer;
  plan->kernels = list_kernels(*plan->graph, plan->workload);
  plan->memory = count_memory(*plan->graph, plan->kernels, plan->workload);
  std::map<std::string, std::int32_t> groups;
  for (const Kernel& kernel : plan->kernels) {
    const auto [row, added] = groups.try_emplace(describe_kernel(kernel), std::int32_t(plan->group_names.size()));
    if (added) plan->group_names.push_back(row->first);
    plan->kernel_group.push_back(row->second);
  }
  if (request.is_transient) return std::shared_ptr<const Plan>(plan);
  const std::scoped_lock lock(mutex_);
  if (analyses_.size() >= most_analyses_) analyses_.clear();
  if (plans_.size() >= most_analyses_) plans_.clear();
  analyses_[analysis_key] = analysis;
  plans_[plan_key] = plan;
  return std::shared_ptr<const Plan>(plan);
}

}  // namespace forerun
