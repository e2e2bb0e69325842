#include "training/gnn/kernel_training.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "features/kernel_encoding.hpp"

namespace forerun {
namespace {

// Rows dealt into a batch, all that a step needs, on the training device.
struct StackBatch {
  GraphBatch graphs;
  torch::Tensor host_ms;         // N x 1
  torch::Tensor targets, known;  // B x 5: logarithms of eager, graph, memory, power, power replayed; 1 where measured
                                 // (eager: how quiet the host was)
  torch::Tensor counted;  // B x 5: the periods of the passes of both powers, their watts while waiting, and the log of
                          // the memory that predictions are relative to
  torch::Tensor alone;    // B x 1
  torch::Tensor mask;     // K x B x 1: the weight of a row for a member
  double weight = 1;      // mean over the members of their rows' weights
};

// Smooth at 0, linear beyond the bend: outliers (noisy eager rows) do not rule.
torch::Tensor robust(const torch::Tensor& log_error, double bend) {
  return torch::smooth_l1_loss(log_error, torch::zeros_like(log_error), at::Reduction::None, bend);
}

std::vector<BatchItem> items_of(const std::vector<GnnRow>& rows, const std::vector<GraphTensors>& chains,
                                std::span<const std::size_t> chosen) {
  std::vector<BatchItem> items;
  items.reserve(chosen.size());
  for (const std::size_t i : chosen)
    items.push_back({chains.empty() ? &rows[i].kernels.graph : &chains[i], rows[i].kernels.device_ms});
  return items;
}

StackBatch make_stack_batch(const std::vector<GnnRow>& rows, const std::vector<GraphTensors>& chains,
                            std::span<const std::size_t> chosen, const torch::Tensor& weight_of, torch::Device device) {
  std::vector<float> host, targets, known, counted, alone;
  for (const std::size_t i : chosen) {
    const GnnRow& row = rows[i];
    host.insert(host.end(), row.kernels.host_ms.begin(), row.kernels.host_ms.end());
    for (const double target : {row.targets.eager_ms, row.targets.graph_ms, row.targets.memory_mb, row.targets.power_w,
                                row.targets.power_graph_w}) {
      known.push_back(target > 0 ? 1.0F : 0.0F);
      targets.push_back(target > 0 ? static_cast<float>(std::log(target)) : 0.0F);
    }
    known[known.size() - 5] *= row.host_weight;
    if (row.targets.energy_j <= 0) known[known.size() - 2] = 0;  // of a pass of unknown length
    if (row.targets.energy_graph_j <= 0) known[known.size() - 1] = 0;
    const auto period_ms = [](double joules, double watts) {
      return joules > 0 && watts > 0 ? 1e3 * joules / watts : 1.0;
    };
    for (const double value : {period_ms(row.targets.energy_j, row.targets.power_w),
                               period_ms(row.targets.energy_graph_j, row.targets.power_graph_w), row.counted.wait_w,
                               kWaitPowerW, std::log(std::max(1e-3, row.kernels.memory_mb))}) {
      counted.push_back(static_cast<float>(value));
    }
    alone.push_back(row.alone ? 1.0F : 0.0F);
  }
  const auto count = static_cast<std::int64_t>(chosen.size());
  const torch::Tensor index = torch::tensor(std::vector<std::int64_t>(chosen.begin(), chosen.end()));
  return {
      make_batch(items_of(rows, chains, chosen)).to(device),
      torch::tensor(host).unsqueeze(1).to(device),
      torch::tensor(targets).view({count, 5}).to(device),
      torch::tensor(known).view({count, 5}).to(device),
      torch::tensor(counted).view({count, 5}).to(device),
      torch::tensor(alone).unsqueeze(1).to(device),
      weight_of.index_select(1, index).unsqueeze(2).to(device),
      std::max(1e-6, weight_of.index_select(1, index).sum().item<double>() / static_cast<double>(weight_of.size(0)))};
}

// K x B: the loss of every row for every member, before masks.
torch::Tensor loss_of(KernelNet& network, const StackBatch& batch, std::int64_t stack,
                      const KernelTrainingOptions& options) {
  const GraphBatch graphs = batch.graphs.repeated(stack);
  const KernelNetOutput out = network.forward(graphs);
  const torch::Tensor node = out.node.clamp(-kGnnLogLimit, kGnnLogLimit).exp(),
                      graph = out.graph.clamp(-kGnnLogLimit, kGnnLogLimit);
  const torch::Tensor kernel_ms = node.narrow(2, 0, 1) * graphs.weights;
  const torch::Tensor times =
      sum_pool(torch::cat({kernel_ms, node.narrow(2, 1, 1) * batch.host_ms, kernel_ms * node.narrow(2, 2, 1)}, 2),
               graphs)
          .clamp_min(1e-9)
          .log();
  const torch::Tensor device = times.narrow(2, 0, 1), host = times.narrow(2, 1, 1);
  // log of (device^p + host^p)^(1/p), kept away from overflow
  const torch::Tensor both = torch::logaddexp(device * kGnnOverlapPower, host * kGnnOverlapPower) / kGnnOverlapPower;
  const torch::Tensor corrected = 1 - batch.alone;  // an operator alone is the sum of its kernels
  const torch::Tensor graph_ms = device + graph.narrow(2, 2, 1) * corrected,
                      eager_ms = both + graph.narrow(2, 3, 1) * corrected;
  const torch::Tensor memory = batch.counted.narrow(1, 4, 1) + graph.narrow(2, 0, 1);
  // Powers are learned in passes of the measured length (predictors/pass_power.hpp), so that noisy hosts do not teach
  // them.
  const torch::Tensor busy_w = (times.narrow(2, 2, 1) - device + graph.narrow(2, 1, 1)).exp() * kUsualPowerW;
  const torch::Tensor replayed = batch.known.narrow(1, 1, 1), busy_ms = replayed * batch.targets.narrow(1, 1, 1).exp() +
                                                                        (1 - replayed) * graph_ms.detach().exp();
  const torch::Tensor whole_ms =
      torch::maximum(batch.counted.narrow(1, 0, 2).expand({graph_ms.size(0), -1, 2}), busy_ms);
  const torch::Tensor powers =
      (batch.counted.narrow(1, 2, 2) + (busy_w - kWaitPowerW) * busy_ms / whole_ms).clamp_min(1).log();
  const torch::Tensor answers = torch::cat({eager_ms, graph_ms, memory, powers}, 2);
  const torch::Tensor weights =
      torch::tensor({static_cast<float>(options.eager_weight), 1.0F, 0.7F, 0.6F, 0.6F}).to(answers.device());
  torch::Tensor loss = (robust(answers - batch.targets, options.bend) * batch.known * weights).sum(2, true);
  if (options.correction_penalty > 0)
    loss = loss + options.correction_penalty * (robust(graph.narrow(2, 2, 2), options.bend).sum(2, true) * corrected);
  return loss;
}

// Rows in random order, dealt into batches of about `graphs_a_batch` networks; operators spread evenly among them.
std::vector<RowIndices> deal(const std::vector<GnnRow>& rows, const RowIndices& chosen, std::size_t graphs_a_batch,
                             std::uint64_t seed) {
  RowIndices networks, operators;
  for (const std::size_t i : chosen) (rows[i].alone ? operators : networks).push_back(i);
  std::mt19937_64 random(seed);
  for (RowIndices* list : {&networks, &operators}) {
    for (std::size_t i = list->size(); i > 1; --i) std::swap((*list)[i - 1], (*list)[random() % i]);
  }
  const std::size_t batches = networks.empty() ? (operators.size() + 8 * graphs_a_batch - 1) / (8 * graphs_a_batch)
                                               : (networks.size() + graphs_a_batch - 1) / graphs_a_batch;
  std::vector<RowIndices> dealt(std::max<std::size_t>(1, batches));
  for (std::size_t i = 0; i < networks.size(); ++i) dealt[i % dealt.size()].push_back(networks[i]);
  for (std::size_t i = 0; i < operators.size(); ++i) dealt[i % dealt.size()].push_back(operators[i]);
  return dealt;
}

KernelNetOptions shape_of(const GraphTensors& graph, const KernelTrainingOptions& options, std::int64_t stack) {
  return {options.kind,
          graph.node_width,
          static_cast<std::int64_t>(graph.globals.size()),
          options.width,
          static_cast<std::int64_t>(kernel_setting_count()),
          options.layers,
          options.dropout,
          options.global_dropout,
          stack,
          {},
          static_cast<std::int64_t>(kernel_timed_column())};
}

void copy_weights(KernelNet& from, KernelNet& to) {
  const torch::NoGradGuard guard;
  const auto source = from.parameters();
  auto target = to.parameters();
  for (std::size_t i = 0; i < target.size(); ++i) target[i].copy_(source[i].expand_as(target[i]));
}

// K x rows: 1 (or the weight of operators) where a member may learn from a row.
torch::Tensor train_weights(const std::vector<GnnRow>& rows, const std::vector<StackMember>& members,
                            double operator_weight) {
  torch::Tensor weights =
      torch::zeros({static_cast<std::int64_t>(members.size()), static_cast<std::int64_t>(rows.size())});
  auto at = weights.accessor<float, 2>();
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (const std::size_t i : members[k].train)
      at[static_cast<std::int64_t>(k)][static_cast<std::int64_t>(i)] =
          rows[i].alone ? static_cast<float>(operator_weight) : 1.0F;
  }
  return weights;
}

torch::Tensor test_weights(const std::vector<GnnRow>& rows, const std::vector<StackMember>& members) {
  torch::Tensor weights =
      torch::zeros({static_cast<std::int64_t>(members.size()), static_cast<std::int64_t>(rows.size())});
  auto at = weights.accessor<float, 2>();
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (const std::size_t i : members[k].test) at[static_cast<std::int64_t>(k)][static_cast<std::int64_t>(i)] = 1;
  }
  return weights;
}

RowIndices rows_with_weight(const torch::Tensor& weights) {
  const torch::Tensor any = weights.amax(0);
  RowIndices chosen;
  for (std::int64_t i = 0; i < any.size(0); ++i) {
    if (any[i].item<float>() > 0) chosen.push_back(static_cast<std::size_t>(i));
  }
  return chosen;
}

std::vector<GraphTensors> chained(const std::vector<GnnRow>& rows) {
  std::vector<GraphTensors> chains;
  for (const GnnRow& row : rows) {
    chains.push_back(row.kernels.graph);
    chains.back().sources = make_sparse_rows(chains.back().nodes, both_ways(chain_edges(chains.back().nodes)));
  }
  return chains;
}

}  // namespace

Result<TrainedStack> train_stack(const std::vector<GnnRow>& rows, const std::vector<StackMember>& members,
                                 const KernelTrainingOptions& options, const ReportEpoch& report, ProcessGroup* group,
                                 KernelNet* start) {
  const torch::Tensor weights = train_weights(rows, members, options.operator_weight);
  const RowIndices chosen = rows_with_weight(weights);
  if (chosen.empty()) return bad_input("no measured rows to train a graph network on");
  const auto stack = static_cast<std::int64_t>(members.size());
  torch::manual_seed(options.fit.seed);
  const std::vector<GraphTensors> chains = options.chain ? chained(rows) : std::vector<GraphTensors>{};
  const Scaling scaling = start != nullptr ? start->scaling() : measure_scaling(items_of(rows, chains, chosen));
  KernelNetOptions shape = shape_of(rows[chosen.front()].kernels.graph, options, stack);
  for (const StackMember& member : members) shape.without_times.push_back(member.without_times);
  TrainedStack trained{std::make_shared<KernelNet>(shape, scaling), {}, {}};
  KernelNet& network = *trained.network;
  if (start != nullptr) copy_weights(*start, network);
  network.to(options.device);
  std::vector<std::vector<StackBatch>> batches;
  for (int p = 0; p < std::max(1, options.partitions); ++p) {
    std::vector<StackBatch> dealt;
    for (const RowIndices& part :
         deal(rows, chosen, options.graphs_a_batch, options.fit.seed + static_cast<std::uint64_t>(p))) {
      dealt.push_back(make_stack_batch(rows, chains, part, weights, options.device));
    }
    batches.push_back(std::move(dealt));
  }
  const LossOfItems loss = [&](std::span<const std::size_t> items, int epoch) {
    torch::Tensor sum;
    for (const std::size_t i : items) {
      const StackBatch& batch = batches[static_cast<std::size_t>(epoch) % batches.size()][i];
      const torch::Tensor part = (loss_of(network, batch, stack, options) * batch.mask).sum() / batch.weight;
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  };
  FitOptions fit_options = options.fit;
  fit_options.batch = group != nullptr ? static_cast<std::size_t>(group->world()) : 1;
  std::vector<StackBatch> held_out;
  const torch::Tensor watched = test_weights(rows, members);
  if (options.watch_every > 0) {
    const RowIndices tested = rows_with_weight(watched);
    if (!tested.empty()) {
      for (const RowIndices& part : deal(rows, tested, options.graphs_a_batch, 1))
        held_out.push_back(make_stack_batch(rows, chains, part, watched, options.device));
    }
    fit_options.watch = [&](int epoch) {
      if (held_out.empty() || epoch % options.watch_every != 0) return;
      torch::Tensor sum = torch::zeros({}, options.device), count = torch::zeros({}, options.device);
      for (const StackBatch& batch : held_out) {
        sum = sum + (loss_of(network, batch, stack, options) * batch.mask).sum();
        count = count + batch.mask.sum();
      }
      trained.watched.push_back(sum.item<double>() / std::max(1.0, count.item<double>()));
    };
  }
  const ReportEpoch with_watched = [&](const EpochReport& epoch) {
    EpochReport scaled_epoch = epoch;
    scaled_epoch.train_loss /= static_cast<double>(stack);
    if (!trained.watched.empty()) scaled_epoch.valid_loss = trained.watched.back();
    if (report) report(scaled_epoch);
  };
  FORERUN_TRY(trained.fit, fit(network, batches.front().size(), loss, {}, fit_options, with_watched, group));
  for (double& value : trained.fit.train_loss) value /= static_cast<double>(stack);
  network.to(torch::kCPU);
  return trained;
}

Result<TrainedStack> pretrain_stack(const std::vector<KernelTensors>& graphs, const KernelTrainingOptions& options,
                                    const ReportEpoch& report) {
  if (graphs.empty()) return bad_input("no graphs to train on");
  torch::manual_seed(options.fit.seed);
  std::vector<BatchItem> items;
  for (const KernelTensors& tensors : graphs) items.push_back({&tensors.graph, tensors.device_ms});
  TrainedStack trained{
      std::make_shared<KernelNet>(shape_of(graphs.front().graph, options, 1), measure_scaling(items)), {}, {}};
  KernelNet& network = *trained.network;
  network.to(options.device);
  std::vector<GraphBatch> batches;
  for (std::size_t at = 0; at < items.size(); at += options.graphs_a_batch) {
    batches.push_back(make_batch(std::span(items).subspan(at, std::min(options.graphs_a_batch, items.size() - at)))
                          .to(options.device));
  }
  const LossOfItems loss = [&](std::span<const std::size_t> chosen, int) {
    torch::Tensor sum;
    for (const std::size_t i : chosen) {
      // States are sums of what is not negative: as they are, any two would agree beyond what a sigmoid can tell.
      torch::Tensor states = network.embed(batches[i])[0];
      states = torch::layer_norm(states - states.mean(0, true), {options.width}) /
               std::pow(static_cast<double>(options.width), 0.35);
      const torch::Tensor part = reconstruction_loss(states, batches[i]);
      sum = sum.defined() ? sum + part : part;
    }
    return sum;
  };
  FitOptions fit_options = options.fit;
  fit_options.batch = 1;
  FORERUN_TRY(trained.fit, fit(network, batches.size(), loss, {}, fit_options, report));
  network.to(torch::kCPU);
  return trained;
}

Result<double> find_kernel_net_rate(const std::vector<GnnRow>& rows, const RowIndices& train,
                                    const KernelTrainingOptions& options) {
  if (train.empty()) return bad_input("no measured rows to train a graph network on");
  torch::manual_seed(options.fit.seed);
  KernelNet network(shape_of(rows[train.front()].kernels.graph, options, 1),
                    measure_scaling(items_of(rows, {}, train)));
  network.to(options.device);
  const torch::Tensor weights = train_weights(rows, {{"", train, {}}}, options.operator_weight);
  std::vector<StackBatch> batches;
  for (const RowIndices& part : deal(rows, train, options.graphs_a_batch, options.fit.seed))
    batches.push_back(make_stack_batch(rows, {}, part, weights, options.device));
  FitOptions fit_options = options.fit;
  fit_options.batch = 1;
  return find_learning_rate(
      network, batches.size(),
      [&](std::span<const std::size_t> items, int) {
        const StackBatch& batch = batches[items.front()];
        return (loss_of(network, batch, 1, options) * batch.mask).sum() / batch.weight;
      },
      fit_options);
}

}  // namespace forerun
