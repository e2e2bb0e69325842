// Finds the batch that a file fixes and tries another.
#include "analysis/rebind_batch.hpp"

#include "analysis/rebinding.hpp"

namespace forerun {
namespace {

// The input that defines the batch: an image first, a one-dimensional input last.
const Value* find_batch_input(const Graph& graph) {
  const Value* best = nullptr;
  const auto rank = [](const Value& value) {
    return value.dims.size() >= 4 && is_floating(value.dtype) ? 3 : value.dims.size() >= 2 ? 2 : 1;
  };
  for (const ValueId id : graph.main().inputs) {
    const Value& value = graph.values[std::size_t(id)];
    if (!has_known_dims(value) || value.dims.empty() || value.role == ValueRole::Cache) continue;
    if (best == nullptr || rank(value) > rank(*best)) best = &value;
  }
  return best;
}

}  // namespace

Status rebind_batch(Graph& graph, std::int64_t batch) {
  const std::string asked = "--batch " + std::to_string(batch) + ": ";
  const Value* input = find_batch_input(graph);
  if (input == nullptr) {
    if (batch == 1) return ok();
    return bad_input(asked + "no input of the file has dimensions, so it has no batch; leave --batch out");
  }
  const std::int64_t fixed = input->dims.front();
  if (fixed == batch) return ok();
  if (!input->dim_names.empty() && !input->dim_names.front().empty()) {
    if (batch == 1) return ok();
    return bad_input(asked + "dimension 0 of input '" + input->name + "' is '" + input->dim_names.front() +
                     "' = " + std::to_string(fixed) + "; leave --batch out and set it by --dim " +
                     input->dim_names.front() + "=N");
  }
  const std::string fixed_at = asked + "the file fixes its batch at " + std::to_string(fixed);
  const std::string remedy = "; export it with a free batch dimension, or leave --batch out";
  if (fixed <= 0) return bad_input(fixed_at + remedy);
  std::string why;
  // Numbers in a list may be one per sample or one for all (a time step): the first that the network allows.
  for (const std::size_t least_rank : {1, 2}) {
    std::vector<Dims> inputs;
    for (const ValueId id : graph.main().inputs) {
      const Value& value = graph.values[std::size_t(id)];
      inputs.push_back(value.dims);
      const bool has_batch = has_known_dims(value) && value.dims.size() >= least_rank && value.dims.front() == fixed;
      if (has_batch) inputs.back().front() = batch;
    }
    Result<Graph> rebound = Rebinding(graph, fixed, batch, std::move(inputs), nullptr).run();
    if (rebound) {
      graph = std::move(*rebound);
      return ok();
    }
    if (rebound.error().kind != ErrorKind::BadInput) return rebound.error();
    if (why.empty()) why = rebound.error().message;
  }
  return bad_input(fixed_at + " and cannot run another: " + why + remedy);
}

Status follow_batch(Graph& single, const Graph& batched, std::int64_t batch) {
  std::vector<Dims> inputs;
  for (const ValueId id : batched.main().inputs) inputs.push_back(batched.values[std::size_t(id)].dims);
  Result<Graph> rebound = Rebinding(single, 1, batch, std::move(inputs), &batched).run();
  if (!rebound) {
    return Error{rebound.error().kind, "--batch " + std::to_string(batch) +
                                           ": the file declares a free batch and cannot run this one: " +
                                           rebound.error().message + "; export it again, or leave --batch out"};
  }
  single = std::move(*rebound);
  return ok();
}

}  // namespace forerun
