// forerun-lab adapt: a few measured rows of a device into a small bundle that corrects the answers for it.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "dataset/load_campaign.hpp"
#include "dataset/tree_rows.hpp"
#include "lab/command.hpp"
#include "predictors/trees/correction.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct AdaptOptions {
  std::string device, measurements, bundle = "bundles/trees.bundle", out;
};

constexpr std::size_t kMostRows = 300;

// Rows of a campaign's folder, or of one CSV file in it.
Result<std::vector<Example>> load_rows(const AdaptOptions& options) {
  const bool is_file = fs::is_regular_file(options.measurements);
  const fs::path folder = is_file ? fs::path(options.measurements).parent_path() : fs::path(options.measurements);
  FORERUN_TRY(Dataset data, load_campaign(folder.empty() ? "." : folder.string(), {.device = options.device}));
  if (!is_file) return std::move(data.examples);
  std::string stem = fs::path(options.measurements).filename().string();
  stem = stem.substr(0, stem.find(".csv"));
  std::erase_if(data.examples, [&](const Example& e) { return !e.row_id.starts_with(stem + "/"); });
  return std::move(data.examples);
}

Status adapt(const AdaptOptions& options) {
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  FORERUN_TRY(const Device device, catalogue.find(options.device));
  FORERUN_TRY(const Bundle bundle, Bundle::open(options.bundle));
  FORERUN_TRY(const TreePredictor predictor, TreePredictor::load(bundle));
  FORERUN_TRY(std::vector<Example> examples, load_rows(options));
  std::erase_if(examples, [&](const Example& e) { return e.device != device.id && e.device != options.device; });
  for (Example& e : examples) e.device = device.id;
  if (examples.size() > kMostRows) {
    std::fprintf(stderr, "%zu rows: only the first %zu are used; with so many, train instead\n", examples.size(), kMostRows);
    examples.resize(kMostRows);
  }
  FORERUN_TRY(TreeRows rows, make_tree_rows(std::move(examples), catalogue));
  std::map<std::string, std::vector<CorrectionRow>, std::less<>> by_metric;
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
    TreeInput& input = rows.inputs[i];
    predictor.sum(input);
    const std::vector<float> row = tree_row(input);
    for (std::size_t m = 0; m < std::size_t(TreeMetric::Count); ++m) {
      const auto metric = TreeMetric(m);
      const auto measured = rows.examples[i].metrics.find(name_of(metric));
      if (measured == rows.examples[i].metrics.end()) continue;
      // What would be answered without this bundle: trees where the device is known, else the kernel sum for times and the
      // roofline for the rest.
      const bool is_time = metric == TreeMetric::LatencyEager || metric == TreeMetric::LatencyGraph || metric == TreeMetric::Step;
      double answered = is_time ? tree_base(input, metric) : roofline_answer(input, metric);
      if (predictor.knows(device)) answered = predictor.answer(input, row, metric).value_or(answered);
      by_metric[std::string(name_of(metric))].push_back({answered, measured->second, input.class_share});
    }
  }
  std::map<std::string, MetricCorrection, std::less<>> corrections;
  for (const auto& [metric, metric_rows] : by_metric) {
    corrections[metric] = fit_correction(metric_rows);
    std::printf("%s: %zu rows, factor %.3f on average, then within ±%.0f %% (90 %%)\n", metric.c_str(), metric_rows.size(),
                std::exp(corrections[metric].bias), 100 * (std::exp(corrections[metric].half_width) - 1));
  }
  const nlohmann::json provenance = {{"measurements", fs::path(options.measurements).filename().string()}, {"rows", rows.inputs.size()},
                                     {"device", device.id}, {"corrects", predictor.name()}};
  FORERUN_TRY(const std::string bytes, make_correction_bundle(device.id, corrections, provenance.dump()));
  const std::string path = options.out.empty() ? "adapted-" + device.id + ".bundle" : options.out;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file) return Error{ErrorKind::Io, path + ": cannot be written"};
  std::printf("%s\n", path.c_str());
  return ok();
}

}  // namespace

LabAction declare_adapt(CLI::App& app) {
  auto options = std::make_shared<AdaptOptions>();
  app.add_option("--device", options->device, "Device of the catalogue")->required();
  app.add_option("--measurements", options->measurements, "Folder as `forerun-lab measure` makes it, or one CSV file in it; 0 to 300 rows")->required();
  app.add_option("--bundle", options->bundle, "The trees to correct")->capture_default_str();
  app.add_option("--out", options->out, "File to write (default adapted-DEVICE.bundle)");
  return [options] { return adapt(*options); };
}

}  // namespace forerun
