#include "service/workspace.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analysis/analyze.hpp"
#include "analysis/compiled_kernels.hpp"
#include "predictors/roofline/engine.hpp"
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
    const FileEntry* found = networks_.find(request.model);
    if (found != nullptr && found->modified == entry.modified && found->size == entry.size) return found->network;
  }
  if (on_disk) {
    FORERUN_TRY(std::unique_ptr<Network> network, read_network(request.model, /*stands_alone=*/false, request.cancel));
    entry.network = std::move(network);
  } else {
    FORERUN_TRY(std::unique_ptr<Network> network, find_network(request.model));
    entry.network = std::move(network);
  }
  const std::scoped_lock lock(mutex_);
  networks_.insert(request.model, entry);
  return entry.network;
}

namespace {

// The precision of most of a file's parameters: half precision if so stored, else fp32.
Precision stored_precision(const Graph& graph) {
  std::map<DType, double> elements;
  for (const Value& value : graph.values) {
    if (is_weight(value)) elements[value.dtype] += double(elements_of(value));
  }
  double total = 0;
  for (const auto& [type, count] : elements) total += count;
  if (elements[DType::Float16] > total / 2) return Precision::Fp16;
  if (elements[DType::BFloat16] > total / 2) return Precision::Bf16;
  return Precision::Fp32;
}

// Everything a kernel's time and name depend on, but how often it runs.
static_assert(sizeof(Kernel) == 200, "a new field of Kernel may belong into work_of()");
auto work_of(const Kernel& k) {
  return std::tuple(k.kernel_class, k.stage, k.math, std::string_view(k.label), k.launches, k.host_ops, k.macs, k.flops,
                    k.read_bytes, k.write_bytes, k.weight_bytes, k.output_elements, k.batch, k.m, k.n, k.k,
                    k.kernel_area, k.stride, k.groups, k.input_channels, k.output_channels, k.spatial, k.inner,
                    k.serial_steps, k.causal);
}

std::size_t hash_work(const Kernel& k) {
  std::size_t hash = std::size_t(k.kernel_class);
  for (const double value : {k.flops, k.read_bytes, k.write_bytes, k.output_elements, k.m, k.n, k.k, k.spatial}) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

// Whether a graph replay differs from an eager pass: attention_path() tells how.
bool keeps_masks(const Plan& plan) {
  const Workload& workload = plan.workload;
  if (plan.graph->origin.form != GraphForm::WrittenOut || workload.runtime != Runtime::Graph || workload.training ||
      workload.fused_engine)
    return false;
  return std::any_of(plan.graph->blocks.begin(), plan.graph->blocks.end(), [](const Block& block) {
    return std::any_of(block.nodes.begin(), block.nodes.end(),
                       [](const Node& node) { return node.kind == OpKind::Attention; });
  });
}

// Joins equal kernels, then groups them by name.
void group_kernels_of(Plan& plan) {
  std::unordered_multimap<std::size_t, std::size_t> seen;  // hash -> index of a distinct kernel
  seen.reserve(plan.kernels.size());
  std::vector<std::int32_t> group_of_distinct;
  std::vector<std::uint32_t> first_of_distinct;
  std::map<std::string, std::int32_t> groups;
  plan.kernel_group.reserve(plan.kernels.size());
  for (std::uint32_t i = 0; i < plan.kernels.size(); ++i) {
    const Kernel& kernel = plan.kernels[i];
    const std::size_t hash = hash_work(kernel);
    auto [row, last] = seen.equal_range(hash);
    while (row != last && work_of(plan.distinct_kernels[row->second]) != work_of(kernel)) ++row;
    if (row == last) {
      row = seen.emplace(hash, plan.distinct_kernels.size());
      const auto [group, added] = groups.try_emplace(describe_kernel(kernel), std::int32_t(plan.group_names.size()));
      if (added) plan.group_names.push_back(group->first);
      plan.distinct_kernels.push_back(kernel);
      group_of_distinct.push_back(group->second);
      first_of_distinct.push_back(i);
    } else {
      plan.distinct_kernels[row->second].runs += kernel.runs;
    }
    plan.kernel_group.push_back(group_of_distinct[row->second]);
    const std::uint32_t first = first_of_distinct[row->second];
    plan.same_as.push_back(plan.kernels[first].runs == kernel.runs ? first : i);
  }
}

}  // namespace

RooflineEstimate estimate_roofline(const Plan& plan, const Workload& workload, const Device& device,
                                   const CancelToken& cancel) {
  return estimate_roofline(plan.kernels, plan.memory, workload, device, shipped_constants(), plan.same_as, cancel);
}

Result<std::shared_ptr<const Plan>> Workspace::plan_of(const Request& request) {
  FORERUN_CHECK(request.cancel.check());
  FORERUN_TRY(const std::shared_ptr<const Network> network, network_of(request));
  Binding binding = request.binding;
  const std::optional<Precision> own = request.precision ? std::nullopt : network->own_precision();
  Precision precision = request.precision.value_or(own.value_or(Precision::Fp32));
  // A recorded graph is the same in every precision: one analysis serves all.
  binding.precision = network->is_fixed_graph() ? Precision::Fp32 : precision;
  binding.training = network->is_fixed_graph() ? false : request.train;
  if (request.steps && network->takes_steps()) {
    binding.dims["steps"] = *request.steps;
  } else if (request.steps && !request.train) {
    return bad_input("--steps: counts steps of training (with --train) or of a diffusion pipeline; leave it out");
  }
  const AnalysisKey analysis_key{network, binding};
  Analysis analysis;
  {
    const std::scoped_lock lock(mutex_);
    if (const Analysis* found = analyses_.find(analysis_key)) analysis = *found;
  }
  if (!analysis.graph) {
    FORERUN_TRY(Graph graph, analyze(*network, binding, request.cancel));
    auto totals = std::make_shared<Totals>(sum_totals(graph));
    const Precision stored = stored_precision(graph);
    analysis = {std::make_shared<Graph>(std::move(graph)), std::move(totals), stored};
  }
  if (!request.precision && network->is_fixed_graph()) precision = analysis.stored;
  const bool is_compiled = runtime_of(request) == Runtime::Compiled;
  const PlanKey plan_key{analysis_key,
                         precision,
                         request.train,
                         request.train ? request.optimizer : Optimizer::None,
                         request.precision.has_value(),
                         request.in_engine,
                         network->is_fixed_graph() && !is_compiled ? Runtime::Eager : runtime_of(request)};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto* found = plans_.find(plan_key)) return *found;
  }
  auto plan = std::make_shared<Plan>();
  plan->graph = analysis.graph;
  plan->totals = analysis.totals;
  plan->workload.binding = binding;
  plan->workload.binding.precision = precision;
  plan->workload.precision = precision;
  plan->workload.runtime = plan_key.runtime;
  plan->workload.training = request.train;
  plan->workload.optimizer = request.optimizer;
  plan->workload.fused_engine = request.in_engine;
  Workload replayed = plan->workload;  // what is captured, compiled or not
  if (is_compiled) replayed.runtime = Runtime::Graph;
  plan->kernels = list_kernels(*plan->graph, replayed, request.cancel);
  FORERUN_CHECK(request.cancel.check());
  if (request.in_engine) plan->kernels = engine_kernels(std::move(plan->kernels), *plan->graph);
  plan->memory = count_memory(*plan->graph, plan->kernels, replayed);
  if (is_compiled && !request.train) plan->kernels = compiled_kernels(*plan->graph, plan->kernels);
  plan->groups = group_kernels(plan->kernels, &plan->group_of);
  group_kernels_of(*plan);
  FORERUN_CHECK(request.cancel.check());
  plan->warnings = plan->graph->warnings;
  if (!request.network && is_shipped_network(request.model) && std::filesystem::exists(request.model)) {
    plan->warnings.push_back("'" + request.model +
                             "' is a file of this folder, which was read; the shipped network of " +
                             "that name was not: rename the file to ask about it");
  }
  if (own && precision != Precision::Fp32) {
    plan->warnings.push_back("precision not given: " + std::string(name_of(precision)) + ", as stated in the file");
  }
  if (keeps_masks(*plan)) {
    plan->warnings.emplace_back(
        "replayed as one CUDA graph it runs other kernels than eagerly: Hugging Face's code keeps its attention masks "
        "there, and attention may not be fused");
  }
  std::vector<Analysis> old_analyses;  // a graph takes a while to free: not while others wait
  std::vector<std::shared_ptr<const Plan>> old_plans;
  const std::scoped_lock lock(mutex_);
  old_analyses = analyses_.insert(analysis_key, analysis, analysis.graph->main().nodes.size());
  old_plans = plans_.insert(plan_key, plan, plan->kernels.size());
  return std::shared_ptr<const Plan>(plan);
}

}  // namespace forerun
