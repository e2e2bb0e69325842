// The two published designs, trained on our measurements: layer kinds, chain against true edges, and what pre-training on
// unlabelled graphs brings with few labels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dataset/splits.hpp"
#include "features/node_encoding.hpp"
#include "training/gnn/generate_graphs.hpp"
#include "training/gnn/studies.hpp"
#include "training/gnn/svg.hpp"

namespace forerun {
namespace {

// Graphs with targets; a target of 0 is not known.
struct LabelledGraphs {
  std::vector<const GraphTensors*> graphs;
  std::vector<std::vector<double>> targets;
};

GraphBatch batch_of(const LabelledGraphs& data, std::span<const std::size_t> chosen) {
  std::vector<BatchItem> items;
  for (const std::size_t i : chosen) items.push_back({data.graphs[i], {}});
  return make_batch(items);
}

torch::Tensor targets_of(const LabelledGraphs& data, std::span<const std::size_t> chosen) {
  std::vector<float> values;
  for (const std::size_t i : chosen) values.insert(values.end(), data.targets[i].begin(), data.targets[i].end());
  return torch::tensor(values).reshape({static_cast<std::int64_t>(chosen.size()), -1});
}

Scaling scaling_of(const LabelledGraphs& data, const std::vector<std::size_t>& chosen) {
  std::vector<BatchItem> items;
  for (const std::size_t i : chosen) items.push_back({data.graphs[i], {}});
  return measure_scaling(items);
}

enum class TargetScale : std::uint8_t {
  Published,  // the measured values times a constant, Huber loss, outputs through −log σ
  Log,        // logarithms, standardised inputs
};

struct NetRun {
  std::vector<double> mape;  // per target
  FitResult fit;
};

// MAPE per target of the network's forward pass.
template <typename Network>
std::vector<double> mape_of(Network& network, const LabelledGraphs& data, const std::vector<std::size_t>& test, const std::function<torch::Tensor(const torch::Tensor&)>& to_value) {
  const torch::NoGradGuard guard;
  network.eval();
  const std::size_t width = data.targets.front().size();
  std::vector<double> sum(width, 0), count(width, 0);
  for (const std::size_t i : test) {
    const torch::Tensor value = to_value(network.forward(batch_of(data, {&i, 1})));
    for (std::size_t k = 0; k < width; ++k) {
      if (data.targets[i][k] <= 0) continue;
      sum[k] += std::abs(value[0][static_cast<std::int64_t>(k)].template item<double>() / data.targets[i][k] - 1);
      count[k] += 1;
    }
  }
  for (std::size_t k = 0; k < width; ++k) sum[k] = count[k] > 0 ? 100 * sum[k] / count[k] : 0;
  return sum;
}

// Begins a network that learns logarithms at their mean, so that the first epochs are not spent on finding it.
void start_at_mean(torch::nn::Module& network, const char* last_bias, const LabelledGraphs& data, const std::vector<std::size_t>& train) {
  const torch::NoGradGuard guard;
  const torch::Tensor targets = targets_of(data, train), known = (targets > 0).to(torch::kFloat);
  network.named_parameters()[last_bias].copy_((targets.clamp_min(1e-6).log() * known).sum(0) / known.sum(0).clamp_min(1));
}

Result<NetRun> run_inference_net(const StudyInput& input, const LabelledGraphs& data, const std::vector<std::size_t>& train, const std::vector<std::size_t>& test,
                                 LayerKind kind, TargetScale scale, const std::string& note) {
  torch::manual_seed(input.options.seed);
  const bool published = scale == TargetScale::Published;
  const InferenceNetOptions shape{kind, data.graphs.front()->node_width, static_cast<std::int64_t>(data.graphs.front()->globals.size()),
                                  input.options.published_width, 3, 0.05, published};
  InferenceNet network(shape, published ? Scaling{} : scaling_of(data, train));
  if (!published) start_at_mean(network, "dense3.bias", data, train);
  const torch::Tensor factor = torch::tensor({1000.0F, 10.0F, 1.0F});  // µs, decijoule, MB, as the published code scales them
  const LossOfItems loss = [&](std::span<const std::size_t> items, std::uint64_t) {
    std::vector<std::size_t> chosen;
    for (const std::size_t i : items) chosen.push_back(train[i]);
    const torch::Tensor out = network.forward(batch_of(data, chosen)), target = targets_of(data, chosen);
    const torch::Tensor known = (target > 0).to(torch::kFloat);
    const torch::Tensor error = published ? out - target * factor : out - target.clamp_min(1e-6).log();
    return (torch::huber_loss(error * known, torch::zeros_like(error), at::Reduction::None)).sum();
  };
  const FitOptions fit_options{.epochs = input.options.published_epochs, .batch = std::size_t(published ? 1 : 8),
                               .learning_rate = published ? 2.754e-5 : 2e-3, .falling_rate = !published, .clip_norm = published ? 0.0 : 5.0,
                               .seed = input.options.seed};
  const auto report = [&](const EpochReport& epoch) { input.say(note + "  " + progress_line(epoch)); };
  NetRun run;
  FORERUN_TRY(run.fit, fit(network, train.size(), loss, {}, fit_options, report));
  run.mape = mape_of(network, data, test, [&](const torch::Tensor& out) { return published ? out / factor : out.exp(); });
  return run;
}

double metric_of(const Example& example, std::string_view name) {
  const auto found = example.metrics.find(name);
  return found == example.metrics.end() ? 0 : found->second;
}

struct PublishedSet {
  std::vector<std::size_t> examples;
  std::vector<PublishedTensors> tensors;
  std::vector<std::size_t> train, test;  // positions: as published, one fold held out
};

Result<PublishedSet> load_set(const StudyInput& input, const std::function<bool(const Example&)>& wanted) {
  PublishedSet set;
  std::vector<Example> chosen;
  for (std::size_t i = 0; i < input.dataset->examples.size(); ++i) {
    const Example& example = input.dataset->examples[i];
    if (!wanted(example)) continue;
    auto tensors = encode_published(example);
    if (!tensors) continue;
    set.examples.push_back(i);
    set.tensors.push_back(std::move(*tensors));
    chosen.push_back(example);
  }
  if (chosen.size() < 20) return bad_input("too few measured rows for this study");
  const Fold fold = split(split_keys(chosen), SplitKind::AsPublished, input.options.seed).front();
  set.train = fold.train;
  set.test = fold.test;
  return set;
}

struct TrainedEncoder {
  std::shared_ptr<GraphEncoder> encoder;
  FitResult fit;
  std::size_t graphs = 0;
};

Result<TrainedEncoder> pretrain(const StudyInput& input, std::int64_t width, int epochs) {
  std::vector<GraphTensors> graphs;
  for (std::uint64_t i = 0; i < input.options.unlabelled; ++i) {
    FORERUN_TRY(const Graph graph, generate_graph(input.options.seed, i));
    graphs.push_back(encode_training_nodes(graph, Workload{}, EdgeKind::DataFlow));
  }
  const auto batch_for = [&](std::span<const std::size_t> items) {
    std::vector<BatchItem> chosen;
    for (const std::size_t i : items) chosen.push_back({&graphs[i], {}});
    return make_batch(chosen);
  };
  std::vector<BatchItem> all;
  for (const GraphTensors& graph : graphs) all.push_back({&graph, {}});
  torch::manual_seed(input.options.seed);
  TrainedEncoder trained{std::make_shared<GraphEncoder>(kTrainingNodeWidth, width, measure_scaling(all)), {}, graphs.size()};
  if (epochs == 0) return trained;
  const LossOfItems loss = [&](std::span<const std::size_t> items, std::uint64_t seed) {
    const GraphBatch batch = batch_for(items);
    return reconstruction_loss(trained.encoder->forward(batch), batch, seed) * static_cast<double>(items.size());
  };
  const auto report = [&](const EpochReport& epoch) { input.say("auto-encoder  " + progress_line(epoch)); };
  FORERUN_TRY(trained.fit, fit(*trained.encoder, graphs.size(), loss, {}, {.epochs = epochs, .batch = 16, .learning_rate = 5e-4, .falling_rate = false, .seed = input.options.seed}, report));
  return trained;
}

}  // namespace

Result<StudySection> study_inference_network(const StudyInput& input) {
  FORERUN_TRY(const PublishedSet set, load_set(input, [](const Example& e) {
    return e.domain == Domain::VisionInference && e.workload.precision == Precision::Fp32 && e.metrics.contains(kLatencyEager);
  }));
  LabelledGraphs chain, flow;
  for (std::size_t i = 0; i < set.examples.size(); ++i) {
    const Example& example = input.dataset->examples[set.examples[i]];
    chain.graphs.push_back(&set.tensors[i].inference_chain);
    flow.graphs.push_back(&set.tensors[i].inference_flow);
    chain.targets.push_back({metric_of(example, kLatencyEager), metric_of(example, kEnergy), metric_of(example, kMemory)});
    flow.targets.push_back(chain.targets.back());
  }
  StudySection section;
  section.markdown = fmt::format(
      "{} fp32 vision rows for training, {} held out (as published: other batches of a network may be in training); node features of 32, width {} instead of 512, {} epochs instead of 500. "
      "“As published” is the original recipe (raw targets, Huber loss, Adam 2.754e-5, one graph per step); “log targets” standardises the inputs, learns logarithms and uses a rate of 2e-3. MAPE in per cent.\n\n"
      "| recipe | network | edges | latency_eager_ms | energy_j | memory_mb |\n|---|---|---|---|---|---|\n",
      set.train.size(), set.test.size(), input.options.published_width, input.options.published_epochs);
  std::vector<SvgCurve> curves;
  struct Case {
    LayerKind kind;
    const LabelledGraphs* data;
    const char* edges;
    TargetScale scale;
  };
  const Case cases[] = {{LayerKind::Sage, &chain, "chain", TargetScale::Published}, {LayerKind::Sage, &chain, "chain", TargetScale::Log},
                        {LayerKind::Sage, &flow, "data flow", TargetScale::Log},    {LayerKind::Gcn, &flow, "data flow", TargetScale::Log},
                        {LayerKind::Gat, &flow, "data flow", TargetScale::Log},     {LayerKind::Gin, &flow, "data flow", TargetScale::Log},
                        {LayerKind::Count, &flow, "none", TargetScale::Log}};
  for (const Case& c : cases) {
    const std::string name = c.kind == LayerKind::Count ? "mlp" : std::string(name_of(c.kind));
    const std::string recipe = c.scale == TargetScale::Published ? "as published" : "log targets";
    FORERUN_TRY(const NetRun run, run_inference_net(input, *c.data, set.train, set.test, c.kind, c.scale, recipe + " " + name + " " + c.edges));
    section.markdown += fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} |\n", recipe, name, c.edges, run.mape[0], run.mape[1], run.mape[2]);
    if (c.scale == TargetScale::Log) curves.push_back({name + ", " + c.edges, run.fit.train_loss});
  }
  section.pictures["gnn-inference-network.svg"] = draw_curves("Published inference network, training loss", "loss", curves);
  section.markdown += "\n![training loss](accuracy-gnn/gnn-inference-network.svg)\n";
  return section;
}

Result<StudySection> study_training_network(const StudyInput& input) {
  FORERUN_TRY(const PublishedSet set, load_set(input, [](const Example& e) { return e.domain == Domain::VisionTraining && e.metrics.contains(kStep); }));
  LabelledGraphs data;
  for (std::size_t i = 0; i < set.examples.size(); ++i) {
    data.graphs.push_back(&set.tensors[i].training_flow);
    data.targets.push_back({metric_of(input.dataset->examples[set.examples[i]], kStep)});
  }
  const std::int64_t width = input.options.published_width;
  FORERUN_TRY(const TrainedEncoder trained, pretrain(input, width, input.options.pretrain_epochs));
  FORERUN_TRY(const TrainedEncoder random, pretrain(input, width, 0));
  StudySection section;
  section.markdown = fmt::format(
      "Step time; {} training rows, {} held out (as published). Node features of 113, width {} instead of 512, {} epochs instead of 100; auto-encoder pre-trained on {} generated graphs for {} epochs "
      "(reconstruction loss {:.3f} → {:.3f}) and frozen. Targets are logarithms. One seed ({}). MAPE of step_ms in per cent, by share of the labels used.\n\n"
      "| network | 10 % | 25 % | 50 % | 100 % |\n|---|---|---|---|---|\n",
      set.train.size(), set.test.size(), width, input.options.published_epochs, trained.graphs, input.options.pretrain_epochs, trained.fit.train_loss.front(),
      trained.fit.train_loss.back(), input.options.seed);
  struct Case {
    const char* name;
    std::shared_ptr<GraphEncoder> encoder;
  };
  std::vector<SvgCurve> curves;
  for (const Case& c : {Case{"supervised alone", nullptr}, Case{"with a random encoder", random.encoder}, Case{"with the pre-trained encoder", trained.encoder}}) {
    section.markdown += fmt::format("| {} |", c.name);
    for (const int percent : {10, 25, 50, 100}) {
      std::vector<std::size_t> train;
      for (const std::size_t i : set.train) {
        const Example& example = input.dataset->examples[set.examples[i]];
        if (mix_seed(example.row_id, input.options.seed) % 100 < static_cast<std::uint64_t>(percent)) train.push_back(i);
      }
      torch::manual_seed(input.options.seed);
      TrainingNet network(kTrainingNodeWidth, kTrainingStaticWidth, width, c.encoder, scaling_of(data, train));
      start_at_mean(network, "dense2.bias", data, train);
      const LossOfItems loss = [&](std::span<const std::size_t> items, std::uint64_t) {
        std::vector<std::size_t> chosen;
        for (const std::size_t i : items) chosen.push_back(train[i]);
        return (network.forward(batch_of(data, chosen)) - targets_of(data, chosen).log()).pow(2).sum();
      };
      const std::string note = fmt::format("{} {} %", c.name, percent);
      const auto report = [&](const EpochReport& epoch) { input.say(note + "  " + progress_line(epoch)); };
      FORERUN_TRY(const FitResult result, fit(network, train.size(), loss, {}, {.epochs = input.options.published_epochs, .batch = 8, .learning_rate = 1e-3, .clip_norm = 5, .seed = input.options.seed}, report));
      const std::vector<double> mape = mape_of(network, data, set.test, [](const torch::Tensor& out) { return out.clamp(-10, 12).exp(); });
      section.markdown += fmt::format(" {:.1f} |", mape[0]);
      if (percent == 100) curves.push_back({c.name, result.train_loss});
    }
    section.markdown += "\n";
  }
  section.pictures["gnn-training-network.svg"] = draw_curves("Published training network, training loss", "loss", curves);
  section.markdown += "\n![training loss](accuracy-gnn/gnn-training-network.svg)\n";
  return section;
}

}  // namespace forerun
