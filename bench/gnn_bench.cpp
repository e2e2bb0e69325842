// How long one answer of a graph network of the shipped size takes on one core, by the number of kernels.
#include <benchmark/benchmark.h>

#include <random>

#include "features/kernel_encoding.hpp"
#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

constexpr std::int32_t kWidth = 96;
constexpr int kLayers = 3, kMembers = 4;  // as shipped

// The steps of our network with random weights: the time does not depend on their values.
std::string random_bundle() {
  GnnProgram program;
  program.node_width = static_cast<std::int32_t>(kernel_feature_names().size());
  program.global_width = static_cast<std::int32_t>(kernel_global_feature_names().size());
  const auto tensor = [&program](std::int32_t rows, std::int32_t columns) {
    program.tensors.push_back({"t" + std::to_string(program.tensors.size()), rows, columns, true});
    return static_cast<std::int32_t>(program.tensors.size()) - 1;
  };
  const auto step = [&program](StepKind kind, std::vector<std::int32_t> inputs, std::vector<std::int32_t> tensors) {
    program.steps.push_back({kind, std::move(inputs), std::move(tensors)});
    return static_cast<std::int32_t>(program.steps.size()) + 1;
  };
  const auto linear = [&](std::int32_t input, std::int32_t in, std::int32_t out) {
    return step(StepKind::Linear, {input}, {tensor(out, in), tensor(1, out)});
  };
  const std::int32_t nodes =
      step(StepKind::Limit,
           {step(StepKind::Affine, {0}, {tensor(1, program.node_width), tensor(1, program.node_width)})}, {});
  const std::int32_t globals =
      step(StepKind::Limit,
           {step(StepKind::Affine, {1}, {tensor(1, program.global_width), tensor(1, program.global_width)})}, {});
  for (int member = 0; member < kMembers; ++member) {
    const std::int32_t spread = step(StepKind::Broadcast, {linear(globals, program.global_width, kWidth)}, {});
    std::int32_t h =
        step(StepKind::Relu, {step(StepKind::Add, {linear(nodes, program.node_width, kWidth), spread}, {})}, {});
    for (int i = 0; i < kLayers; ++i) {
      const std::int32_t layer =
          step(StepKind::Sage, {h}, {tensor(kWidth, kWidth), tensor(kWidth, kWidth), tensor(1, kWidth)});
      h = step(StepKind::Add, {h, step(StepKind::Relu, {layer}, {})}, {});
    }
    const std::int32_t row = step(StepKind::Concat, {step(StepKind::WeightedMean, {h}, {}), globals}, {});
    program.outputs.push_back(linear(step(StepKind::Relu, {linear(h, kWidth, kWidth)}, {}), kWidth, kGnnNodeHeads));
    program.outputs.push_back(
        linear(step(StepKind::Relu, {linear(row, kWidth + program.global_width, kWidth)}, {}), kWidth, kGnnGraphHeads));
  }
  BundleManifest manifest{.name = "bench", .kind = "gnn", .metrics = {"latency_ms"}, .schema = kernel_schema()};
  manifest.parts["program"] = program_to_json(program);
  manifest.parts["roofline"] = std::to_string(roofline_hash());
  manifest.parts["conformal"] = "{}";
  BundleWriter writer(manifest);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> small(-0.1F, 0.1F);
  for (const ProgramTensor& t : program.tensors) {
    std::vector<float> numbers(static_cast<std::size_t>(t.rows) * static_cast<std::size_t>(t.columns));
    for (float& number : numbers) number = small(random);
    (void)writer.add_section(t.name, pack_half(numbers));
  }
  return *writer.bytes();
}

KernelTensors random_tensors(std::int32_t nodes) {
  KernelTensors tensors;
  std::mt19937 random(2);
  std::uniform_real_distribution<float> unit(0, 1);
  tensors.graph.nodes = nodes;
  tensors.graph.node_width = static_cast<std::int32_t>(kernel_feature_names().size());
  tensors.graph.node_features.resize(static_cast<std::size_t>(nodes) *
                                     static_cast<std::size_t>(tensors.graph.node_width));
  for (float& number : tensors.graph.node_features) number = unit(random);
  tensors.graph.globals.assign(kernel_global_feature_names().size(), 0.5F);
  tensors.graph.sources = make_sparse_rows(nodes, both_ways(chain_edges(nodes)));
  tensors.device_ms.assign(static_cast<std::size_t>(nodes), 0.01F);
  tensors.host_ms.assign(static_cast<std::size_t>(nodes), 0.01F);
  tensors.memory_mb = 100;
  return tensors;
}

void answer_one(benchmark::State& state) {
  const std::string bytes = random_bundle();
  const auto predictor = GnnPredictor::load(*Bundle::from_bytes(bytes, "bench"));
  const KernelTensors tensors = random_tensors(static_cast<std::int32_t>(state.range(0)));
  for (auto _ : state) {
    auto answer = predictor->answer(tensors);
    benchmark::DoNotOptimize(answer);
  }
}
BENCHMARK(answer_one)->Arg(200)->Arg(3000)->Unit(benchmark::kMillisecond);

void load_bundle(benchmark::State& state) {
  const std::string bytes = random_bundle();
  for (auto _ : state) {
    auto predictor = GnnPredictor::load(*Bundle::from_bytes(bytes, "bench"));
    benchmark::DoNotOptimize(predictor);
  }
}
BENCHMARK(load_bundle)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forerun

BENCHMARK_MAIN();
