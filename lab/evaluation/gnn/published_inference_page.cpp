// The inference design: kinds of layers, the steps from its recipe to one that learns our rows, slices of a device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "base/archive.hpp"
#include "base/csv.hpp"
#include "evaluation/gnn/published_page.hpp"
#include "evaluation/gnn/published_scores.hpp"
#include "evaluation/plots.hpp"
#include "readers/onnx/onnx_reader.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

constexpr std::array kShown = {"fp32 latency_eager_ms", "fp32 latency_graph_ms", "fp32 memory_mb", "fp32 energy_j"};

std::size_t output_named(const PublishedSet& set, std::string_view name) {
  return std::size_t(std::find(set.outputs.begin(), set.outputs.end(), name) - set.outputs.begin());
}

// The three targets of the publication, averaged: latency, memory and energy in fp32.
std::string mean_cell(const ScoredSet& scored, const PublishedRun& run, Part part) {
  std::vector<double> values;
  for (std::size_t s = 0; s < splits_of(scored, run); ++s) {
    double sum = 0;
    for (const char* name : {kShown[0], kShown[2], kShown[3]})
      sum += measure_accuracy(judge_run(scored, run, output_named(*scored.set, name), s, part)).mape / 3;
    values.push_back(sum);
  }
  return percent_cell(repeated(values));
}

// Our own predictors' error on five folds of rows, from the page of the trees ("" where it has none).
Result<std::map<std::string, std::string>> own_errors(const PublishedStudy& study, std::string_view run) {
  std::map<std::string, std::string> errors;
  const std::string path = study.docs + "/accuracy/graph-networks/graph-network-and-trees.csv";
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return errors;
    if (csv.field("run") == run && csv.field("protocol") == "as_published")
      errors.emplace(std::string(csv.field("metric")), std::string(csv.field("average of both")));
  }
}

constexpr Part kTestPart[] = {Part::Test}, kTrainPart[] = {Part::Train}, kUnseenParts[] = {Part::Valid, Part::Test};

std::vector<std::string> target_cells(const ScoredSet& scored, const PublishedRun& run, std::span<const Part> parts,
                                      const ItemFilter& filter = {}) {
  std::vector<std::string> cells;
  for (const char* name : kShown)
    cells.push_back(error_cell(mape_of_run(scored, run, output_named(*scored.set, name), parts, filter)));
  return cells;
}

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

}  // namespace

Result<ReportSection> report_published_inference(const PublishedStudy& study, PublishedPage& page) {
  const PublishedSet& set = study.rows.data.inference;
  const ScoredSet scored{&set};
  struct Kind {
    const char *key, *shown, *published;
  };
  constexpr std::array kKinds = {Kind{"gat", "GAT", "49.7 / 37.9 / 36.7"}, Kind{"gcn", "GCN", "21.2 / 17.8 / 17.5"},
                                 Kind{"gin", "GIN", "48.8 / 39.4 / 38.2"}, Kind{"mlp", "MLP", "37.1 / 38.7 / 36.6"},
                                 Kind{"sage", "GraphSAGE", "18.2 / 15.9 / 16.0"}};
  ReportTable kinds{
      .caption = "MAPE after 10 epochs in %, mean of fp32 latency, memory and energy: training / validation / test",
      .columns = {"layers", "published", "published recipe, ours", "logarithms, ours"}};
  for (const Kind& kind : kKinds) {
    std::vector<std::string> row = {kind.shown, kind.published};
    for (const char* recipe : {"as published, ", "logarithms, "}) {
      const PublishedRun* run = find_run(study, std::string(recipe) + kind.key + ", 10 epochs");
      row.push_back(run == nullptr
                        ? "not trained"
                        : mean_cell(scored, *run, Part::Train) + " / " + mean_cell(scored, *run, Part::Valid) + " / " +
                              mean_cell(scored, *run, Part::Test));
    }
    kinds.rows.push_back(std::move(row));
  }
  ReportTable best{.caption = "Test MAPE %, by target",
                   .columns = {"predictor", "epochs", "latency, eager", "latency, graph replay", "memory", "energy"}};
  best.rows.push_back({"GraphSAGE as published, on an A100", "500", "1.9 (all three targets)", "", "", ""});
  std::vector<EpochCurve> curves;
  constexpr std::array kBest = {
      std::pair{"as published, sage, 500 epochs", "GraphSAGE, published recipe, one split"},
      std::pair{"logarithms, sage, width 512, 150 epochs", "GraphSAGE, logarithms, one split"},
      std::pair{"ship, log-sum", "GraphSAGE, logarithms, width 256, by architecture"},
      std::pair{"ship, sum", "the same with the sum itself pooled"}};
  for (const auto& [name, shown] : kBest) {
    const PublishedRun* run = find_run(study, name);
    if (run == nullptr) continue;
    best.rows.push_back(joined({shown, std::to_string(run->epochs)}, target_cells(scored, *run, kTestPart)));
    curves.push_back({shown, run->loss});
  }
  FORERUN_TRY(const PublishedRun boosted, boost_static_features(scored, kInferenceSplits));
  best.rows.push_back(joined({boosted.name, ""}, target_cells(scored, boosted, kTestPart)));
  FORERUN_TRY(auto own, own_errors(study, "vision_inference"));
  best.rows.push_back({"our mean of trees and graph network", "", own["latency_eager_ms"], own["latency_graph_ms"],
                       own["memory_mb"], own["energy_j"]});
  ReportTable families{.caption = "By family, networks never seen, logarithms, MAPE %",
                       .columns = {"family", "items", "latency, eager", "latency, graph replay", "memory", "energy"}};
  std::map<std::string, std::size_t> counts;
  for (const PublishedItem& item : set.items) ++counts[item.family];
  const PublishedRun* shipped = find_run(study, "ship, log-sum");
  for (const auto& [family, count] : counts) {
    if (shipped == nullptr) break;
    const auto of_family = [&, &family = family](std::size_t i) { return set.items[i].family == family; };
    families.rows.push_back(
        joined({family, std::to_string(count)}, target_cells(scored, *shipped, kUnseenParts, of_family)));
  }
  page.files["published-inference-loss.svg"] = plot_epochs("Inference design, training loss", "loss", curves);
  return ReportSection{
      .id = "published-inference",
      .heading = "Inference design (published: chapter 4)",
      .text = fmt::format(
          "{} networks with a batch (published: 10,508), {} families, three 70:15:15 splits within families (± over "
          "them). Node features of 32, five static ones, three blocks of two SAGE layers, three dense layers, width "
          "512 unless said. One output per precision and metric: a graph that was measured in fp32, fp16 and bf16 is "
          "learned once. *Published recipe*: raw inputs and targets, chain edges, Huber loss, Adam 2.754e-5. "
          "*Logarithms*: scaled logarithms of inputs, logarithms of targets and of the pooled sum, edges of the data "
          "flow, a loss near the absolute error, a rate of 1e-3 that falls. Our mean of trees and graph network is "
          "quoted from [five folds of the same rows](graph-networks.md).\n",
          set.items.size(), counts.size()),
      .tables = {std::move(kinds), std::move(best), std::move(families)},
      .images = {"published-inference-loss.svg"}};
}

Result<ReportSection> report_inference_steps(const PublishedStudy& study) {
  const PublishedSet& set = study.rows.data.inference;
  const ScoredSet scored{&set};
  ReportTable steps{.caption = "One change after the other, test MAPE %",
                    .columns = {"recipe", "epochs", "latency, eager", "latency, graph replay", "memory", "energy"}};
  for (const PublishedRun& run : study.runs) {
    if (run.name.empty() || run.name.front() < '1' || run.name.front() > '9') continue;
    steps.rows.push_back(joined({run.name, std::to_string(run.epochs)}, target_cells(scored, run, kTestPart)));
  }
  const PublishedRun* last = find_run(study, "ship, log-sum");
  ReportTable splits{.caption = "Where the error of the shipped network lies, MAPE %",
                     .columns = {"items", "latency, eager", "latency, graph replay", "memory", "energy"}};
  const std::size_t eager = output_named(set, kShown[0]), replay = output_named(set, kShown[1]);
  const auto host_bound = [&](std::size_t i) {
    const auto& targets = set.items[i].targets;
    return targets[replay] > 0 && targets[eager] > 1.3F * targets[replay];
  };
  std::vector<double> latencies;
  double bound = 0, both = 0;
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    const auto& targets = set.items[i].targets;
    if (targets[eager] > 0) latencies.push_back(targets[eager]);
    if (targets[eager] > 0 && targets[replay] > 0) both += 1, bound += host_bound(i) ? 1 : 0;
  }
  if (last != nullptr) {
    splits.rows.push_back(joined({"networks never seen, host-bound: eager over 1.3 × replay"},
                                 target_cells(scored, *last, kUnseenParts, host_bound)));
    splits.rows.push_back(
        joined({"networks never seen, device-bound"}, target_cells(scored, *last, kUnseenParts, [&](std::size_t i) {
                 return set.items[i].targets[replay] > 0 && !host_bound(i);
               })));
    splits.rows.push_back(joined({"networks it learned from"}, target_cells(scored, *last, kTrainPart)));
  }
  return ReportSection{
      .id = "published-inference-steps",
      .heading = "Why it is far from the published figure",
      .text = fmt::format(
          "Width 256, three splits, and as many epochs as the time on the GPU allowed; the fair comparison is that of "
          "ten epochs each in the section above. Raw targets leave energy unlearned: a pass of 1 J is 10 decijoule "
          "beside thousands of µs, and the Huber loss follows the largest. On the networks it learned from, the "
          "shipped network errs half as much as on new ones (last table): it memorises, which points to too few "
          "networks; no run with fewer rows was made to prove it. The published set has five times as many items in "
          "ten families, ours 26. Host-bound passes ({:.0f} % of the fp32 items) are not the reason: they are "
          "predicted no worse than device-bound ones. The latencies span a factor of {:.0f} between the 5th and the "
          "95th percentile. What repeats: eager energy of the same row differs by 4–18 % between two measurements, "
          "replayed energy by 1–3 % ([noise](noise-the-same-row-measured-twice.csv)).\n",
          both > 0 ? 100 * bound / both : 0.0,
          latencies.empty() ? 0.0 : quantile(latencies, 0.95) / std::max(1e-9, quantile(latencies, 0.05))),
      .tables = {std::move(steps), std::move(splits)},
      .images = {}};
}

Result<ReportSection> report_published_slices(const PublishedStudy& study) {
  struct Case {
    const char *network, *published;
    std::int64_t batch;
    const char* slice;
  };
  constexpr std::array kCases = {Case{"densenet121", "2865 / 3272", 8, "1g.5gb"},
                                 Case{"densenet121", "5952 / 6294", 32, "2g.10gb"},
                                 Case{"swin_base_patch4_window7_224", "2873 / 2944", 2, "1g.5gb"},
                                 Case{"swin_base_patch4_window7_224", "6736 / 6156", 16, "2g.10gb"},
                                 Case{"convnext_base", "4771 / 1652", 4, "1g.5gb"},
                                 Case{"convnext_base", "26439 / 30996", 128, "7g.40gb"}};
  std::map<std::string, std::shared_ptr<const Network>> networks;
  FORERUN_CHECK(visit_tar(study.graphs, [&](TarMember member) -> Status {
    const std::string file = std::filesystem::path(member.name).stem().string();
    if (!member.name.ends_with(".onnx")) return ok();
    FORERUN_TRY(networks[file.substr(0, file.rfind('_'))], read_onnx(member.bytes, file, {}));
    return ok();
  }));
  FORERUN_TRY(const auto service, Service::create());
  ReportTable table{.caption = "Peak memory in MB and the slice of an A100 40 GB by the published rule",
                    .columns = {"network", "batch", "published: predicted / measured", "published slice",
                                "ours, inference", "slice", "ours, activations and gradients kept", "slice"}};
  for (const Case& one : kCases) {
    Request request;
    request.model = one.network;
    request.network = networks[one.network];
    if (!request.network) return bad_input(study.graphs + ": no graph of " + one.network);
    request.devices = {"a100-sxm-40gb"};
    request.binding.batch = one.batch;
    request.mig_rule = "memory";
    FORERUN_TRY(const MigReport inference, service->mig(request));
    request.train = true;
    request.optimizer = Optimizer::None;
    FORERUN_TRY(const MigReport kept, service->mig(request));
    const auto slice = [](const MigReport& report) { return report.advice ? report.advice->profile : "none"; };
    table.rows.push_back({one.network, std::to_string(one.batch), one.published, one.slice,
                          fmt::format("{:.0f}", inference.memory_mb), slice(inference),
                          fmt::format("{:.0f}", kept.memory_mb), slice(kept)});
  }
  return ReportSection{
      .id = "published-slices",
      .heading = "Memory and the slice that holds it",
      .text =
          "Inference as we count it frees what no later operator reads, as PyTorch does under `no_grad`. The published "
          "memory grows with the batch as activations do that are kept for a backward pass (last columns: forward and "
          "backward without an optimiser): above those, the published measurements lie 2.0 to 2.3 GB higher in five of "
          "the six rows, which is what a process holds beyond the allocator. fp32 at 224 × 224; `forerun mig FILE "
          "--device a100-sxm-40gb --rule memory`.\n",
      .tables = {std::move(table)},
      .images = {}};
}

}  // namespace forerun
