#include "training/gnn/published_rows.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "analysis/analyze.hpp"
#include "base/on_cores.hpp"
#include "dataset/splits.hpp"
#include "predictors/gnn/published_predictor.hpp"
#include "training/gnn/generate_graphs.hpp"

namespace forerun {
namespace {

constexpr std::array kInferenceMetrics = {kLatencyEager, kLatencyGraph, kMemory, kEnergy};
constexpr std::array kTrainingMetrics = {kStep, kMemory, kPower};

float target_of(const Example& example, std::string_view name) {
  const auto found = example.metrics.find(name);
  const bool of_passes = (name != kEnergy && name != kPower) || example.counter_beside();
  return found == example.metrics.end() || !of_passes ? 0.0F : float(found->second);
}

// A row's place among the rows of its family in an order drawn with a seed, from 0 to 1.
std::vector<double> places_in_families(const std::vector<PublishedItem>& items, std::uint64_t seed) {
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < items.size(); ++i) families[items[i].family].push_back(i);
  std::vector<double> places(items.size());
  for (auto& [family, rows] : families) {
    std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return mix_seed(items[a].name, seed) < mix_seed(items[b].name, seed);
    });
    for (std::size_t k = 0; k < rows.size(); ++k) places[rows[k]] = double(k) / double(rows.size());
  }
  return places;
}

void add_splits(PublishedSet& set, std::size_t count, double train, double valid,
                const std::vector<const Example*>& examples) {
  for (std::size_t s = 0; s < count; ++s) {
    set.splits.push_back(std::to_string(1337 + s));
    const std::vector<double> places = places_in_families(set.items, 1337 + s);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Part part = places[i] < train ? Part::Train : places[i] < train + valid ? Part::Valid : Part::Test;
      set.items[i].parts.push_back(part);
    }
  }
  set.splits.emplace_back("by architecture");
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    const SetAside aside = set_aside(examples[i]->network);
    set.items[i].parts.push_back(aside == SetAside::No          ? Part::Train
                                 : aside == SetAside::Intervals ? Part::Valid
                                                                : Part::Test);
  }
}

void make_inference_set(const Dataset& dataset, PublishedRows& rows) {
  PublishedSet& set = rows.data.inference;
  for (const Precision precision : kPublishedInference) {
    for (const std::string_view metric : kInferenceMetrics)
      set.outputs.push_back(std::string(name_of(precision)) + " " + std::string(metric));
  }
  std::map<std::pair<const Network*, std::int64_t>, std::size_t> places;
  std::vector<const Example*> firsts;
  for (std::size_t e = 0; e < dataset.examples.size(); ++e) {
    const Example& example = dataset.examples[e];
    const auto precision =
        std::find(std::begin(kPublishedInference), std::end(kPublishedInference), example.workload.precision);
    if (example.domain != RunKind::VisionInference || precision == std::end(kPublishedInference)) continue;
    const auto [found, is_new] =
        places.try_emplace({example.net.get(), example.workload.binding.batch.value_or(1)}, set.items.size());
    if (is_new) {
      set.items.push_back(
          {example.campaign + "/" + example.row_id, example.family, std::vector<float>(set.outputs.size(), 0.0F), {}});
      rows.inference_examples.emplace_back(set.outputs.size(), -1);
      firsts.push_back(&example);
    }
    const auto at = std::size_t(precision - std::begin(kPublishedInference)) * kInferenceMetrics.size();
    for (std::size_t m = 0; m < kInferenceMetrics.size(); ++m) {
      const float target = target_of(example, kInferenceMetrics[m]);
      if (!(target > 0)) continue;
      set.items[found->second].targets[at + m] = target;
      rows.inference_examples[found->second][at + m] = std::int64_t(e);
    }
  }
  set.graphs.resize(set.items.size());
  on_cores(set.items.size(), [&](std::size_t i) {
    if (const auto graph = analyze(*firsts[i]->net, firsts[i]->workload.binding))
      set.graphs[i] = encode_published_design(PublishedDesign::Inference, *graph, firsts[i]->workload);
  });
  add_splits(set, kInferenceSplits, 0.70, 0.15, firsts);
}

void make_training_set(const Dataset& dataset, PublishedRows& rows) {
  PublishedSet& set = rows.data.training;
  for (const std::string_view metric : kTrainingMetrics) set.outputs.emplace_back(metric);
  std::vector<const Example*> examples;
  for (std::size_t e = 0; e < dataset.examples.size(); ++e) {
    const Example& example = dataset.examples[e];
    if (example.domain != RunKind::VisionTraining || !example.metrics.contains(kStep)) continue;
    PublishedItem item{example.campaign + "/" + example.row_id, example.family, {}, {}};
    for (const std::string_view metric : kTrainingMetrics) item.targets.push_back(target_of(example, metric));
    set.items.push_back(std::move(item));
    examples.push_back(&example);
    rows.training_examples.push_back(std::int64_t(e));
  }
  set.graphs.resize(set.items.size());
  on_cores(set.items.size(), [&](std::size_t i) {
    const Workload& workload = examples[i]->workload;
    if (const auto graph = analyze(*examples[i]->net, workload.binding))
      set.graphs[i] = encode_published_design(PublishedDesign::Training, *graph, workload);
  });
  add_splits(set, kTrainingSplits, 0.70, 0, examples);
}

}  // namespace

Result<PublishedRows> make_published_rows(const Dataset& dataset, std::size_t unlabelled, std::uint64_t seed) {
  PublishedRows rows;
  make_inference_set(dataset, rows);
  make_training_set(dataset, rows);
  for (const PublishedSet* set : {&rows.data.inference, &rows.data.training}) {
    const bool whole = std::all_of(set->graphs.begin(), set->graphs.end(), [](const auto& g) { return g.nodes > 0; });
    if (set->items.size() < 20 || !whole)
      return bad_input("the published designs need 20 measured networks, each with a graph that can be analysed");
  }
  // Graphs without labels: every measured network once, and drawn ones.
  std::map<const Network*, const Example*> networks;
  for (const Example& example : dataset.examples) {
    if (!is_language(example.domain)) networks.try_emplace(example.net.get(), &example);
  }
  std::vector<const Example*> firsts;
  for (const auto& [network, example] : networks) firsts.push_back(example);
  std::sort(firsts.begin(), firsts.end(), [](const Example* a, const Example* b) {
    return std::pair(a->campaign, a->row_id) < std::pair(b->campaign, b->row_id);
  });
  std::vector<GraphTensors> graphs(firsts.size() + unlabelled);
  on_cores(graphs.size(), [&](std::size_t i) {
    Workload workload;
    const auto encode = [&](const auto& graph) {
      if (graph) graphs[i] = encode_published_design(PublishedDesign::Training, *graph, workload);
    };
    if (i >= firsts.size()) return encode(generate_graph(seed, i - firsts.size()));
    workload = firsts[i]->workload;
    encode(analyze(*firsts[i]->net, workload.binding));
  });
  std::erase_if(graphs, [](const GraphTensors& graph) { return graph.nodes == 0; });
  rows.data.unlabelled = std::move(graphs);
  return rows;
}

}  // namespace forerun
