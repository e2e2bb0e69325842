#include "evaluation/ship/bundle_answers.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <optional>

#include "analysis/analyze.hpp"
#include "base/csv.hpp"
#include "base/on_cores.hpp"
#include "base/text_file.hpp"
#include "dataset/load_campaign.hpp"
#include "dataset/splits.hpp"
#include "devices/catalogue.hpp"
#include "predictors/gnn/network_predictor.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/roofline/roofline_predictor.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {
namespace {

// A measured metric and how a user asks for it.
struct Asked {
  std::string_view measured;
  Metric reported;
  Runtime runtime;
};
constexpr std::array kAsked = {
    Asked{kLatencyEager, Metric::Latency, Runtime::Eager}, Asked{kStep, Metric::Latency, Runtime::Eager},
    Asked{kMemory, Metric::Memory, Runtime::Eager},        Asked{kDeviceMemory, Metric::DeviceMemory, Runtime::Eager},
    Asked{kEnergy, Metric::Energy, Runtime::Eager},        Asked{kPower, Metric::Power, Runtime::Eager},
    Asked{kLatencyGraph, Metric::Latency, Runtime::Graph}, Asked{kEnergyGraph, Metric::Energy, Runtime::Graph},
    Asked{kPowerGraph, Metric::Power, Runtime::Graph},
};

// `counted`: how the run's energy was measured, which its answer must follow.
using Predict = std::function<Result<Estimates>(const PredictorInput&, const CountedAs& counted)>;

Result<Estimates> predict_trees(const TreePredictor& trees, const PredictorInput& input, const CountedAs& counted) {
  TreeInput summed = trees.summed(input);
  summed.counted = counted;
  return trees.predict(input, summed).estimates;
}

// The value moves, its interval with it.
void move_to(Estimates& estimates, Metric metric, double value) {
  Estimate* e = estimates.find(metric);
  if (e != nullptr) scale(*e, value / e->value);
}

Result<Estimates> predict_network(const GnnPredictor& network, const TreePredictor& timing, const PredictorInput& input,
                                  const CountedAs& counted) {
  const KernelTensors tensors = encode_kernels(input, timing.kernel_run_us(input.kernels, input.device));
  FORERUN_TRY(const GnnAnswer found, network.answer(tensors));
  Answer answer = network.predict(found, run_kind_of(input.graph, input.workload), input.workload, input.device);
  const Runtime runtime = input.workload.training ? Runtime::Eager : input.workload.runtime;
  move_to(answer.estimates, Metric::Power, found.power_w(runtime, counted));
  move_to(answer.estimates, Metric::Energy, found.energy_j(runtime, counted));
  return answer.estimates;
}

Result<Estimates> predict_roofline(const PredictorInput& input, const CountedAs& /*counted*/) {
  return analytic_answer(input).estimates;
}

// One run under one runtime, all metrics that were measured of it.
Status answer_runtime(const Example& example, const Device& device, Runtime runtime, const Predict& predict,
                      BundleAnswers& answers) {
  Workload workload = example.workload;
  workload.runtime = runtime;
  FORERUN_TRY(const Graph graph, analyze(*example.net, workload.binding));
  const std::vector<Kernel> kernels = list_kernels(graph, workload);
  const RooflineEstimate roofline = estimate_roofline(graph, kernels, workload, device);
  const Totals totals = sum_totals(graph);
  PredictorInput input{graph, totals, kernels, workload, device, roofline};
  input.host.time = example.host_time;
  FORERUN_TRY(const Estimates estimates, predict(input, example.counted));
  for (const Asked& asked : kAsked) {
    const auto measured = example.metrics.find(asked.measured);
    const Estimate* found = estimates.find(asked.reported);
    if (asked.runtime != runtime || measured == example.metrics.end() || !(measured->second > 0) || found == nullptr)
      continue;
    const Estimate& e = *found;
    Judged judged{measured->second, e.value, e.low, e.high, "", "", example.network};
    answers.push_back({fmt::format("{}/{} {}", example.campaign, example.row_id, asked.measured),
                       fmt::format("{} {}", name_of(example.domain), asked.measured), std::move(judged)});
  }
  return ok();
}

bool asks(const Example& example, Runtime runtime) {
  for (const Asked& asked : kAsked) {
    if (asked.runtime == runtime && example.metrics.contains(asked.measured)) return true;
  }
  return false;
}

Result<BundleAnswers> answer_all(std::span<const Example> examples, const Predict& predict) {
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  std::map<std::string, Device> devices;
  for (const Example& example : examples) {
    if (devices.contains(example.device)) continue;
    FORERUN_TRY(Device device, catalogue.find(example.device));
    devices.emplace(example.device, std::move(device));
  }
  std::vector<BundleAnswers> made(examples.size());
  std::vector<std::optional<Error>> problems(examples.size());
  on_cores(examples.size(), [&](std::size_t i) {
    for (const Runtime runtime : {Runtime::Eager, Runtime::Graph}) {
      if (!asks(examples[i], runtime)) continue;
      const Status done = answer_runtime(examples[i], devices.at(examples[i].device), runtime, predict, made[i]);
      if (!done) problems[i] = done.error();
    }
  });
  BundleAnswers all;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (problems[i]) return Error{problems[i]->kind, examples[i].row_id + ": " + problems[i]->message};
    std::move(made[i].begin(), made[i].end(), std::back_inserter(all));
  }
  return all;
}

Result<TreePredictor> load_trees(const std::string& path) {
  FORERUN_TRY(const Bundle bundle, Bundle::open(path));
  return TreePredictor::load(bundle);
}

}  // namespace

Result<std::vector<Example>> load_judged(const std::string& folder) {
  FORERUN_TRY(Dataset data, load_measurements(folder));
  std::erase_if(data.examples, [](const Example& e) { return set_aside(e.network) != SetAside::Judged; });
  return std::move(data.examples);
}

Result<BundleAnswers> answers_of_bundle(const std::string& path, const std::string& trees,
                                        std::span<const Example> examples) {
  FORERUN_TRY(const Bundle bundle, Bundle::open(path));
  const auto rule = bundle.part(kSetAsidePart);
  if (!rule || *rule != kSetAsideRule)
    return bad_input(path +
                     ": it does not state that it left out the networks that judge bundles; train it again "
                     "(forerun-lab train, forerun-lab gnn train)");
  if (bundle.manifest().kind == "trees") {
    FORERUN_TRY(const TreePredictor predictor, TreePredictor::load(bundle));
    return answer_all(examples, [&](const PredictorInput& input, const CountedAs& counted) {
      return predict_trees(predictor, input, counted);
    });
  }
  if (bundle.manifest().kind != "gnn")
    return bad_input(path + ": bundles of kind '" + bundle.manifest().kind + "' are not judged, only trees and gnn");
  FORERUN_TRY(const GnnPredictor network, GnnPredictor::load(bundle));
  FORERUN_TRY(const TreePredictor timing, load_trees(trees));
  if (network.kernels_id() != timing.kernels_id())
    return bad_input(path + ": its kernels were timed by other trees than " + trees + " (--trees)");
  return answer_all(examples, [&](const PredictorInput& input, const CountedAs& counted) {
    return predict_network(network, timing, input, counted);
  });
}

Result<BundleAnswers> answers_of_roofline(std::span<const Example> examples) {
  return answer_all(examples, predict_roofline);
}

Status write_answers(const BundleAnswers& answers, const std::string& path) {
  std::string text = "key,group,network,measured,predicted,low,high\n";
  for (const BundleAnswer& a : answers) {
    text += csv_line({a.key, a.group, a.judged.network, fmt::format("{:.6g}", a.judged.measured),
                      fmt::format("{:.6g}", a.judged.predicted), fmt::format("{:.6g}", a.judged.low),
                      fmt::format("{:.6g}", a.judged.high)});
  }
  return write_text_file(path, text);
}

Result<BundleAnswers> read_answers(const std::string& path) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  BundleAnswers answers;
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) return answers;
    const auto measured = csv.number("measured"), predicted = csv.number("predicted");
    if (csv.field("key").empty() || csv.field("group").empty() || !measured || !predicted || !(*measured > 0))
      return bad_input(fmt::format("{}: line {}: not an answer that `forerun-lab ship` wrote", path, csv.line()));
    Judged judged{*measured, *predicted, csv.number("low").value_or(0),    csv.number("high").value_or(0),
                  "",        "",         std::string(csv.field("network"))};
    answers.push_back({std::string(csv.field("key")), std::string(csv.field("group")), std::move(judged)});
  }
}

}  // namespace forerun
