// forerun-lab compiled: measured compiled runs into the bundle of what compiling changes.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "evaluation/trees/compiled_study.hpp"

namespace forerun {
namespace {

struct CompiledOptions {
  StudyOptions study;
  std::string out = "build/bundles/compiled.bundle";
  std::string facts;
};

// Every run with its features, for a look from outside.
Status write_facts(const std::vector<CompiledPoint>& points, const std::string& path) {
  std::string text =
      "campaign,id,family,network,precision,measured_ms,base_ms,replay_ms,predicted_replay_ms,analytic_ms,"
      "measured_mb,base_mb,measured_w,base_w";
  for (const std::string& name : compiled_fact_names()) text += "," + name;
  for (const CompiledPoint& p : points) {
    const Example& run = p.row.run;
    text += "\n" + run.campaign + "," + run.row_id + "," + run.family + "," + run.network + "," +
            std::string(name_of(run.workload.precision));
    for (const double v : {p.measured[0], p.base[0], p.row.replay_ms, p.replay_ms, p.analytic_ms, p.measured[1],
                           p.base[1], p.measured[2], p.base[2]})
      text += "," + std::to_string(v);
    for (const float v : p.facts) text += "," + std::to_string(v);
  }
  return write_text_file(path, text + "\n");
}

Status learn(const CompiledOptions& options) {
  const ProgressLine progress = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  FORERUN_TRY(std::vector<CompiledRow> rows, load_compiled_rows(options.study.data, options.study.timm_graphs));
  if (rows.empty()) return bad_input(options.study.data + ": no compiled.csv with runs of inference in it");
  FORERUN_TRY(const std::vector<CompiledPoint> points, compiled_points(std::move(rows), progress));
  if (!options.facts.empty()) FORERUN_CHECK(write_facts(points, options.facts));
  FORERUN_TRY(const std::string bytes, train_compiled(points));
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(options.out).parent_path(), ignored);
  FORERUN_CHECK(write_text_file(options.out, bytes));
  FORERUN_TRY(const Bundle written, Bundle::open(options.out));
  FORERUN_CHECK(CompiledFactors::load(written));
  std::printf("%s: %zu runs, %.2f MB\n", options.out.c_str(), points.size(), double(bytes.size()) / 1e6);
  return ok();
}

}  // namespace

LabAction declare_compiled(CLI::App& app) {
  auto options = std::make_shared<CompiledOptions>();
  app.add_option("--data", options->study.data, "Folder of campaigns")->capture_default_str();
  app.add_option("--timm-graphs", options->study.timm_graphs, "Archive of timm's graphs")->capture_default_str();
  app.add_option("--out", options->out, "The bundle; it ships from bundles/")->capture_default_str();
  app.add_option("--facts", options->facts, "CSV of the runs with their features");
  return [options] { return learn(*options); };
}

}  // namespace forerun
