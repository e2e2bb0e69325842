// forerun-lab gnn train | study | page | score | generate: graph networks from measurements to bundles, and the
// accuracy page.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "commands/command.hpp"
#include "dataset/load_campaign.hpp"
#include "dataset/operators.hpp"
#include "evaluation/gnn/gnn_page.hpp"
#include "evaluation/gnn/studies.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "training/gnn/generate_graphs.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct GnnOptions {
  std::string data = "data/measurements";
  std::string public_data = "../shared/data/public";
  std::size_t public_rows = 600;
  std::string out = "build/bundles/gnn-kernels.bundle", scored = "bundles/gnn-kernels.bundle";
  std::string trees = "bundles/trees.bundle";
  std::string work = "build/gnn";
  std::string docs = "docs";
  std::string device = "cpu";
  std::vector<std::string> only;
  bool find_rate = false, no_trees = false;
  std::size_t count = 10000;
  GnnStudyOptions study;
};

const auto kStart = std::chrono::steady_clock::now();

// One line that is overwritten on a terminal, one line per call elsewhere.
void say(const std::string& line) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - kStart).count();
  if (::isatty(2) != 0) {
    fmt::print(stderr, "\r\033[K{:6.1f} s  {}", seconds, line);
  } else {
    fmt::print(stderr, "{:6.1f} s  {}\n", seconds, line);
  }
  std::fflush(stderr);
}

Status write_bytes(const fs::path& path, const std::string& bytes) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  return file ? ok() : Status(Error{ErrorKind::Io, path.string() + ": cannot write"});
}

struct Measured {
  Dataset dataset;
  std::vector<OperatorExample> operators;
  std::vector<GnnRow> rows;                    // networks, then operators
  std::shared_ptr<const TreePredictor> trees;  // that timed their kernels
};

Result<Measured> load(const GnnOptions& options) {
  Measured measured;
  FORERUN_TRY(measured.dataset, load_measurements(options.data));
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  FORERUN_TRY(const Bundle bundle, Bundle::open(options.trees));
  FORERUN_TRY(TreePredictor trees, TreePredictor::load(bundle));
  measured.trees = std::make_shared<const TreePredictor>(std::move(trees));
  FORERUN_TRY(GnnRows made, make_gnn_rows(measured.dataset, catalogue, measured.trees.get()));
  measured.rows = std::move(made.rows);
  const std::size_t networks = measured.rows.size();
  FORERUN_TRY(measured.operators, load_operator_campaigns(options.data));
  if (!options.public_data.empty() && fs::is_directory(options.public_data)) {
    FORERUN_TRY(std::vector<OperatorExample> more,
                load_public_operators(options.public_data, {.rows_per_device = options.public_rows}));
    for (OperatorExample& one : more) measured.operators.push_back(std::move(one));
  }
  for (GnnRow& row : make_operator_gnn_rows(measured.operators, catalogue, measured.trees.get()))
    measured.rows.push_back(std::move(row));
  std::int64_t kernels = 0, edges = 0;
  for (const GnnRow& row : measured.rows)
    kernels += row.kernels.graph.nodes, edges += static_cast<std::int64_t>(row.kernels.graph.sources.columns.size());
  say(fmt::format("{} networks ({} could not be analysed), {} operators, {} kernels, {} edges, {} + {} features",
                  networks, made.skipped, measured.rows.size() - networks, kernels, edges,
                  kernel_feature_names().size(), kernel_global_feature_names().size()));
  return measured;
}

Result<torch::Device> device_of(const std::string& name, int place = 0) {
  if (name == "cpu") return torch::Device(torch::kCPU);
  if (name != "cuda") return bad_input("--device is cpu or cuda");
  if (!torch::cuda::is_available()) return bad_input("this LibTorch sees no CUDA device; train with --device cpu");
  at::globalContext().setAllowTF32CuBLAS(true);
  return torch::Device(torch::kCUDA,
                       static_cast<c10::DeviceIndex>(place % static_cast<int>(torch::cuda::device_count())));
}

// Networks on all measurements but those set aside: some of these give the intervals, the others judge the bundle when
// it is to ship. Whole networks are set aside together.
Status train(GnnOptions options) {
  FORERUN_TRY(const ProcessPlace place, read_process_place());
  KernelTrainingOptions training = options.study.training;
  FORERUN_TRY(training.device, device_of(options.device, place.local));
  std::unique_ptr<ProcessGroup> group;
  if (place.launched) {
    FORERUN_TRY(group, join_processes(place, training.device));
  }
  training.fit.seed = options.study.seed;
  FORERUN_TRY(const Measured measured, load(options));
  StackMember member{"shipped", {}, {}};
  std::size_t judged = 0;
  for (std::size_t i = 0; i < measured.rows.size(); ++i) {
    const GnnRow& row = measured.rows[i];
    const SetAside kept = row.alone ? SetAside::No : set_aside(measured.dataset.examples[row.example].network);
    if (kept == SetAside::Judged) {
      ++judged;
    } else {
      (kept == SetAside::Intervals ? member.test : member.train).push_back(i);
    }
  }
  if (options.find_rate) {
    FORERUN_TRY(training.fit.learning_rate, find_kernel_net_rate(measured.rows, member.train, training));
    say(fmt::format("learning rate {:.2e}", training.fit.learning_rate));
  }
  const ReportEpoch report = [&](const EpochReport& epoch) {
    if (place.rank == 0) say(progress_line(epoch));
  };
  std::vector<StackMember> members(static_cast<std::size_t>(options.study.seeds), member);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i].without_times = i < static_cast<std::size_t>(options.study.without_times);
  FORERUN_TRY(const TrainedStack trained, train_stack(measured.rows, members, training, report, group.get()));
  if (place.rank != 0) return ok();
  std::vector<std::int64_t> all(members.size());
  std::iota(all.begin(), all.end(), 0);
  FORERUN_TRY(const Scores scores, score_members(*trained.network, all, measured.rows, member.test));
  BundleManifest manifest{.name = "gnn-kernels"};
  manifest.parts["provenance"] = nlohmann::json{
      {"rows_trained", member.train.size()},
      {"rows_set_aside", member.test.size() + judged},
      {"epochs", training.fit.epochs},
      {"seed", training.fit.seed}}.dump();
  manifest.parts.emplace(kSetAsidePart, kSetAsideRule);
  manifest.parts["devices"] = R"(["h200-sxm"])";
  manifest.parts["kernels"] = nlohmann::json(measured.trees->kernels_id()).dump();
  FORERUN_TRY(const BundleWriter writer, write_kernel_bundle(*trained.network, all, half_widths_of(scores), manifest));
  FORERUN_TRY(const std::string bytes, writer.bytes());
  FORERUN_CHECK(write_bytes(options.out, bytes));
  for (const auto& [metric, scored] : scores)
    fmt::print("{:34} {:6} rows set aside, MAPE {:.2f} %\n", metric, scored.measured.size(), scored.mape());
  return ok();
}

Status study(const GnnOptions& options) {
  FORERUN_TRY(const torch::Device device, device_of(options.device));
  FORERUN_TRY(const Measured measured, load(options));
  StudyInput input{&measured.dataset, &measured.rows, measured.operators, options.study, say, measured.trees.get()};
  input.options.training.device = device;
  input.options.training.fit.seed = options.study.seed;
  std::map<std::string, std::size_t> campaigns;
  for (const Example& example : measured.dataset.examples) ++campaigns[example.campaign];
  std::string names;
  for (const auto& [campaign, count] : campaigns)
    names += fmt::format("{}{} ({} rows)", names.empty() ? "" : ", ", campaign, count);
  bool any = false;
  for (const Study& one : gnn_studies()) {
    if (!options.only.empty() && std::find(options.only.begin(), options.only.end(), one.name) == options.only.end())
      continue;
    any = true;
    const auto start = std::chrono::steady_clock::now();
    FORERUN_TRY(const StudySection section, one.run(input));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string settings =
        fmt::format("\nMeasurements: {}. Seed {}. The section took {:.0f} s on {}.\n", names, options.study.seed,
                    seconds, options.device == "cuda" ? "one GPU (other sections ran at the same time)" : "the CPU");
    FORERUN_CHECK(write_bytes(fs::path(options.work) / (std::string(one.name) + ".md"), section.markdown + settings));
    for (const auto& [name, contents] : section.files)
      FORERUN_CHECK(write_bytes(fs::path(options.work) / name, contents));
    say(std::string("done: ") + one.name);
  }
  if (!any) return bad_input("--only names no study; --help lists them");
  return ok();
}

// A bundle against all measurements, those it learnt from included: does it still fit this program's features?
Status score(const GnnOptions& options) {
  FORERUN_TRY(const Bundle bundle, Bundle::open(options.scored));
  FORERUN_TRY(const Measured measured, load(options));
  RowIndices all(measured.rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  FORERUN_TRY(const Scores scores, score_bundle(bundle, measured.rows, all));
  for (const auto& [metric, scored] : scores)
    fmt::print("{:34} {:6} rows, MAPE {:.2f} %\n", metric, scored.measured.size(), scored.mape());
  return ok();
}

Status generate(const GnnOptions& options) {
  std::map<std::string, std::size_t> families;
  std::int64_t nodes = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < options.count; ++i) {
    FORERUN_TRY(const Graph graph, generate_graph(options.study.seed, i));
    nodes += static_cast<std::int64_t>(graph.main().nodes.size());
    ++families[generated_families()[i % generated_families().size()]];
  }
  fmt::print("{} graphs, {} nodes, {:.1f} s\n", options.count, nodes,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  for (const auto& [family, count] : families) fmt::print("  {:16} {}\n", family, count);
  return ok();
}

}  // namespace

LabAction declare_gnn(CLI::App& app) {
  auto options = std::make_shared<GnnOptions>();
  KernelTrainingOptions& training = options->study.training;
  // What ships was trained so (docs/method/graph-network.md).
  training.fit = {.epochs = 90, .learning_rate = 3e-3, .weight_decay = 0.01, .mean_decay = 0.998};
  training.width = 96;
  training.global_dropout = 0.2;
  training.operator_weight = 0.1;
  training.eager_weight = 0.3;
  training.bend = 0.02;
  options->study.seeds = 4;
  options->study.family_seeds = 2;
  options->study.without_times = 2;
  app.require_subcommand(1);
  CLI::App* train_app = app.add_subcommand(
      "train", "Train our graph network and write its bundle; under torchrun or mpirun, in several processes");
  CLI::App* study_app =
      app.add_subcommand("study", "Train all that the accuracy page compares, and the bundle that ships");
  CLI::App* page_app =
      app.add_subcommand("page", "Write the accuracy page from the studies' results, next to the trees'");
  CLI::App* generate_app = app.add_subcommand("generate", "Draw the unlabelled graphs of pre-training and count them");
  CLI::App* score_app =
      app.add_subcommand("score", "Score a bundle on all measurements, those it learnt from included");
  for (CLI::App* sub : {train_app, study_app, page_app, score_app}) {
    sub->add_option("data", options->data, "Campaign folder, or a folder of them")->capture_default_str();
    sub->add_option("--public-data", options->public_data, "Folder of public operator sweeps; may be absent")
        ->capture_default_str();
    sub->add_option("--trees", options->trees, "Bundle of the trees that time the kernels")->capture_default_str();
  }
  for (CLI::App* sub : {train_app, study_app}) {
    sub->add_option("--device", options->device, "cpu or cuda")->capture_default_str();
    sub->add_option("--epochs", training.fit.epochs, "Epochs of our network")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub->add_option("--width", training.width, "Width of our network")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub->add_option("--layers", training.layers, "Graph layers")->capture_default_str()->check(CLI::PositiveNumber);
    sub->add_option("--dropout", training.dropout, "Dropout of states")->capture_default_str();
    sub->add_option("--global-dropout", training.global_dropout, "Dropout of the graph's row")->capture_default_str();
    sub->add_option("--weight-decay", training.fit.weight_decay, "Of AdamW")->capture_default_str();
    sub->add_option("--batch", training.graphs_a_batch, "Networks a step")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub->add_option("--operator-weight", training.operator_weight,
                    "Weight of an operator's loss relative to a network's")
        ->capture_default_str();
    sub->add_option("--eager-weight", training.eager_weight,
                    "Weight of the loss of eager latency or step relative to that of graph replay")
        ->capture_default_str();
    sub->add_option("--bend", training.bend, "Log-error beyond which the loss grows linearly")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub->add_option("--correction-penalty", training.correction_penalty, "On the graph's corrections of the latency")
        ->capture_default_str();
    sub->add_option("--mean-decay", training.fit.mean_decay, "Of the exponential mean of the weights over the steps")
        ->capture_default_str();
    sub->add_option("--learning-rate", training.fit.learning_rate, "Highest learning rate")->capture_default_str();
    sub->add_option("--networks", options->study.seeds, "Networks averaged")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    sub->add_option("--without-times", options->study.without_times,
                    "Of them, networks that do not see the trees' kernel times")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    sub->add_option("--public-rows", options->public_rows, "Rows taken of each public table and device")
        ->capture_default_str();
  }
  for (CLI::App* sub : {study_app, page_app})
    sub->add_option("--work", options->work, "Folder of the studies' results")->capture_default_str();
  for (CLI::App* sub : {train_app, study_app, generate_app})
    sub->add_option("--seed", options->study.seed, "Seed of everything random")->capture_default_str();
  train_app->add_option("--out", options->out, "Bundle to write")->capture_default_str();
  score_app->add_option("--bundle", options->scored, "Bundle to score")->capture_default_str();
  train_app->add_flag("--find-rate", options->find_rate, "Sweep for the learning rate first");
  train_app->add_option("--checkpoint", training.fit.checkpoint, "File to write after every epoch and to resume from");
  std::string names;
  for (const Study& one : gnn_studies()) names += std::string(names.empty() ? "" : ", ") + one.name;
  study_app->add_option("--only", options->only, "Studies to run: " + names)->delimiter(',');
  study_app
      ->add_option("--kinds", options->study.kinds,
                   "Cases of the study of layers: sage, gcn, gat, gin, 'sage, chain', none; default: all")
      ->delimiter(';');
  study_app->add_option("--study-epochs", options->study.study_epochs, "Epochs of our network in the smaller studies")
      ->capture_default_str();
  study_app->add_option("--study-folds", options->study.study_folds, "Folds of five in the smaller studies")
      ->capture_default_str()
      ->check(CLI::Range(1, 5));
  study_app->add_option("--family-networks", options->study.family_seeds, "Networks averaged for a family left out")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  study_app->add_option("--folds", options->study.folds, "Folds of five in the protocols; fewer to try something")
      ->capture_default_str()
      ->check(CLI::Range(1, 5));
  study_app->add_option("--families", options->study.families, "Groups of families left out; fewer to try something")
      ->capture_default_str();
  study_app->add_option("--unlabelled", options->study.unlabelled, "Generated graphs to pre-train on")
      ->capture_default_str();
  study_app->add_option("--pretrain-epochs", options->study.pretrain_epochs, "Epochs of pre-training")
      ->capture_default_str();
  page_app->add_option("--docs", options->docs, "Folder of the page")->capture_default_str();
  page_app
      ->add_option("--bundle", options->out,
                   "Bundle to store the interval widths of the average with the trees in; empty: none")
      ->capture_default_str();
  page_app->add_flag("--no-trees", options->no_trees, "Leave the trees out");
  generate_app->add_option("--count", options->count, "How many")->capture_default_str();
  return [options, train_app, study_app, page_app, score_app] {
    if (score_app->parsed()) return score(*options);
    if (train_app->parsed()) return train(*options);
    if (study_app->parsed()) return study(*options);
    if (page_app->parsed()) {
      GnnPageOptions page{options->work,        options->docs,      options->data,
                          options->public_data, !options->no_trees, options->out};
      for (const Study& one : gnn_studies()) page.sections.emplace_back(one.name, one.title);
      return write_gnn_page(page, say);
    }
    return generate(*options);
  };
}

}  // namespace forerun
