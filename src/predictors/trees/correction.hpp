// Correction of the answers for one device, learned from a few measured runs on it. Bundle kind "correction".
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/tree_input.hpp"

namespace forerun {

// Features of a run for the correction: time shares of the kernel classes, host share, latency, number of kernels.
inline constexpr std::size_t kCorrectionFeatures = kKernelClasses + 3;
using CorrectionPoint = std::array<float, kCorrectionFeatures>;
// REQUIRES: the kernels were summed.
[[nodiscard]] CorrectionPoint correction_point(const TreeInput& input, RunMetric metric);
[[nodiscard]] const FeatureSchema& correction_schema();

// One measured run: the answer without correction, the measured value, the features.
struct CorrectionRow {
  double answered = 0, measured = 0;
  CorrectionPoint point{};
};

// log(measured / answered) as a Gaussian process over the features: a constant, a slope and a part shared by similar
// runs, with variances fitted to the rows. Without rows the factor is 1.
class MetricCorrection {
 public:
  [[nodiscard]] double log_factor(const CorrectionPoint& point) const;
  // 90 % half width of the remaining error on the log scale; wider for runs that differ from those measured.
  [[nodiscard]] double half_width(const CorrectionPoint& point) const;
  [[nodiscard]] std::size_t rows() const { return points_.size(); }

  friend MetricCorrection fit_correction(std::span<const CorrectionRow> rows);
  friend class DeviceCorrection;
  friend Result<std::string> make_correction_bundle(const std::string& device,
                                                    const std::map<std::string, MetricCorrection, std::less<>>& metrics,
                                                    const std::string& provenance);

 private:
  [[nodiscard]] double covariance(const CorrectionPoint& a, const CorrectionPoint& b) const;
  CorrectionPoint usual_{};
  double slope_ = 0, likeness_ = 0;  // standard deviations of the slope and of the part shared by similar runs
  double width_ = 0.5;               // half width of the interval (log scale) for a run similar to those measured
  std::vector<CorrectionPoint> points_;
  std::vector<double> weights_;
};
[[nodiscard]] MetricCorrection fit_correction(std::span<const CorrectionRow> rows);

class DeviceCorrection {
 public:
  static Result<DeviceCorrection> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  // Corrects the estimates of a run on this device; returns whether any was corrected. REQUIRES: the kernels of `input`
  // were summed.
  bool apply(const Workload& workload, const TreeInput& input, Estimates& estimates) const;

 private:
  std::string name_, device_;
  std::map<std::string, MetricCorrection, std::less<>> metrics_;  // by RunMetric's name
};

Result<std::string> make_correction_bundle(const std::string& device,
                                           const std::map<std::string, MetricCorrection, std::less<>>& metrics,
                                           const std::string& provenance);

}  // namespace forerun
