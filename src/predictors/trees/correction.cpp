#include "predictors/trees/correction.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace forerun {
namespace {

using Json = nlohmann::json;

constexpr double kBiasPrior = 2;     // rows' worth of belief that nothing needs correcting
constexpr double kWeightPrior = 1;   // ridge on the weights of classes, against shares in 0 … 1
constexpr double kUnfitted = 0.5;    // half width while there are too few rows to know better

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < kKernelClasses; ++c) names.emplace_back(name_of(KernelClass(c)));
  return names;
}

FeatureSchema correction_schema() { return {"kernel-class-shares", 1, hash_feature_names(class_names())}; }

// Answer of report key -> metric, as measurements name it.
std::string metric_of(std::string_view key, const Workload& workload) {
  if (key != "latency_ms") return std::string(key);
  if (workload.training) return std::string(name_of(TreeMetric::Step));
  return std::string(name_of(workload.runtime == Runtime::Graph ? TreeMetric::LatencyGraph : TreeMetric::LatencyEager));
}

}  // namespace

double MetricCorrection::log_factor(std::span<const float> class_share) const {
  double sum = bias;
  for (std::size_t c = 0; c < kKernelClasses; ++c) sum += weights[c] * (class_share[c] - usual[c]);
  return std::clamp(sum, -2.0, 2.0);
}

MetricCorrection fit_correction(std::span<const CorrectionRow> rows) {
  MetricCorrection fit;
  fit.rows = rows.size();
  fit.half_width = kUnfitted;
  if (rows.empty()) return fit;
  const auto n = Eigen::Index(rows.size()), k = Eigen::Index(kKernelClasses);
  Eigen::MatrixXd x(n, k);
  Eigen::VectorXd z(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index c = 0; c < k; ++c) x(i, c) = rows[std::size_t(i)].class_share[std::size_t(c)];
    z(i) = std::log(rows[std::size_t(i)].measured / rows[std::size_t(i)].answered);
  }
  const Eigen::VectorXd usual = x.colwise().mean();
  x.rowwise() -= usual.transpose();
  fit.bias = z.sum() / (double(n) + kBiasPrior);
  const Eigen::VectorXd rest = z.array() - fit.bias;
  const Eigen::MatrixXd normal = x.transpose() * x + kWeightPrior * Eigen::MatrixXd::Identity(k, k);
  const auto solver = normal.ldlt();
  const Eigen::VectorXd weights = solver.solve(x.transpose() * rest);
  for (std::size_t c = 0; c < kKernelClasses; ++c) {
    fit.weights[c] = weights(Eigen::Index(c));
    fit.usual[c] = usual(Eigen::Index(c));
  }
  if (n < 10) return fit;
  // Errors as if each row had been left out, by its leverage.
  std::vector<double> errors;
  const Eigen::VectorXd left = rest - x * weights;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double leverage = std::min(0.9, x.row(i).dot(solver.solve(x.row(i).transpose())) + 1.0 / (double(n) + kBiasPrior));
    errors.push_back(std::abs(left(i)) / (1 - leverage));
  }
  std::sort(errors.begin(), errors.end());
  const auto rank = std::size_t(std::ceil(0.9 * double(errors.size() + 1)));
  fit.half_width = errors[std::min(rank, errors.size()) - 1];
  return fit;
}

Result<DeviceCorrection> DeviceCorrection::load(const Bundle& bundle) {
  if (bundle.manifest().kind != "correction") return bad_input(bundle.file_name() + ": a bundle of kind " + bundle.manifest().kind + ", not a correction");
  FORERUN_CHECK(bundle.check_schema(correction_schema()));
  DeviceCorrection correction;
  correction.name_ = bundle.manifest().name;
  FORERUN_TRY(const std::string_view text, bundle.part("correction"));
  try {
    const Json json = Json::parse(text);
    correction.device_ = json.at("device").get<std::string>();
    for (const auto& [metric, entry] : json.at("metrics").items()) {
      MetricCorrection& c = correction.metrics_[metric];
      c.bias = entry.at("bias");
      c.half_width = entry.at("half_width");
      c.rows = entry.at("rows");
      c.weights = entry.at("weights").get<std::array<double, kKernelClasses>>();
      c.usual = entry.at("usual").get<std::array<double, kKernelClasses>>();
    }
  } catch (const Json::exception& error) {
    return bad_input(bundle.file_name() + ": part correction: " + error.what());
  }
  return correction;
}

void DeviceCorrection::apply(const Workload& workload, std::span<const float> class_share, Estimates& estimates) const {
  for (auto& [key, estimate] : estimates) {
    const auto found = metrics_.find(metric_of(key, workload));
    if (found == metrics_.end() || found->second.rows == 0) continue;
    const double half = found->second.half_width;
    estimate.value *= std::exp(found->second.log_factor(class_share));
    estimate.low = estimate.value * std::exp(-half);
    estimate.high = estimate.value * std::exp(half);
    estimate.basis = Basis::Learned;
    estimate.predictor += "+" + name_;
  }
}

Result<std::string> make_correction_bundle(const std::string& device, const std::map<std::string, MetricCorrection, std::less<>>& metrics,
                                           const std::string& provenance) {
  Json json = {{"device", device}, {"metrics", Json::object()}};
  BundleManifest manifest;
  for (const auto& [metric, c] : metrics) {
    json["metrics"][metric] = {{"bias", c.bias}, {"half_width", c.half_width}, {"rows", c.rows}, {"weights", c.weights}, {"usual", c.usual}};
    manifest.metrics.push_back(metric);
  }
  manifest.name = "adapted-" + device;
  manifest.kind = "correction";
  manifest.schema = correction_schema();
  manifest.parts = {{"correction", json.dump()}, {"provenance", provenance}};
  return BundleWriter(std::move(manifest)).bytes();
}

}  // namespace forerun
