#include "predictors/trees/correction.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "features/value_hash.hpp"
#include "predictors/trees/tree_schemas.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

constexpr double kFactor = 0.4;    // standard deviation of the factor between devices
constexpr double kUnfitted = 0.5;  // half width with too few rows to estimate one
constexpr std::size_t kFewRows = 10;
constexpr double kRowsAlike =
    6;  // rows of one network resemble each other: what is left out is less known than it seems
constexpr Eigen::Index kRowsToChooseBy = 100;  // more than these only fill in
constexpr double kLargestFactor = 2;           // of the logarithm

std::vector<std::string> point_names() {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < kKernelClasses; ++c) names.emplace_back(name_of(KernelClass(c)));
  for (const char* name : {"host_decides", "log_kernel_sum", "log_kernels"}) names.emplace_back(name);
  return names;
}
}  // namespace

const FeatureSchema& correction_schema() {
  static const FeatureSchema kSchema = [] {
    ValueHash hash;
    for (const std::string& name : point_names()) hash.add(name);
    for (const TreeInput& input : sample_inputs()) {
      for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m)
        hash.add_all(correction_point(input, RunMetric(m)));
    }
    return FeatureSchema{"correction-points", 3, hash.value()};
  }();
  return kSchema;
}

namespace {

// One candidate for the variances of slope, similar runs and noise, judged by leave-one-out likelihood.
struct Choice {
  double slope, likeness, noise;
};
constexpr std::array<double, 3> kSlopes = {0, 0.1, 0.3}, kLikenesses = {0, 0.05, 0.15};
constexpr std::array<double, 4> kNoises = {0.03, 0.06, 0.12, 0.25};

double squared_distance(const CorrectionPoint& a, const CorrectionPoint& b) {
  double sum = 0;
  for (std::size_t c = 0; c < kCorrectionFeatures; ++c) sum += double(a[c] - b[c]) * double(a[c] - b[c]);
  return sum;
}
double product(const CorrectionPoint& a, const CorrectionPoint& b, const CorrectionPoint& usual) {
  double sum = 0;
  for (std::size_t c = 0; c < kCorrectionFeatures; ++c) sum += double(a[c] - usual[c]) * double(b[c] - usual[c]);
  return sum;
}

}  // namespace

CorrectionPoint correction_point(const TreeInput& input, RunMetric metric) {
  CorrectionPoint point{};
  // Scaled so that runs of different kinds are at a distance of about 1.
  for (std::size_t c = 0; c < kKernelClasses; ++c) point[c] = 3 * input.class_share[c];
  const bool waits = metric == RunMetric::LatencyEager || metric == RunMetric::Step || metric == RunMetric::Energy ||
                     metric == RunMetric::Power;
  const double host = std::pow(host_time_ms(input), 4), device = std::pow(std::max(1e-6, input.kernel_ms), 4);
  point[kKernelClasses] = waits ? float(2 * host / (host + device)) : 0;
  point[kKernelClasses + 1] = float(0.5 * std::log(std::max(1e-6, input.kernel_ms)));
  point[kKernelClasses + 2] = float(0.5 * std::log(double(std::max<std::size_t>(1, input.ideal_us.size()))));
  return point;
}

double MetricCorrection::covariance(const CorrectionPoint& a, const CorrectionPoint& b) const {
  return kFactor * kFactor + slope_ * slope_ * product(a, b, usual_) +
         likeness_ * likeness_ * std::exp(-0.5 * squared_distance(a, b));
}

double MetricCorrection::log_factor(const CorrectionPoint& point) const {
  double sum = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) sum += weights_[i] * covariance(point, points_[i]);
  return std::clamp(sum, -kLargestFactor, kLargestFactor);
}

double MetricCorrection::half_width(const CorrectionPoint& point) const {
  if (points_.empty()) return kUnfitted;
  double nearest = 1e9;
  for (const CorrectionPoint& p : points_) nearest = std::min(nearest, squared_distance(point, p));
  return width_ + (kUnfitted > width_ ? (kUnfitted - width_) * (1 - std::exp(-0.5 * nearest)) : 0);
}

MetricCorrection fit_correction(std::span<const CorrectionRow> rows) {
  MetricCorrection fit;
  if (rows.empty()) return fit;
  const auto n = Eigen::Index(rows.size());
  Eigen::VectorXd z(n);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fit.points_.push_back(rows[i].point);
    z(Eigen::Index(i)) = std::log(rows[i].measured / rows[i].answered);
    for (std::size_t c = 0; c < kCorrectionFeatures; ++c) fit.usual_[c] += rows[i].point[c] / float(rows.size());
  }
  Eigen::MatrixXd slopes(n, n), alike(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const CorrectionPoint &a = fit.points_[std::size_t(i)], &b = fit.points_[std::size_t(j)];
      slopes(i, j) = slopes(j, i) = product(a, b, fit.usual_);
      alike(i, j) = alike(j, i) = std::exp(-0.5 * squared_distance(a, b));
    }
  }
  const auto inverse = [&](const Choice& c, Eigen::Index m) -> Eigen::MatrixXd {
    const Eigen::MatrixXd k =
        Eigen::MatrixXd::Constant(m, m, kFactor * kFactor) + c.slope * c.slope * slopes.topLeftCorner(m, m) +
        c.likeness * c.likeness * alike.topLeftCorner(m, m) + c.noise * c.noise * Eigen::MatrixXd::Identity(m, m);
    return k.ldlt().solve(Eigen::MatrixXd::Identity(m, m));
  };
  Choice best = {0, 0, 0.12};
  if (rows.size() >= kFewRows) {
    const Eigen::Index m = std::min(n, kRowsToChooseBy);
    double best_score = 1e300;
    for (const double slope : kSlopes) {
      for (const double likeness : kLikenesses) {
        for (const double noise : kNoises) {
          const Eigen::MatrixXd inv = inverse({slope, likeness, noise}, m);
          const Eigen::VectorXd alpha = inv * z.head(m);
          double score = 0;  // minus the log probability of each row given the others
          for (Eigen::Index i = 0; i < m; ++i) score += 0.5 * (alpha(i) * alpha(i) / inv(i, i) - std::log(inv(i, i)));
          if (score < best_score) {
            best_score = score;
            best = {slope, likeness, noise};
          }
        }
      }
    }
  }
  fit.slope_ = best.slope;
  fit.likeness_ = best.likeness;
  const Eigen::MatrixXd inv = inverse(best, n);
  const Eigen::VectorXd alpha = inv * z;
  fit.weights_.assign(alpha.data(), alpha.data() + n);
  fit.width_ = kUnfitted;
  if (rows.size() < kFewRows) return fit;
  // Leave-one-out errors.
  std::vector<double> errors;
  for (Eigen::Index i = 0; i < n; ++i) errors.push_back(std::abs(alpha(i) / inv(i, i)));
  std::sort(errors.begin(), errors.end());
  const auto rank = std::size_t(std::ceil(0.9 * double(errors.size() + 1)));
  fit.width_ = errors[std::min(rank, errors.size()) - 1] * (1 + kRowsAlike / double(rows.size()));
  return fit;
}

Result<DeviceCorrection> DeviceCorrection::load(const Bundle& bundle) {
  if (bundle.manifest().kind != "correction")
    return bad_input(bundle.file_name() + ": a bundle of kind " + bundle.manifest().kind + ", not a correction");
  FORERUN_CHECK(bundle.check_schema(correction_schema()));
  DeviceCorrection correction;
  correction.name_ = bundle.manifest().name;
  FORERUN_TRY(const std::string_view text, bundle.part("correction"));
  try {
    const Json json = Json::parse(text);
    correction.device_ = json.at("device").get<std::string>();
    for (const auto& [metric, entry] : json.at("metrics").items()) {
      MetricCorrection& c = correction.metrics_[metric];
      c.slope_ = entry.at("slope");
      c.likeness_ = entry.at("likeness");
      c.width_ = entry.at("half_width");
      c.usual_ = entry.at("usual").get<CorrectionPoint>();
      if (!entry.at("rows").is_number_unsigned())
        return bad_input(bundle.file_name() + ": the rows of " + metric + " are no whole number");
      const std::size_t rows = entry.at("rows");
      FORERUN_TRY(const std::string_view points, bundle.section(metric + ".points"));
      FORERUN_TRY(const std::string_view weights, bundle.section(metric + ".weights"));
      if (rows > points.size() || points.size() != rows * sizeof(CorrectionPoint) ||
          weights.size() != rows * sizeof(double)) {
        return bad_input(bundle.file_name() + ": the sections of " + metric + " do not have the expected size");
      }
      c.points_.resize(rows);
      c.weights_.resize(rows);
      if (rows > 0) {
        std::memcpy(c.points_.data(), points.data(), points.size());
        std::memcpy(c.weights_.data(), weights.data(), weights.size());
      }
    }
  } catch (const Json::exception& error) {
    return bad_input(bundle.file_name() + ": part correction: " + error.what());
  }
  return correction;
}

bool DeviceCorrection::apply(const Workload& workload, const TreeInput& input, Estimates& estimates) const {
  bool said = false;
  for (auto& [key, estimate] : estimates) {
    const auto metric = run_metric_of(key, workload);
    const auto found = metric ? metrics_.find(name_of(*metric)) : metrics_.end();
    if (found == metrics_.end() || found->second.rows() == 0) continue;
    const CorrectionPoint point = correction_point(input, *metric);
    const double half = found->second.half_width(point);
    estimate.value *= std::exp(found->second.log_factor(point));
    estimate.low = estimate.value * std::exp(-half);
    estimate.high = estimate.value * std::exp(half);
    estimate.basis = Basis::Learned;
    estimate.predictor += "+" + name_;
    said = true;
  }
  return said;
}

Result<std::string> make_correction_bundle(const std::string& device,
                                           const std::map<std::string, MetricCorrection, std::less<>>& metrics,
                                           const std::string& provenance) {
  Json json = {{"device", device}, {"metrics", Json::object()}};
  BundleManifest manifest;
  for (const auto& [metric, c] : metrics) {
    json["metrics"][metric] = {{"slope", c.slope_},
                               {"likeness", c.likeness_},
                               {"half_width", c.width_},
                               {"rows", c.rows()},
                               {"usual", c.usual_}};
    manifest.metrics.push_back(metric);
  }
  manifest.name = "adapted-" + device;
  manifest.kind = "correction";
  manifest.schema = correction_schema();
  manifest.parts = {{"correction", json.dump()}, {"provenance", provenance}};
  BundleWriter writer(std::move(manifest));
  for (const auto& [metric, c] : metrics) {
    FORERUN_CHECK(writer.add_section(metric + ".points", {reinterpret_cast<const char*>(c.points_.data()),
                                                          c.points_.size() * sizeof(CorrectionPoint)}));
    FORERUN_CHECK(writer.add_section(
        metric + ".weights", {reinterpret_cast<const char*>(c.weights_.data()), c.weights_.size() * sizeof(double)}));
  }
  return writer.bytes();
}

}  // namespace forerun
