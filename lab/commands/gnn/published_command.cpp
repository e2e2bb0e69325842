// forerun-lab published: the published graph-network predictors, trained, judged and shipped in one command.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "dataset/load_campaign.hpp"
#include "evaluation/gnn/published_page.hpp"
#include "evaluation/gnn/published_scores.hpp"
#include "training/gnn/published_bundle.hpp"
#include "training/gnn/published_schedule.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct PublishedOptions {
  std::string data = "data/measurements", work = "build/published", docs, bundles, save_data, trained;
  std::string device = "cpu", hardware;
  double seconds = 0, epochs = 1;
  std::int64_t width = 512, shipped_width = 256;
  std::size_t unlabelled = 20000;
};

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

Status train_groups(const PublishedOptions& options, const PublishedData& data) {
  PublishedPlace place{.say = say};
  if (options.device == "cuda") {
    if (!torch::cuda::is_available()) return bad_input("this LibTorch sees no CUDA device; train with --device cpu");
    place.device = torch::kCUDA;
    at::globalContext().setAllowTF32CuBLAS(true);
  } else if (options.device != "cpu") {
    return bad_input("--device is cpu or cuda");
  }
  const PublishedScale scale{.width = options.width,
                             .shipped_width = options.shipped_width,
                             .epochs = options.epochs,
                             .seconds = options.seconds / double(kPublishedGroups.size()),
                             .unlabelled = options.unlabelled};
  for (const std::string_view group : kPublishedGroups) {
    say("training: " + std::string(group));
    FORERUN_CHECK(train_published(data, group, scale, place, [&](const std::vector<PublishedRun>& runs) {
      return write_text_file((fs::path(options.work) / (std::string(group) + ".runs")).string(), pack_runs(runs));
    }));
  }
  return ok();
}

Result<std::vector<PublishedRun>> read_runs(const std::string& folder) {
  std::vector<PublishedRun> all;
  for (const std::string_view group : kPublishedGroups) {
    const std::string path = (fs::path(folder) / (std::string(group) + ".runs")).string();
    if (!fs::exists(path)) continue;
    FORERUN_TRY(const std::string bytes, read_text_file(path));
    FORERUN_TRY(std::vector<PublishedRun> runs, unpack_runs(bytes));
    std::move(runs.begin(), runs.end(), std::back_inserter(all));
  }
  if (all.empty()) return not_found(folder + ": no trained runs (*.runs); train first, without --trained");
  return all;
}

Status write_bundles(const PublishedOptions& options, const PublishedStudy& study) {
  const PublishedData& data = study.rows.data;
  const ScoredSet scored{&data.inference};
  // Of the two ways to pool, the one nearer to the networks set aside for intervals.
  const PublishedRun *logs = find_run(study, "ship, log-sum"), *sums = find_run(study, "ship, sum"),
                     *training = find_run(study, "ship, encoder");
  if (logs == nullptr || sums == nullptr || training == nullptr)
    return bad_input("the runs that ship were not trained: give more --seconds");
  constexpr Part kIntervals[] = {Part::Valid};
  const auto error = [&](const PublishedRun& run) { return mape_of_run(scored, run, 0, kIntervals).mean; };
  const Pool pool = error(*logs) <= error(*sums) ? Pool::LogSum : Pool::Sum;
  FORERUN_TRY(const PublishedBundle dippm,
              make_published_bundle(PublishedDesign::Inference, data.inference, pool == Pool::LogSum ? *logs : *sums,
                                    pool, options.shipped_width));
  FORERUN_TRY(const PublishedBundle trappm, make_published_bundle(PublishedDesign::Training, data.training, *training,
                                                                  Pool::LogSum, options.shipped_width));
  struct Made {
    const char* name;
    const PublishedBundle* bundle;
    const PublishedSet* set;
  };
  for (const Made& made : {Made{"dippm", &dippm, &data.inference}, Made{"trappm", &trappm, &data.training}}) {
    for (std::size_t o = 0; o < made.set->outputs.size(); ++o) {
      std::vector<Judged> judged;
      const double factor = std::exp(made.bundle->half_widths[o]);
      for (std::size_t i = 0; i < made.set->items.size(); ++i) {
        const PublishedItem& item = made.set->items[i];
        if (item.parts.back() != Part::Test || !(item.targets[o] > 0)) continue;
        const double answer = made.bundle->answers[i][o];
        Judged one;
        one.measured = item.targets[o], one.predicted = answer;
        one.low = answer / factor, one.high = answer * factor;
        judged.push_back(one);
      }
      const Accuracy accuracy = measure_accuracy(judged);
      fmt::print("{:7} {:24} {:4} rows of networks set aside, MAPE {:5.1f} %, 90 % interval ×{:.2f} covers {:3.0f} %\n",
                 made.name, made.set->outputs[o], accuracy.rows, accuracy.mape, factor, accuracy.coverage);
    }
    FORERUN_CHECK(write_text_file((fs::path(options.bundles) / (std::string(made.name) + ".bundle")).string(),
                                  made.bundle->bytes));
  }
  return ok();
}

Status write_docs(const PublishedOptions& options, const PublishedStudy& study) {
  FORERUN_TRY(const PublishedPage made, write_published_sections(study, say));
  const fs::path path = fs::path(options.docs) / "accuracy" / "published.md";
  ReportPage page{
      .title = "The published predictors on today's data",
      .introduction =
          "For researchers who need a baseline: what the published inference, training and tree predictors "
          "reach on our measurements, beside what was published, and why they differ. Published figures: "
          "K. Panner Selvam, *Performance Prediction Models for Deep Learning*, PhD thesis, University of "
          "Luxembourg, PhD-FSTM-2025-034. Generated by `forerun-lab published --device cuda --docs docs` and "
          "`forerun-lab evaluate --sections published-trees --write docs/accuracy/published.md`; do not edit. "
          "The shipped bundles answer `forerun predict MODEL --device h200-sxm --predictor dippm` and, with "
          "`--train`, `--predictor trappm`.\n",
      .sections = {}};
  const fs::path json = fs::path(path).replace_extension(".json");
  if (fs::exists(json)) {  // keeps the sections of other commands
    FORERUN_TRY(const std::string text, read_text_file(json.string()));
    FORERUN_TRY(ReportPage old, parse_page(text));
    page.sections = std::move(old.sections);
  }
  for (const ReportSection& section : made.sections) put_section(page, section);
  for (const auto& [name, contents] : made.files)
    FORERUN_CHECK(write_text_file((path.parent_path() / name).string(), contents));
  FORERUN_CHECK(write_text_file(json.string(), to_json(page)));
  return write_page(path, "", to_markdown(page));
}

Status run(const PublishedOptions& options) {
  FORERUN_TRY(const Dataset dataset, load_measurements(options.data));
  PublishedStudy study;
  FORERUN_TRY(study.rows, make_published_rows(dataset, options.unlabelled, 1337));
  const PublishedData& data = study.rows.data;
  say(fmt::format("{} networks with a batch, {} steps, {} graphs without labels", data.inference.items.size(),
                  data.training.items.size(), data.unlabelled.size()));
  if (!options.save_data.empty()) return write_text_file(options.save_data, pack_published(data));
  std::error_code ignored;
  fs::create_directories(options.work, ignored);
  if (options.trained.empty()) FORERUN_CHECK(train_groups(options, data));
  FORERUN_TRY(study.runs, read_runs(options.trained.empty() ? options.work : options.trained));
  study.hardware = options.hardware;
  if (!options.bundles.empty()) FORERUN_CHECK(write_bundles(options, study));
  if (!options.docs.empty()) {
    study.docs = options.docs;
    FORERUN_CHECK(write_docs(options, study));
  }
  return ok();
}

}  // namespace

LabAction declare_published(CLI::App& app) {
  auto options = std::make_shared<PublishedOptions>();
  app.add_option("data", options->data, "Campaign folder, or a folder of them")->capture_default_str();
  app.add_option("--device", options->device, "cpu or cuda")->capture_default_str();
  app.add_option("--seconds", options->seconds, "For all trainings; epochs are cut to fit. 0: as long as it takes")
      ->capture_default_str();
  app.add_option("--epochs", options->epochs, "Times the epochs of every recipe; below 1 to try something")
      ->capture_default_str();
  app.add_option("--width", options->width, "Of the networks of the tables")->capture_default_str();
  app.add_option("--shipped-width", options->shipped_width, "Of the networks that ship")->capture_default_str();
  app.add_option("--unlabelled", options->unlabelled, "Drawn graphs for pre-training")->capture_default_str();
  app.add_option("--work", options->work, "Folder for what was trained")->capture_default_str();
  app.add_option("--trained", options->trained, "Folder of runs trained before; nothing is trained");
  app.add_option("--save-data", options->save_data, "Write what forerun-train-published reads, and train nothing");
  app.add_option("--bundles", options->bundles, "Folder for dippm.bundle and trappm.bundle; default: none");
  app.add_option("--docs", options->docs, "Folder of accuracy/published.md; default: no page");
  app.add_option("--hardware", options->hardware, "A sentence for the page: what it was trained on, and when");
  return [options] { return run(*options); };
}

}  // namespace forerun
