// forerun-lab search: parameters of the trees by random search, written to the file that train and evaluate use.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "evaluation/trees/search.hpp"

namespace forerun {
namespace {

struct Options {
  StudyOptions study;
  SearchOptions search;
  std::string write;
};

Status search(const Options& options) {
  const ProgressLine progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  FORERUN_TRY(const TreeStudy study, open_study(options.study, progress));
  nlohmann::ordered_json found;
  for (const auto& [domain, metric] : learnable(study.rows)) {
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    FORERUN_TRY(const SearchResult result,
                search_parameters(study.rows, rows, shipped_training(domain, metric), options.search));
    const TreeParameters& p = result.best;
    std::printf(
        "%s %s: by architecture %.2f %% in use, %.2f %% found: %d rounds, depth %d, eta %.2f, subsample %.2f, columns "
        "%.2f, child weight %.0f, lambda %.0f, Huber %.2f\n",
        std::string(name_of(domain)).c_str(), std::string(name_of(metric)).c_str(), result.mape_before, result.mape,
        p.rounds, p.max_depth, p.eta, p.subsample, p.colsample, p.min_child_weight, p.lambda, p.huber_slope);
    std::fflush(stdout);
    found[std::string(name_of(domain))][std::string(name_of(metric))] = parameters_json(p);
  }
  if (options.write.empty()) return ok();
  std::ofstream file(options.write);
  file << found.dump(2) << "\n";
  file.close();
  if (!file) return Error{ErrorKind::Io, options.write + ": cannot be written"};
  return ok();
}

}  // namespace

LabAction declare_search(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--trials", options->search.trials, "Parameters drawn for each metric")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--early-stopping", options->search.early_stopping, "Rounds without a gain on networks kept aside")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", options->search.seed, "Of the draw and of the folds")->capture_default_str();
  app.add_option("--data", options->study.data, "Folder of campaigns")->capture_default_str();
  app.add_option("--public-data", options->study.public_data, "Folder of public operator sweeps; may be absent")
      ->capture_default_str();
  app.add_option("--threads", options->search.threads, "0: all cores")->capture_default_str();
  app.add_option("--write", options->write,
                 "File for the parameters (data/training/trees.json is built into forerun-lab)");
  return [options] { return search(*options); };
}

}  // namespace forerun
