#include "evaluation/gnn/published_scores.hpp"

#include <algorithm>
#include <cmath>

#include "evaluation/report.hpp"
#include "predictors/trees/forest.hpp"
#include "training/trees/booster.hpp"

namespace forerun {

std::size_t splits_of(const ScoredSet& scored, const PublishedRun& run) {
  return std::size_t(run.members) / (scored.per_target ? scored.set->outputs.size() : 1);
}

std::vector<Judged> judge_run(const ScoredSet& scored, const PublishedRun& run, std::size_t output, std::size_t repeat,
                              Part part, const ItemFilter& filter) {
  const PublishedSet& set = *scored.set;
  const std::size_t splits = splits_of(scored, run), items = set.items.size(), width = std::size_t(run.outputs);
  const std::size_t split = run.name.starts_with("ship") ? set.splits.size() - 1 : repeat;
  const std::size_t member = scored.per_target ? output * splits + repeat : repeat,
                    column = scored.per_target ? 0 : output;
  std::vector<Judged> judged;
  for (std::size_t i = 0; i < items; ++i) {
    const PublishedItem& item = set.items[i];
    if (item.parts[split] != part || !(item.targets[output] > 0) || (filter && !filter(i))) continue;
    Judged one;
    one.measured = item.targets[output];
    one.predicted = run.answers[(member * items + i) * width + column];
    one.family = item.family;
    judged.push_back(std::move(one));
  }
  return judged;
}

Repeated mape_of_run(const ScoredSet& scored, const PublishedRun& run, std::size_t output, std::span<const Part> parts,
                     const ItemFilter& filter) {
  std::vector<double> values;
  for (std::size_t s = 0; s < splits_of(scored, run); ++s) {
    std::vector<Judged> judged;
    for (const Part part : parts) {
      std::vector<Judged> more = judge_run(scored, run, output, s, part, filter);
      judged.insert(judged.end(), more.begin(), more.end());
    }
    if (!judged.empty()) values.push_back(measure_accuracy(judged).mape);
  }
  return repeated(values);
}

std::string error_cell(const Repeated& error) { return error.mean > 0 ? percent_cell(error) : "–"; }

Result<PublishedRun> boost_static_features(const ScoredSet& scored, std::size_t splits) {
  const PublishedSet& set = *scored.set;
  const std::size_t items = set.items.size(), outputs = set.outputs.size();
  PublishedRun run;
  run.name = "gradient boosting on static features";
  run.members = std::int32_t(splits * (scored.per_target ? outputs : 1));
  run.outputs = std::int32_t(scored.per_target ? 1 : outputs);
  run.answers.assign(std::size_t(run.members) * items * std::size_t(run.outputs), 0);
  RowMatrix all;
  all.width = set.graphs.front().globals.size();
  for (const GraphTensors& graph : set.graphs) all.add(graph.globals);
  TreeParameters parameters;
  parameters.max_depth = 8, parameters.eta = 0.05, parameters.subsample = 0.8, parameters.colsample = 1;
  parameters.min_child_weight = parameters.lambda = 1, parameters.max_bins = 256, parameters.seed = 1;
  for (std::size_t s = 0; s < splits; ++s) {
    for (std::size_t o = 0; o < outputs; ++o) {
      std::vector<std::size_t> rows;
      std::vector<float> targets;
      for (std::size_t i = 0; i < items; ++i) {
        if (set.items[i].parts[s] != Part::Train || !(set.items[i].targets[o] > 0)) continue;
        rows.push_back(i);
        targets.push_back(std::log(set.items[i].targets[o]));
      }
      const RowMatrix train = take_rows(all, rows);
      FORERUN_TRY(const TreeNodes trees, train_trees({&train, targets, {}}, parameters));
      const Forest forest(trees);
      const std::size_t member = scored.per_target ? o * splits + s : s, column = scored.per_target ? 0 : o;
      for (std::size_t i = 0; i < items; ++i)
        run.answers[(member * items + i) * std::size_t(run.outputs) + column] = std::exp(forest.predict(all.row(i)));
    }
  }
  return run;
}

}  // namespace forerun
