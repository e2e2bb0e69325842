// forerun-lab train: measurements into trees that may ship (forerun-lab ship).
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands/command.hpp"
#include "evaluation/trees/tree_study.hpp"

namespace forerun {
namespace {

struct TrainOptions {
  StudyOptions study;
  std::string out = "build/bundles";
  bool all = false, all_rows = false;
};

Status train(TrainOptions options) {
  options.study.set_aside = !options.all_rows;
  const ProgressLine progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  FORERUN_TRY(const TreeStudy study, open_study(options.study, progress));
  for (const SkippedRows& s : study.skipped) progress(fmt::format("{} rows left out: {}", s.rows, s.reason));
  FORERUN_TRY(const TrainedTrees trained, train_all(study, options.study.threads, progress));
  FORERUN_TRY(const std::string bytes, make_tree_bundle(trained));
  std::error_code failed;
  std::filesystem::create_directories(options.out, failed);
  const std::string path = (std::filesystem::path(options.out) / "trees.bundle").string();
  std::ofstream file(path + ".part", std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file) return Error{ErrorKind::Io, path + ": cannot be written"};
  std::filesystem::rename(path + ".part", path, failed);
  if (failed) return Error{ErrorKind::Io, path + ": " + failed.message()};
  FORERUN_TRY(const Bundle written, Bundle::open(path));
  FORERUN_TRY(const TreePredictor predictor, TreePredictor::load(written));
  std::printf("%s: %s, %zu metrics, %.1f MB\n", path.c_str(), predictor.name().c_str(), trained.metrics.size(),
              double(bytes.size()) / 1e6);
  return ok();
}

}  // namespace

LabAction declare_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  app.add_flag("--all", options->all, "Train every predictor that the measurements allow (the default)");
  app.add_flag("--all-rows", options->all_rows,
               "Learn from the networks that judge bundles as well: `ship` refuses such a bundle");
  app.add_option("--data", options->study.data, "Folder of campaigns")->capture_default_str();
  app.add_option("--public-data", options->study.public_data, "Folder of public operator sweeps; may be absent")
      ->capture_default_str();
  app.add_option("--public-rows", options->study.public_rows, "Rows taken of each public table and device")
      ->capture_default_str();
  app.add_option("--out", options->out, "Folder for the bundles; `ship` puts one that passes into bundles/")
      ->capture_default_str();
  app.add_option("--threads", options->study.threads, "0: all cores")->capture_default_str();
  return [options] { return train(*options); };
}

}  // namespace forerun
