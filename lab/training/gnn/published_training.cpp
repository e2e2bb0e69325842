#include "training/gnn/published_training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "features/log_features.hpp"

namespace forerun {
namespace {

constexpr std::size_t kGraphsAStep = 32;
// µs, decijoule and MB: outputs named *_ms, *_j and others.
double factor_of(const std::string& output) {
  if (output.find("_ms") != std::string::npos) return 1000;
  return output.find("_j") != std::string::npos ? 10 : 1;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Batch {
  GraphBatch graphs;
  torch::Tensor targets;    // B x outputs
  torch::Tensor weights;    // K x B x 1: whether a network learns from the graph
  torch::Tensor index;      // B: the items
  torch::Tensor embedding;  // B x width, where there is an encoder
};

// The network's graphs as a recipe wants them.
std::vector<GraphTensors> prepare(const PublishedSet& set, const PublishedRecipe& recipe, bool log_features,
                                  std::size_t statics) {
  std::vector<GraphTensors> graphs = set.graphs;
  for (GraphTensors& graph : graphs) {
    if (log_features) graph = with_log_features(std::move(graph));
    if (!recipe.settings) std::fill(graph.globals.begin() + std::ptrdiff_t(statics), graph.globals.end(), 0.0F);
    if (!recipe.chain) continue;
    graph.sources.columns.resize(std::size_t(graph.nodes) - 1);
    std::iota(graph.sources.columns.begin(), graph.sources.columns.end(), 0);
    for (std::int32_t i = 0; i <= graph.nodes; ++i) graph.sources.offsets[std::size_t(i)] = std::max(0, i - 1);
  }
  return graphs;
}

std::vector<Batch> make_batches(const PublishedSet& set, const std::vector<GraphTensors>& graphs,
                                const std::vector<std::size_t>& split_of, const PublishedPlace& place) {
  std::vector<std::size_t> order(graphs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(place.seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  std::vector<Batch> batches;
  for (std::size_t at = 0; at < order.size(); at += kGraphsAStep) {
    const auto chosen = std::span(order).subspan(at, std::min(kGraphsAStep, order.size() - at));
    std::vector<BatchItem> items;
    std::vector<float> targets, weights;
    std::vector<std::int64_t> index;
    for (const std::size_t i : chosen) {
      items.push_back({&graphs[i], {}});
      targets.insert(targets.end(), set.items[i].targets.begin(), set.items[i].targets.end());
      index.push_back(std::int64_t(i));
    }
    for (const std::size_t split : split_of) {
      for (const std::size_t i : chosen) weights.push_back(set.items[i].parts[split] == Part::Train ? 1.0F : 0.0F);
    }
    const auto count = std::int64_t(chosen.size());
    batches.push_back({make_batch(items).to(place.device), torch::tensor(targets).view({count, -1}).to(place.device),
                       torch::tensor(weights).view({-1, count, 1}).to(place.device),
                       torch::tensor(index).to(place.device), torch::Tensor()});
  }
  return batches;
}

std::vector<BatchItem> items_of(const std::vector<GraphTensors>& graphs) {
  std::vector<BatchItem> items;
  for (const GraphTensors& graph : graphs) items.push_back({&graph, {}});
  return items;
}

// Mean of a target, or of its logarithm, over the items a split learns from.
double mean_target(const PublishedSet& set, std::size_t split, std::size_t output, bool logarithm, double factor) {
  double sum = 0, count = 0;
  for (const PublishedItem& item : set.items) {
    const double target = item.targets[output];
    if (item.parts[split] != Part::Train || !(target > 0)) continue;
    sum += logarithm ? std::log(target) : target * factor;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

torch::Tensor loss_of(const torch::Tensor& error, Loss loss) {
  if (loss == Loss::Squared) return error.pow(2);
  return torch::huber_loss(error, torch::zeros_like(error), at::Reduction::None, loss == Loss::Near ? 0.1 : 1.0);
}

// As many epochs as fit into the time, at most those wanted. 0 seconds: those wanted.
Result<int> epochs_within(torch::nn::Module& module, std::size_t batches, const LossOfItems& loss,
                          const FitOptions& wanted, double seconds) {
  if (!(seconds > 0) || wanted.epochs <= 3) return wanted.epochs;
  FitOptions probe = wanted;
  probe.epochs = 1, probe.learning_rate = 0;
  double epoch_s = 0;
  for (int i = 0; i < 2; ++i) {  // the first one also warms up
    const Clock::time_point start = Clock::now();
    FORERUN_TRY([[maybe_unused]] const FitResult tried, fit(module, batches, loss, {}, probe));
    epoch_s = seconds_since(start);
  }
  return std::clamp(int(seconds / epoch_s), 2, wanted.epochs);
}

// The networks of a stack as fit() and the answers see them.
struct Stack {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const Batch&)> forward;  // K x B x outputs, in targets' units times factor or their logs
  torch::Tensor factor;                                // outputs, or K x 1 x 1; of raw targets
  std::function<torch::Tensor(const Batch&)> targets;  // K or 1 x B x outputs
};

Status run_stack(const Stack& stack, const std::vector<Batch>& batches, std::size_t items,
                 const PublishedRecipe& recipe, const PublishedPlace& place, PublishedRun& run) {
  stack.module->to(place.device);
  const LossOfItems loss = [&](std::span<const std::size_t> chosen, int) {
    const Batch& batch = batches[chosen.front()];
    const torch::Tensor target = stack.targets(batch);
    const torch::Tensor wanted = recipe.log_targets ? target.clamp_min(1e-9).log() : target * stack.factor;
    const torch::Tensor error = loss_of(stack.forward(batch) - wanted, recipe.loss);
    return (error * (target > 0).to(torch::kFloat) * batch.weights).sum() / double(batch.graphs.graphs);
  };
  FitOptions options{.epochs = recipe.epochs,
                     .batch = 1,
                     .learning_rate = recipe.rate,
                     .falling_rate = recipe.falling_rate,
                     .clip_norm = recipe.log_targets ? 10.0 : 0.0,
                     .seed = place.seed};
  FORERUN_TRY(options.epochs, epochs_within(*stack.module, batches.size(), loss, options, recipe.seconds));
  const Clock::time_point start = Clock::now();
  const auto report = [&](const EpochReport& epoch) {
    if (epoch.epoch % 25 == 0 || epoch.epoch == epoch.epochs) place.say(recipe.name + "  " + progress_line(epoch));
  };
  FORERUN_TRY(FitResult fitted, fit(*stack.module, batches.size(), loss, {}, options, report));
  run.name = recipe.name;
  run.epochs = options.epochs;
  run.seconds = seconds_since(start);
  run.members = std::int32_t(batches.front().weights.size(0));
  for (const torch::Tensor& parameter : stack.module->parameters())
    run.parameters += double(parameter.numel()) / run.members;
  for (const double value : fitted.train_loss) run.loss.push_back(value / run.members);
  stack.module->eval();
  const torch::NoGradGuard guard;
  torch::Tensor all;
  for (const Batch& batch : batches) {
    const torch::Tensor out = stack.forward(batch);
    const torch::Tensor part = recipe.log_targets ? out.clamp(-12, 16).exp() : out / stack.factor;
    if (!all.defined()) all = torch::zeros({part.size(0), std::int64_t(items), part.size(2)}, part.options());
    all.index_copy_(1, batch.index, part);
  }
  all = all.cpu().contiguous();
  run.outputs = std::int32_t(all.size(2));
  run.answers.assign(all.data_ptr<float>(), all.data_ptr<float>() + all.numel());
  return ok();
}

}  // namespace

Result<PublishedRun> train_inference_design(const PublishedSet& set, const PublishedRecipe& recipe,
                                            const PublishedPlace& place) {
  torch::manual_seed(place.seed);
  const std::vector<GraphTensors> graphs =
      prepare(set, recipe, recipe.scaled_inputs, set.graphs.front().globals.size());
  const InferenceNetOptions shape{.kind = recipe.kind,
                                  .node_width = graphs.front().node_width,
                                  .global_width = std::int64_t(graphs.front().globals.size()),
                                  .width = recipe.width,
                                  .outputs = std::int64_t(set.outputs.size()),
                                  .positive = !recipe.log_targets,
                                  .stack = std::int64_t(recipe.splits.size()),
                                  .pool = recipe.pool,
                                  .unit_states = recipe.unit_states};
  const auto network =
      std::make_shared<InferenceNet>(shape, recipe.scaled_inputs ? measure_scaling(items_of(graphs)) : Scaling{});
  std::vector<float> factors;
  for (const std::string& output : set.outputs) factors.push_back(float(factor_of(output)));
  if (recipe.log_targets) {
    const torch::NoGradGuard guard;
    torch::Tensor bias = network->named_parameters()["dense3.bias"];  // K x 1 x outputs
    for (std::size_t k = 0; k < recipe.splits.size(); ++k) {
      for (std::size_t o = 0; o < set.outputs.size(); ++o)
        bias[std::int64_t(k)][0][std::int64_t(o)] = mean_target(set, recipe.splits[k], o, true, 1);
    }
  }
  const std::vector<Batch> batches = make_batches(set, graphs, recipe.splits, place);
  const Stack stack{network, [&](const Batch& batch) { return network->forward(batch.graphs.repeated(shape.stack)); },
                    torch::tensor(factors).to(place.device),
                    [](const Batch& batch) { return batch.targets.unsqueeze(0); }};
  PublishedRun run;
  FORERUN_CHECK(run_stack(stack, batches, graphs.size(), recipe, place, run));
  if (recipe.keep_weights) keep_tensors(*network, "", run);
  return run;
}

Result<EncoderRun> train_encoder(const std::vector<GraphTensors>& graphs, std::int64_t width, int epochs,
                                 const PublishedPlace& place, double seconds) {
  torch::manual_seed(place.seed);
  const std::vector<BatchItem> all = items_of(graphs);
  if (all.empty()) return bad_input("no graph to pre-train on");
  EncoderRun trained{
      std::make_shared<GraphEncoder>(std::int64_t(graphs.front().node_width), width, measure_scaling(all)), {}};
  trained.encoder->to(place.device);
  std::vector<GraphBatch> batches;
  constexpr std::size_t kBatch = 64;
  for (std::size_t at = 0; at < all.size(); at += kBatch)
    batches.push_back(make_batch(std::span(all).subspan(at, std::min(kBatch, all.size() - at))).to(place.device));
  const LossOfItems loss = [&](std::span<const std::size_t> items, int) {
    return reconstruction_loss(trained.encoder->forward(batches[items.front()]), batches[items.front()]);
  };
  trained.run.name = epochs > 0 ? "encoder" : "random encoder";
  trained.run.members = 1;
  const Clock::time_point start = Clock::now();
  if (epochs == 0) {
    const torch::NoGradGuard guard;
    trained.encoder->train();
    for (std::size_t i = 0; i < std::min<std::size_t>(50, batches.size()); ++i) trained.encoder->forward(batches[i]);
  } else {
    FitOptions options{.epochs = epochs, .batch = 1, .learning_rate = 5e-4, .falling_rate = false, .seed = place.seed};
    FORERUN_TRY(options.epochs, epochs_within(*trained.encoder, batches.size(), loss, options, seconds));
    FORERUN_TRY(FitResult fitted, fit(*trained.encoder, batches.size(), loss, {}, options));
    trained.run.loss = std::move(fitted.train_loss);
    trained.run.epochs = options.epochs;
    place.say("encoder: loss " + std::to_string(trained.run.loss.back()) + " after " +
              std::to_string(trained.run.epochs) + " epochs");
  }
  trained.run.seconds = seconds_since(start);
  for (const torch::Tensor& parameter : trained.encoder->parameters())
    trained.run.parameters += double(parameter.numel());
  trained.encoder->eval();
  return trained;
}

Result<PublishedRun> train_training_design(const PublishedSet& set, const PublishedRecipe& recipe,
                                           GraphEncoder* encoder, const PublishedPlace& place) {
  torch::manual_seed(place.seed);
  const std::size_t statics = 6, targets = set.outputs.size();
  const std::vector<GraphTensors> graphs = prepare(set, recipe, false, statics);
  std::vector<std::size_t> split_of;
  std::vector<std::int64_t> target_of;
  std::vector<float> factors;
  for (std::size_t t = 0; t < targets; ++t) {
    for (const std::size_t split : recipe.splits) {
      split_of.push_back(split);
      target_of.push_back(std::int64_t(t));
      factors.push_back(1);
    }
  }
  const auto stack_size = std::int64_t(split_of.size());
  std::vector<Batch> batches = make_batches(set, graphs, split_of, place);
  const Scaling scaling = measure_scaling(items_of(graphs));
  TrainingNetOptions shape{.node_width = graphs.front().node_width,
                           .global_width = std::int64_t(graphs.front().globals.size()),
                           .width = recipe.width,
                           .embedding = encoder != nullptr ? encoder->width() : 0,
                           .stack = stack_size,
                           .pool = recipe.pool,
                           .unit_states = recipe.unit_states};
  if (encoder != nullptr) {
    const torch::NoGradGuard guard;
    std::vector<torch::Tensor> parts;
    for (Batch& batch : batches) parts.push_back(batch.embedding = encoder->embed(batch.graphs));
    const torch::Tensor all = torch::cat(parts);
    shape.embedding_mean = all.mean(0);
    shape.embedding_deviation = (all - shape.embedding_mean).pow(2).mean(0).sqrt().clamp_min(1e-4);
  }
  Stack stack;
  const char* last_bias = "dense2.bias";
  if (recipe.kind == LayerKind::Count) {
    const auto network = std::make_shared<InferenceNet>(InferenceNetOptions{.kind = LayerKind::Count,
                                                                            .node_width = shape.node_width,
                                                                            .global_width = shape.global_width,
                                                                            .width = recipe.width,
                                                                            .outputs = 1,
                                                                            .positive = false,
                                                                            .stack = stack_size},
                                                        scaling);
    last_bias = "dense3.bias";
    stack.module = network;
    stack.forward = [=](const Batch& batch) { return network->forward(batch.graphs.repeated(stack_size)); };
  } else {
    const auto network = std::make_shared<TrainingNet>(shape, scaling);
    stack.module = network;
    stack.forward = [=](const Batch& batch) {
      return network->forward(batch.graphs.repeated(stack_size), batch.embedding);
    };
  }
  {
    const torch::NoGradGuard guard;
    torch::Tensor bias = stack.module->named_parameters()[last_bias];  // K x 1 x 1
    for (std::size_t k = 0; k < split_of.size(); ++k)
      bias[std::int64_t(k)][0][0] = mean_target(set, split_of[k], std::size_t(target_of[k]), recipe.log_targets, 1);
  }
  stack.factor = torch::tensor(factors).view({-1, 1, 1}).to(place.device);
  const torch::Tensor picked = torch::tensor(target_of).to(place.device);
  stack.targets = [picked](const Batch& batch) { return batch.targets.t().index_select(0, picked).unsqueeze(2); };
  PublishedRun run;
  FORERUN_CHECK(run_stack(stack, batches, graphs.size(), recipe, place, run));
  if (recipe.keep_weights) {
    keep_tensors(*stack.module, "", run);
    if (encoder != nullptr) keep_tensors(*encoder, "encoder:", run);
  }
  return run;
}

namespace {

std::vector<std::pair<std::string, torch::Tensor>> named_state(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, torch::Tensor>> state;
  for (const auto& one : module.named_parameters()) state.emplace_back(one.key(), one.value());
  for (const auto& one : module.named_buffers()) state.emplace_back(one.key(), one.value());
  return state;
}

}  // namespace

void keep_tensors(const torch::nn::Module& module, const std::string& prefix, PublishedRun& run) {
  for (const auto& [name, tensor] : named_state(module)) {
    const torch::Tensor dense = tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
    run.tensor_names.push_back(prefix + name);
    run.tensors.emplace_back(dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel());
  }
}

Status set_tensors(torch::nn::Module& module, const std::string& prefix, const PublishedRun& run) {
  const torch::NoGradGuard guard;
  for (auto& [name, tensor] : named_state(module)) {
    const auto found = std::find(run.tensor_names.begin(), run.tensor_names.end(), prefix + name);
    if (found == run.tensor_names.end()) return bad_input("run '" + run.name + "' has no tensor " + prefix + name);
    const std::vector<float>& values = run.tensors[std::size_t(found - run.tensor_names.begin())];
    if (std::int64_t(values.size()) != tensor.numel())
      return bad_input("run '" + run.name + "': tensor " + prefix + name + " has another size");
    torch::Tensor(tensor).copy_(torch::tensor(values).view(tensor.sizes()));
  }
  return ok();
}

}  // namespace forerun
