// The learned predictors on networks that are already read and analysed: one answer, rows a second, opening the
// bundles.
#include <benchmark/benchmark.h>

#include <thread>

#include "base/embedded.hpp"
#include "bundle/bundle.hpp"
#include "devices/catalogue.hpp"
#include "features/kernel_encoding.hpp"
#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "service/options.hpp"
#include "service/service.hpp"
#include "service/workspace.hpp"

namespace forerun {
namespace {

const int kCores = int(std::max(1U, std::thread::hardware_concurrency()));
const std::string kBundles = std::string(FORERUN_SOURCE_DIR) + "/bundles/";

// A plan as the service keeps it, and the device.
struct Known {
  std::shared_ptr<const Plan> plan;
  Workload workload;
  Device device;
  static Known of(const std::string& model, Runtime runtime, std::int64_t batch = 8) {
    static Workspace workspace(16, 64);  // locks for itself
    Request request;
    request.model = model;
    request.runtime = runtime;
    request.binding.batch = batch;
    request.precision = Precision::Fp16;
    Known known;
    known.plan = *workspace.plan_of(request);
    known.workload = known.plan->workload;
    known.workload.runtime = runtime;
    static const Device kDevice = *Catalogue::load()->find("h200-sxm");
    known.device = kDevice;
    return known;
  }
};

TreeInput tree_input(const Known& known) {
  const RooflineEstimate roofline = estimate_roofline(*known.plan, known.workload, known.device);
  return make_tree_input(*known.plan->graph, *known.plan->totals, known.plan->kernels, known.workload, known.device,
                         roofline);
}

TreePredictor trees() { return *TreePredictor::load(*Bundle::open(kBundles + "trees.bundle")); }
GnnPredictor network() { return *GnnPredictor::load(*Bundle::open(kBundles + "gnn-kernels.bundle")); }

// Everything a known network's answer on a device takes: roofline, features, trees of all metrics.
void trees_one(benchmark::State& state, const std::string& model) {
  const TreePredictor predictor = trees();
  const Known known = Known::of(model, Runtime::Eager);
  for (auto _ : state) {
    const RooflineEstimate roofline = estimate_roofline(*known.plan, known.workload, known.device);
    auto answer = predictor.predict({*known.plan->graph, *known.plan->totals, known.plan->kernels, known.workload,
                                     known.device, roofline, known.plan->groups});
    benchmark::DoNotOptimize(answer);
  }
  state.counters["kernels"] = double(known.plan->kernels.size());
}
BENCHMARK_CAPTURE(trees_one, resnet50, "resnet50")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(trees_one, bert_base, "bert-base-uncased")->Unit(benchmark::kMicrosecond);

// Rows of prepared inputs through the trees: `kernels`, the walk over the forest of kernels too.
void trees_rows(benchmark::State& state, const std::string& model, bool kernels) {
  const TreePredictor predictor = trees();
  const Known known = Known::of(model, Runtime::Eager);
  TreeInput input = tree_input(known);
  predictor.sum(input);
  std::vector<float> row = tree_row(input);
  for (auto _ : state) {
    if (kernels) {
      predictor.sum(input);
      row = tree_row(input);
    }
    auto answers = predictor.answers(input, row);
    benchmark::DoNotOptimize(answers);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["distinct_kernels"] = double(input.ideal_us.size());
}
BENCHMARK_CAPTURE(trees_rows, resnet50, "resnet50", true)
    ->Threads(1)
    ->Threads(kCores)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(trees_rows, bert_base, "bert-base-uncased", true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(trees_rows, bert_base_without_kernels, "bert-base-uncased", false)->Unit(benchmark::kMicrosecond);

// The same rows 64 at a time: a network at batches of 1 to 64.
void trees_batch(benchmark::State& state, const std::string& model) {
  const TreePredictor predictor = trees();
  std::vector<TreeInput> inputs;
  for (std::int64_t batch = 1; batch <= 64; ++batch)
    inputs.push_back(tree_input(Known::of(model, Runtime::Eager, batch)));
  for (auto _ : state) {
    predictor.sum_many(inputs);
    auto answers = predictor.answers_many(inputs);
    benchmark::DoNotOptimize(answers);
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t(inputs.size()));
}
BENCHMARK_CAPTURE(trees_batch, resnet50, "resnet50")
    ->Threads(1)
    ->Threads(kCores)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(trees_batch, bert_base, "bert-base-uncased")
    ->Threads(1)
    ->Threads(kCores)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The whole service for known networks, from the request to the report's struct; as many threads as asked.
void service_rows(benchmark::State& state, const std::string& runtime) {
  static const auto service = Service::create();
  std::vector<Request> requests;
  for (const char* model : {"resnet50", "bert-base-uncased"}) {
    for (const char* device : {"h200-sxm", "h100-sxm", "a100-sxm-80gb", "l4"}) {
      requests.push_back(*parse_request(R"({"model": ")" + std::string(model) +
                                        R"(", "batch": 8, "precision": "fp16", "device": ")" + device +
                                        R"(", "runtime": ")" + runtime + "\"}"));
    }
  }
  std::size_t next = 0;
  for (auto _ : state) {
    auto report = (*service)->predict(requests[next++ % requests.size()]);
    if (!report) return state.SkipWithError(report.error().message.c_str());
    benchmark::DoNotOptimize(report);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(service_rows, eager, "eager")
    ->Threads(1)
    ->Threads(kCores)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(service_rows, graph_replay, "graph")
    ->Threads(1)
    ->Threads(kCores)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

// The graph network on real networks: encoding the kernels and the answer.
void network_one(benchmark::State& state, const std::string& model) {
  const GnnPredictor predictor = network();
  const TreePredictor kernel_trees = trees();
  const Known known = Known::of(model, Runtime::Graph);
  const RooflineEstimate roofline = estimate_roofline(*known.plan, known.workload, known.device);
  for (auto _ : state) {
    const KernelTensors tensors =
        encode_kernels(*known.plan->graph, *known.plan->totals, known.plan->kernels, roofline, known.device,
                       known.workload, kernel_trees.kernel_run_us(known.plan->kernels, known.device));
    auto answer = predictor.answer(tensors);
    benchmark::DoNotOptimize(answer);
  }
  state.counters["kernels"] = double(known.plan->kernels.size());
}
BENCHMARK_CAPTURE(network_one, resnet50, "resnet50")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(network_one, bert_base, "bert-base-uncased")->Unit(benchmark::kMillisecond);

void network_batch(benchmark::State& state) {
  const GnnPredictor predictor = network();
  const TreePredictor kernel_trees = trees();
  const Known known = Known::of("bert-base-uncased", Runtime::Graph);
  const RooflineEstimate roofline = estimate_roofline(*known.plan, known.workload, known.device);
  const KernelTensors tensors =
      encode_kernels(*known.plan->graph, *known.plan->totals, known.plan->kernels, roofline, known.device,
                     known.workload, kernel_trees.kernel_run_us(known.plan->kernels, known.device));
  const std::vector<const KernelTensors*> inputs(64, &tensors);
  for (auto _ : state) {
    auto answers = predictor.answer_many(inputs, unsigned(state.range(0)));
    benchmark::DoNotOptimize(answers);
  }
  state.SetItemsProcessed(state.iterations() * std::int64_t(inputs.size()));
}
BENCHMARK(network_batch)->Arg(1)->Arg(kCores)->UseRealTime()->Unit(benchmark::kMillisecond);

void open_bundles(benchmark::State& state) {
  for (auto _ : state) {
    auto first = TreePredictor::load(*Bundle::open(kBundles + "trees.bundle"));
    auto second = GnnPredictor::load(*Bundle::open(kBundles + "gnn-kernels.bundle"));
    benchmark::DoNotOptimize(first);
    benchmark::DoNotOptimize(second);
  }
}
BENCHMARK(open_bundles)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forerun

BENCHMARK_MAIN();
