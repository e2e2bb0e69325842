// Graph networks that really train: gradients, parity with the shipped code, over-fitting, resuming, two processes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "devices/catalogue.hpp"
#include "predictors/gnn/engine.hpp"
#include "training/gnn/generate_graphs.hpp"
#include "training/gnn/kernel_training.hpp"
#include "training/gnn/networks.hpp"
#include "training/gnn/trainer.hpp"

namespace forerun {
namespace {

GraphTensors random_graph(std::int32_t nodes, std::int32_t width, std::int32_t global_width, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  GraphTensors graph;
  graph.nodes = nodes;
  graph.node_width = width;
  for (std::int32_t i = 0; i < nodes * width; ++i) graph.node_features.push_back(normal(random));
  for (std::int32_t i = 0; i < global_width; ++i) graph.globals.push_back(normal(random));
  std::vector<Edge> edges = chain_edges(nodes);
  for (std::int32_t i = 2; i < nodes; ++i)
    edges.emplace_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(i)), i);
  graph.sources = make_sparse_rows(nodes, edges);
  return graph;
}

std::vector<float> ramp(std::int32_t nodes) {
  std::vector<float> weights;
  for (std::int32_t i = 0; i < nodes; ++i) weights.push_back(0.1F + static_cast<float>(i));
  return weights;
}

class EveryLayer : public testing::TestWithParam<LayerKind> {};

TEST_P(EveryLayer, HasTheGradientsThatFiniteDifferencesGive) {
  torch::manual_seed(3);
  const GraphTensors graph = random_graph(7, 4, 2, 5);
  const BatchItem item{&graph, {}};
  GraphBatch batch = make_batch({&item, 1}).to(torch::kDouble);
  batch = batch.repeated(2);  // two networks at once
  const auto layer = make_layer(GetParam(), 2, 4, 3);
  layer->to(torch::kDouble);
  const torch::Tensor direction = torch::randn({2, 7, 3}, torch::kDouble);
  torch::Tensor x = batch.nodes.unsqueeze(0).repeat({2, 1, 1}).clone().requires_grad_(true);
  const auto value = [&](const torch::Tensor& input) { return (layer->forward(input, batch) * direction).sum(); };
  value(x).backward();
  std::vector<torch::Tensor> checked = layer->parameters();
  checked.push_back(x);
  const torch::NoGradGuard guard;
  for (torch::Tensor& tensor : checked) {
    torch::Tensor flat = tensor.view({-1});
    const torch::Tensor gradient = tensor.grad().contiguous().view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const double before = flat[i].item<double>(), step = 1e-6;
      flat[i] = before + step;
      const double above = value(x).item<double>();
      flat[i] = before - step;
      const double below = value(x).item<double>();
      flat[i] = before;
      EXPECT_NEAR(gradient[i].item<double>(), (above - below) / (2 * step), 1e-5) << i;
    }
  }
}

// The cases that predictors/gnn is tested on without LibTorch: the network, a graph and the answer.
void store_case(BundleWriter& writer, const GraphTensors& graph, std::span<const float> weights,
                const std::vector<torch::Tensor>& expected, const std::string& path) {
  const auto add = [&writer](const char* name, const auto& numbers) {
    ASSERT_TRUE(writer.add_section(
        name, std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0]))));
  };
  add("case.nodes", graph.node_features);
  add("case.globals", graph.globals);
  add("case.offsets", graph.sources.offsets);
  add("case.columns", graph.sources.columns);
  add("case.weights", weights);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const torch::Tensor dense = expected[k].contiguous();
    add(("case.output" + std::to_string(k)).c_str(),
        std::vector<float>(dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel()));
  }
  ASSERT_TRUE(writer.write(path));
}

void expect_same(const ProgramWriter& writer, const GraphTensors& graph, std::span<const float> weights,
                 const std::vector<torch::Tensor>& expected, const std::string& stored = "") {
  auto made = writer.bundle({.name = "test"});
  ASSERT_TRUE(made) << made.error().message;
  if (const char* folder = std::getenv("FORERUN_WRITE_CASES"); folder != nullptr && !stored.empty()) {
    BundleWriter with_case = *made;
    store_case(with_case, graph, weights, expected, std::string(folder) + "/" + stored + ".bundle");
  }
  const auto bytes = made->bytes();
  ASSERT_TRUE(bytes);
  const auto bundle = Bundle::from_bytes(*bytes, "test.bundle");
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto engine = GnnEngine::load(*bundle);
  ASSERT_TRUE(engine) << engine.error().message;
  const auto outputs = engine->run(graph, weights);
  ASSERT_TRUE(outputs) << outputs.error().message;
  ASSERT_EQ(outputs->size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const Matrix& got = (*outputs)[k];
    const double scale = expected[k].abs().max().item<double>();
    for (std::int64_t i = 0; i < expected[k].size(0); ++i) {
      for (std::int64_t j = 0; j < expected[k].size(1); ++j) {
        EXPECT_NEAR(got(i, j), expected[k][i][j].item<double>(), 1e-4 * scale)
            << "output " << k << " at " << i << ", " << j;
      }
    }
  }
}

TEST_P(EveryLayer, GivesTheSameNumbersInTheShippedCode) {
  torch::manual_seed(11);
  const GraphTensors graph = random_graph(60, 12, 5, 21);
  const std::vector<float> weights = ramp(60);
  const BatchItem item{&graph, weights};
  const GraphBatch batch = make_batch({&item, 1});
  const torch::NoGradGuard guard;
  InferenceNet published({.kind = GetParam(), .node_width = 12, .global_width = 5, .width = 48},
                         measure_scaling({&item, 1}));
  published.eval();
  round_to_half(published);
  expect_same(published.write(0), graph, weights, {published.forward(batch)[0]});
  KernelNet ours({.kind = GetParam(), .node_width = 12, .global_width = 5, .width = 24, .settings = 3, .stack = 3},
                 measure_scaling({&item, 1}));
  ours.eval();
  round_to_half(ours);
  const KernelNetOutput out = ours.forward(batch.repeated(3));
  const std::vector<std::int64_t> one = {1}, two = {2, 0};
  expect_same(ours.write(one), graph, weights, {out.node[1], out.graph[1]}, std::string(name_of(GetParam())));
  expect_same(ours.write(two), graph, weights, {out.node[2], out.graph[2], out.node[0], out.graph[0]});
}

INSTANTIATE_TEST_SUITE_P(Layers, EveryLayer,
                         testing::Values(LayerKind::Sage, LayerKind::Gcn, LayerKind::Gat, LayerKind::Gin,
                                         LayerKind::None),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(KernelNet, SaysTheSameOfAKernelWhateverTheTimerSaysWhereItIsNotTold) {
  torch::manual_seed(12);
  GraphTensors graph = random_graph(40, 12, 5, 22);
  const std::vector<float> weights = ramp(40);
  const BatchItem item{&graph, weights};
  const torch::NoGradGuard guard;
  KernelNet network({.node_width = 12,
                     .global_width = 5,
                     .width = 24,
                     .settings = 3,
                     .stack = 3,
                     .without_times = {false, true, true},
                     .timed_column = 4},
                    measure_scaling({&item, 1}));
  network.eval();
  round_to_half(network);
  const KernelNetOutput before = network.forward(make_batch({&item, 1}).repeated(3));
  const std::vector<std::int64_t> some = {1, 0, 2};
  expect_same(network.write(some), graph, weights,
              {before.node[1], before.graph[1], before.node[0], before.graph[0], before.node[2], before.graph[2]});
  for (std::int32_t i = 0; i < graph.nodes; ++i)
    graph.node_features[static_cast<std::size_t>(i * graph.node_width + 4)] += 0.5F;
  const KernelNetOutput after = network.forward(make_batch({&item, 1}).repeated(3));
  EXPECT_FALSE(torch::allclose(before.node[0], after.node[0], 1e-3, 1e-3));
  // The trees' time is longer by exp(0.5), the ratio to it is shorter by as much: the product is the same.
  EXPECT_TRUE(torch::allclose(before.node[1].select(1, 0) - 0.5, after.node[1].select(1, 0), 1e-5, 1e-5));
  EXPECT_TRUE(torch::allclose(before.node[1].narrow(1, 1, 2), after.node[1].narrow(1, 1, 2), 1e-5, 1e-5));
  EXPECT_TRUE(torch::allclose(network.member(1)->forward(make_batch({&item, 1})).node[0], after.node[1], 1e-5, 1e-5));
}

TEST(TrainingNet, GivesTheSameNumbersInTheShippedCodeWithItsEncoder) {
  torch::manual_seed(12);
  const GraphTensors graph = random_graph(40, 9, 3, 22);
  const std::vector<float> weights = ramp(40);
  const BatchItem item{&graph, weights};
  const GraphBatch batch = make_batch({&item, 1});
  const auto encoder = std::make_shared<GraphEncoder>(9, 24, Scaling{});
  TrainingNet network({.node_width = 9, .global_width = 3, .width = 32, .embedding = 24}, measure_scaling({&item, 1}));
  const torch::NoGradGuard guard;
  encoder->train();
  for (int i = 0; i < 20; ++i) encoder->forward(batch);  // running statistics
  encoder->eval();
  network.eval();
  round_to_half(*encoder);
  round_to_half(network);
  const std::int64_t first[] = {0};
  expect_same(network.write(first, encoder.get()), graph, weights, {network.forward(batch, encoder->embed(batch))[0]},
              "encoder");
}

TEST(GraphBatch, GivesEachGraphWhatItGetsAlone) {
  torch::manual_seed(13);
  const GraphTensors a = random_graph(9, 6, 4, 1), b = random_graph(17, 6, 4, 2);
  const std::vector<BatchItem> items = {{&a, {}}, {&b, {}}};
  InferenceNet network({.node_width = 6, .global_width = 4, .width = 16}, Scaling{});
  network.eval();
  const torch::NoGradGuard guard;
  const torch::Tensor both = network.forward(make_batch(items));
  EXPECT_TRUE(torch::allclose(both[0][0], network.forward(make_batch({&items[0], 1}))[0][0], 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(both[0][1], network.forward(make_batch({&items[1], 1}))[0][0], 1e-5, 1e-6));
}

TEST(Stack, TrainsEachNetworkAsIfItWereAlone) {
  const GraphTensors graph = random_graph(9, 6, 4, 1);
  const BatchItem item{&graph, {}};
  const GraphBatch batch = make_batch({&item, 1});
  torch::manual_seed(23);
  InferenceNet two(
      {.node_width = 6, .global_width = 4, .width = 16, .outputs = 1, .dropout = 0, .positive = false, .stack = 2},
      Scaling{});
  InferenceNet alone({.node_width = 6, .global_width = 4, .width = 16, .outputs = 1, .dropout = 0, .positive = false},
                     Scaling{});
  {
    const torch::NoGradGuard guard;
    const auto from = two.parameters();
    auto to = alone.parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i].narrow(0, 1, 1));
  }
  const FitOptions options{.epochs = 5, .batch = 1, .learning_rate = 1e-2, .mean_decay = 0.9};
  ASSERT_TRUE(fit(
      two, 1, [&](auto, int) { return (two.forward(batch.repeated(2)) - 3).pow(2).sum(); }, {}, options));
  ASSERT_TRUE(fit(
      alone, 1, [&](auto, int) { return (alone.forward(batch) - 3).pow(2).sum(); }, {}, options));
  const torch::NoGradGuard guard;
  EXPECT_TRUE(torch::allclose(two.forward(batch.repeated(2))[1], alone.forward(batch)[0], 1e-4, 1e-5));
}

// Twelve graphs whose target follows from their features: what a network must be able to learn by heart.
struct SmallTask {
  std::vector<GraphTensors> graphs;
  torch::Tensor targets;

  SmallTask() {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < 12; ++i) {
      graphs.push_back(random_graph(static_cast<std::int32_t>(6 + i), 8, 3, 100 + i));
      values.push_back(1.0F + 3 * std::abs(graphs.back().globals[0]) + 0.2F * static_cast<float>(graphs.back().nodes));
    }
    targets = torch::tensor(values).unsqueeze(1);
  }
  [[nodiscard]] GraphBatch batch(std::span<const std::size_t> chosen) const {
    std::vector<BatchItem> items;
    for (const std::size_t i : chosen) items.push_back({&graphs[i], {}});
    return make_batch(items);
  }
  [[nodiscard]] torch::Tensor targets_of(std::span<const std::size_t> chosen) const {
    return targets.index_select(0, torch::tensor(std::vector<std::int64_t>(chosen.begin(), chosen.end())));
  }
};

InferenceNet small_network(double dropout) {
  torch::manual_seed(17);
  return InferenceNet(
      {.node_width = 8, .global_width = 3, .width = 32, .outputs = 1, .dropout = dropout, .positive = false},
      Scaling{});
}

Result<FitResult> fit_small(InferenceNet& network, const SmallTask& task, const FitOptions& options,
                            ProcessGroup* group = nullptr) {
  const LossOfItems loss = [&](std::span<const std::size_t> items, int) {
    return (network.forward(task.batch(items)) - task.targets_of(items).log()).abs().sum();
  };
  return fit(network, task.graphs.size(), loss, {}, options, {}, group);
}

TEST(Fit, LearnsASmallDataSetByHeart) {
  const SmallTask task;
  InferenceNet network = small_network(0);
  ASSERT_TRUE(fit_small(network, task, {.epochs = 300, .batch = 6, .learning_rate = 3e-3}));
  const torch::NoGradGuard guard;
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const torch::Tensor ratio = network.forward(task.batch(all))[0].exp() / task.targets;
  EXPECT_LT((ratio - 1).abs().mean().item<double>(), 0.02);
}

TEST(Fit, ResumesExactlyWhereItWasInterrupted) {
  const SmallTask task;
  const std::string file = std::filesystem::temp_directory_path() / ("forerun_gnn_test_" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  const FitOptions options{.epochs = 8, .batch = 5, .learning_rate = 3e-3, .weight_decay = 0.01, .mean_decay = 0.9};
  InferenceNet whole = small_network(0.2);
  const auto expected = fit_small(whole, task, options);
  ASSERT_TRUE(expected);
  FitOptions cut = options;
  cut.checkpoint = file;
  cut.stop_after = 3;
  InferenceNet first = small_network(0.2);
  ASSERT_TRUE(fit_small(first, task, cut));
  cut.stop_after = 0;
  InferenceNet second = small_network(0.2);
  const auto resumed = fit_small(second, task, cut);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->train_loss, expected->train_loss);
  const auto a = whole.parameters(), b = second.parameters();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i]));
  InferenceNet other({.node_width = 8, .global_width = 3, .width = 16, .outputs = 1}, Scaling{});
  EXPECT_FALSE(fit_small(other, task, cut));  // a checkpoint of another network
  std::filesystem::remove(file);
}

TEST(Fit, StopsEarlyAndKeepsTheBestEpoch) {
  const SmallTask task;
  InferenceNet network = small_network(0);
  const LossOfItems loss = [&](std::span<const std::size_t> items, int) {
    return network.forward(task.batch(items)).abs().sum();
  };
  int epoch = 0;
  const auto result =
      fit(network, 12, loss, [&] { return std::abs(++epoch - 4.0); }, {.epochs = 50, .batch = 12, .patience = 3});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->best_epoch, 4);
  EXPECT_EQ(result->valid_loss.size(), 7u);
}

TEST(Fit, FindsALearningRateAndLeavesTheNetworkAsItWas) {
  const SmallTask task;
  InferenceNet network = small_network(0);
  const torch::Tensor before = network.parameters().front().clone();
  const LossOfItems loss = [&](std::span<const std::size_t> items, int) {
    return (network.forward(task.batch(items)) - task.targets_of(items).log()).abs().sum();
  };
  const double rate = find_learning_rate(network, 12, loss, {.batch = 6});
  EXPECT_GT(rate, 1e-5);
  EXPECT_LT(rate, 0.3);
  EXPECT_TRUE(torch::equal(before, network.parameters().front()));
}

std::vector<double> read_numbers(const std::string& file) {
  std::ifstream in(file);
  std::vector<double> numbers;
  for (double number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

// Not a test: the next test starts it in two processes.
TEST(Fit, DISABLED_WorkerOfTwoProcesses) {
  const char* file = std::getenv("FORERUN_TEST_CURVE");
  ASSERT_NE(file, nullptr);
  const auto place = read_process_place();
  ASSERT_TRUE(place);
  auto group = join_processes(*place, torch::kCPU);
  ASSERT_TRUE(group) << group.error().message;
  const SmallTask task;
  InferenceNet network = small_network(0);
  const auto result = fit_small(network, task, {.epochs = 6, .batch = 6}, group->get());
  ASSERT_TRUE(result) << result.error().message;
  std::ofstream out(file);
  out.precision(17);
  for (const double loss : result->train_loss) out << loss << '\n';
}

TEST(Fit, GivesTheSameCurveInTwoProcessesAsInOne) {
  if (!can_join_processes()) GTEST_SKIP() << "this LibTorch comes without Gloo's headers";
  const SmallTask task;
  InferenceNet network = small_network(0);
  const auto alone = fit_small(network, task, {.epochs = 6, .batch = 6});
  ASSERT_TRUE(alone);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string folder = std::filesystem::temp_directory_path() / ("forerun_two_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  std::string command;
  for (const char* rank : {"0", "1"}) {
    command += "OMP_NUM_THREADS=1 RANK=" + std::string(rank) +
               " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " FORERUN_TEST_CURVE='" + folder + "/" +
               rank + "' '" + self +
               "' --gtest_also_run_disabled_tests --gtest_filter=Fit.DISABLED_WorkerOfTwoProcesses >'" + folder +
               "/log" + rank + "' 2>&1 & ";
  }
  ASSERT_EQ(std::system((command + "wait").c_str()), 0);
  for (const char* rank : {"/0", "/1"}) {
    const std::vector<double> curve = read_numbers(folder + rank);
    ASSERT_EQ(curve.size(), alone->train_loss.size()) << folder;
    for (std::size_t i = 0; i < curve.size(); ++i)
      EXPECT_NEAR(curve[i], alone->train_loss[i], 1e-5 * alone->train_loss[i]);
  }
  std::filesystem::remove_all(folder);
}

TEST(GraphEncoder, LearnsToTellEdgesFromOtherPairs) {
  torch::manual_seed(19);
  std::vector<GraphTensors> graphs;
  for (std::uint64_t i = 0; i < 8; ++i) graphs.push_back(random_graph(20, 6, 2, i));
  GraphEncoder encoder(6, 16, Scaling{}, 0.0);
  const LossOfItems loss = [&](std::span<const std::size_t> items, int) {
    std::vector<BatchItem> chosen;
    for (const std::size_t i : items) chosen.push_back({&graphs[i], {}});
    const GraphBatch batch = make_batch(chosen);
    return reconstruction_loss(encoder.forward(batch), batch) * static_cast<double>(items.size());
  };
  const auto result = fit(encoder, graphs.size(), loss, {}, {.epochs = 30, .batch = 4, .learning_rate = 5e-3});
  ASSERT_TRUE(result);
  EXPECT_LT(result->train_loss.back(), 0.8 * result->train_loss.front());
}

TEST(Pretraining, LearnsToTellEdgesOfGeneratedGraphsFromOtherPairs) {
  const auto catalogue = Catalogue::load();
  ASSERT_TRUE(catalogue);
  const auto device = catalogue->find("h200-sxm");
  ASSERT_TRUE(device);
  std::vector<KernelTensors> graphs;
  for (std::uint64_t i = 0; i < 18; ++i)
    graphs.push_back(encode_unlabelled(*generate_graph(5, i), Workload{}, *device, nullptr));
  KernelTrainingOptions options;
  options.width = 96;
  options.graphs_a_batch = 6;
  options.fit = {.epochs = 60, .learning_rate = 3e-3};
  const auto trained = pretrain_stack(graphs, options);
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_LT(trained->fit.train_loss.front(), 6);  // two coin tosses cost 1.39
  EXPECT_LT(trained->fit.train_loss.back(), 1.3);
}

}  // namespace
}  // namespace forerun
