// forerun-lab adapt: a few measured rows of a device into a small bundle that corrects the answers for it, or, of a
// platform that no file describes, into rates of its own (adapt_platform.cpp).
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "analysis/analyze.hpp"
#include "base/embedded.hpp"
#include "base/user_folder.hpp"
#include "commands/adapt_platform.hpp"
#include "commands/command.hpp"
#include "commands/measured_rows.hpp"
#include "dataset/tree_rows.hpp"
#include "predictors/predictor_set.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/trees/correction.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "training/trees/correction_choice.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_bundles();  // bundles/*.bundle

namespace {

namespace fs = std::filesystem;

struct AdaptOptions {
  std::string device, platform, id, measurements, bundle, out;
};

constexpr std::size_t kMostRows = 300;

// The rows of this device, at most kMostRows of them.
Result<std::vector<Example>> rows_of(const AdaptOptions& options, const Device& device) {
  FORERUN_TRY(std::vector<Example> examples, load_measured_rows(options.measurements, options.device));
  std::set<std::string> others;
  for (const Example& e : examples) {
    if (e.device != device.id && e.device != options.device) others.insert(e.device);
  }
  std::erase_if(examples, [&](const Example& e) { return others.contains(e.device); });
  if (examples.empty()) {
    std::string found = others.empty() ? "; a table is called vision_inference.csv, vision_training.csv or "
                                         "llm_inference.csv (docs/your-own-gpu.md)"
                                       : "; its rows are of";
    for (const std::string& other : others) found += " " + other;
    return bad_input(fmt::format("{}: no measured row of {} to adapt with{}", options.measurements, device.id, found));
  }
  for (Example& e : examples) e.device = device.id;
  if (examples.size() > kMostRows) {
    std::fprintf(stderr, "%zu rows: only the first %zu are used; with so many, train instead\n", examples.size(),
                 kMostRows);
    examples.resize(kMostRows);
  }
  return examples;
}

// The trees to correct: a file, or those in the program.
Result<Bundle> open_trees(const std::string& path) {
  if (!path.empty()) return Bundle::open(path);
  for (const EmbeddedFile& file : embedded_bundles()) {
    auto bundle = Bundle::from_bytes(file.bytes, std::string(file.name));
    if (bundle && bundle->manifest().kind == "trees") return bundle;
  }
  return not_found("no trees are built into this program: name their file with --bundle");
}

// Where `forerun predict` looks for corrections.
Result<std::string> place_of(const AdaptOptions& options, const Device& device) {
  if (!options.out.empty()) return options.out;
  const fs::path own = user_folder();
  if (own.empty()) return bad_input("neither HOME nor XDG_CONFIG_HOME is set: say where to write with --out");
  std::error_code failed;
  fs::create_directories(own / "bundles", failed);
  if (failed) return Error{ErrorKind::Io, (own / "bundles").string() + ": " + failed.message()};
  return (own / "bundles" / ("adapted-" + device.id + ".bundle")).string();
}

// Readers see the old file or the new one, never half of one.
Status write_beside(const std::string& path, const std::string& bytes) {
  std::ofstream file(path + ".part", std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  std::error_code failed;
  if (file) fs::rename(path + ".part", path, failed);
  return file && !failed ? ok() : Status(Error{ErrorKind::Io, path + ": cannot be written"});
}

// The correction is of what predict() answers: on the reference host, whose part is learned on `measured` where the
// device was not measured; energy of the passes alone.
Status take_reference_host(const PredictorSet& predictors, const Device& device, const Device* measured,
                           TreeRows& rows) {
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    const Example& e = rows.examples[i];
    TreeInput& input = rows.inputs[i];
    FORERUN_TRY(const Graph graph, analyze(*e.net, e.workload.binding));
    const std::vector<Kernel> kernels = list_kernels(graph, e.workload);
    const Totals totals = sum_totals(graph);
    std::vector<std::uint32_t> group_of;
    const std::vector<KernelGroup> groups = group_kernels(kernels, &group_of);
    const RooflineEstimate here = estimate_roofline(graph, kernels, e.workload, device);
    HostPart host{.time = reference_host().time[std::size_t(input.domain)]};
    const auto on = [&](const Device& where, const RooflineEstimate& roofline) {
      return PredictorInput{graph, totals, kernels, e.workload, where, roofline, groups, group_of, host};
    };
    if (measured != nullptr && e.workload.runtime == Runtime::Eager && !predictors.is_measured(on(device, here))) {
      const RooflineEstimate there = estimate_roofline(graph, kernels, e.workload, *measured);
      const PredictorInput known = on(*measured, there);
      if (predictors.is_measured(known)) {
        FORERUN_TRY(host, predictors.learned_host(known));
      }
    }
    input.host_ms = host.of(here.host_ms);
    const RooflineEstimate analytic = eager_on_host(here, input.host_ms, device);
    input.eager_ms = analytic.latency_eager_ms;
    input.power_w = analytic.power_eager_w;
    input.counted = reference_counted(e.workload.training);
  }
  return ok();
}

// Sums the kernels of all rows; what the trees answer, nothing where the device was not measured.
std::vector<TreeAnswers> answer_all(const TreePredictor& predictor, const Device& device, TreeRows& rows) {
  if (predictor.knows(device)) {
    predictor.sum_many(rows.inputs);
    return predictor.answers_many(rows.inputs);
  }
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) predictor.sum(rows.inputs[i], rows.examples[i].workload, device);
  return std::vector<TreeAnswers>(rows.inputs.size());
}

Status adapt(const AdaptOptions& options) {
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  FORERUN_TRY(const Device device, catalogue.find(options.device));
  FORERUN_TRY(const Bundle bundle, open_trees(options.bundle));
  FORERUN_TRY(const TreePredictor predictor, TreePredictor::load(bundle));
  FORERUN_TRY(std::vector<Example> examples, rows_of(options, device));
  FORERUN_TRY(TreeRows rows, make_tree_rows(std::move(examples), catalogue, 0, predictor.basis_of(device)));
  for (const std::string& failure : rows.failures) std::fprintf(stderr, "left out: %s\n", failure.c_str());
  struct MetricRows {
    std::vector<CorrectionRow> rows;
    std::vector<std::string> networks;
  };
  std::map<std::string, MetricRows, std::less<>> by_metric;
  const PredictorSet predictors = PredictorSet::load();
  const auto measured = catalogue.find(predictors.measured_device());
  FORERUN_CHECK(take_reference_host(predictors, device, measured ? &*measured : nullptr, rows));
  const std::vector<TreeAnswers> answers = answer_all(predictor, device, rows);
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    const TreeInput& input = rows.inputs[i];
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) {
      const auto metric = RunMetric(m);
      const auto measured = rows.examples[i].metrics.find(name_of(metric));
      if (measured == rows.examples[i].metrics.end()) continue;
      // What would be answered without this bundle: trees where the device is known, else the kernel sum for times and,
      // with the roofline's power, for energy (on NVIDIA's devices), and the roofline for the rest.
      const bool by_kernels =
          device.maker == "NVIDIA" && (metric == RunMetric::LatencyEager || metric == RunMetric::LatencyGraph ||
                                       metric == RunMetric::Step || is_energy(metric));
      double answered = by_kernels ? tree_base(input, metric) : roofline_answer(input, metric);
      answered = answers[i][m].value_or(answered);
      MetricRows& of_metric = by_metric[std::string(name_of(metric))];
      of_metric.rows.push_back({answered, measured->second, correction_point(input, metric)});
      of_metric.networks.push_back(rows.examples[i].network);
    }
  }
  std::map<std::string, MetricCorrection, std::less<>> corrections;
  for (const auto& [metric, measured_rows] : by_metric) {
    const std::vector<CorrectionRow>& metric_rows = measured_rows.rows;
    const CorrectionChoice choice = choose_correction(metric_rows, measured_rows.networks);
    if (!choice.helps) {
      std::printf(
          "%s: %zu rows, left as it is: off by %.0f %% as answered, by %.0f %% corrected on folds of networks\n",
          metric.c_str(), metric_rows.size(), 100 * std::expm1(choice.answered_error),
          100 * std::expm1(choice.corrected_error));
      continue;
    }
    const MetricCorrection& fit = corrections[metric] = choice.correction;
    double factor = 0, half = 0;
    for (const CorrectionRow& row : metric_rows) {
      factor += fit.log_factor(row.point) / double(metric_rows.size());
      half += fit.half_width(row.point) / double(metric_rows.size());
    }
    std::printf("%s: %zu rows, factor %.3f on average, then within ±%.0f %% (90 %%)\n", metric.c_str(),
                metric_rows.size(), std::exp(factor), 100 * (std::exp(half) - 1));
  }
  if (corrections.empty()) {
    std::printf("nothing is written: no metric's correction is better than the answers as they are\n");
    return ok();
  }
  const nlohmann::json provenance = {{"measurements", fs::path(options.measurements).filename().string()},
                                     {"rows", rows.inputs.size()},
                                     {"device", device.id},
                                     {"corrects", predictor.name()}};
  FORERUN_TRY(const std::string bytes, make_correction_bundle(device.id, corrections, provenance.dump()));
  FORERUN_TRY(const std::string path, place_of(options, device));
  FORERUN_CHECK(write_beside(path, bytes));
  if (options.out.empty()) {
    std::printf("%s: forerun predict uses it from now on; remove the file to undo\n", path.c_str());
  } else {
    std::printf("%s\n", path.c_str());
  }
  return ok();
}

}  // namespace

LabAction declare_adapt(CLI::App& app) {
  auto options = std::make_shared<AdaptOptions>();
  auto* device = app.add_option("--device", options->device, "Device of the catalogue");
  auto* platform = app.add_option("--platform", options->platform,
                                  "Instead: what the device is, in plain words, where the catalogue has none like it");
  app.add_option("--id", options->id, "Its id for forerun predict --device (default: the text's first words)")
      ->needs(platform);
  device->excludes(platform);
  app.add_option("--measurements", options->measurements,
                 "Folder of a campaign (docs/your-own-gpu.md), or one CSV file in it; up to 300 rows")
      ->required();
  app.add_option("--bundle", options->bundle, "The trees to correct (default: those in the program)")
      ->excludes(platform);
  app.add_option("--out", options->out,
                 "File to write (default: where forerun predict finds it, bundles/ of ~/.config/forerun)");
  return [options]() -> Status {
    if (!options->platform.empty())
      return adapt_platform({options->platform, options->id, options->measurements, options->out});
    if (options->device.empty()) return bad_input("adapt needs --device ID or --platform TEXT");
    return adapt(*options);
  };
}

}  // namespace forerun
