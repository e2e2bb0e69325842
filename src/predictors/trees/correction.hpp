// A device's correction: a few measured rows on it, as factors on what was answered without them. Kind "correction".
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

// log(measured / answered) = bias + sum over kernel classes of weight x (share - usual share).
struct MetricCorrection {
  double bias = 0;
  std::array<double, kKernelClasses> weights{};
  std::array<double, kKernelClasses> usual{};
  double half_width = 0.3;  // 90 %, log scale, of what is left
  std::size_t rows = 0;
  [[nodiscard]] double log_factor(std::span<const float> class_share) const;
};

// One measured row: what was answered, what is true, and the mix of its kernels.
struct CorrectionRow {
  double answered = 0, measured = 0;
  std::array<float, kKernelClasses> class_share{};
};
// Ridge regression that trusts few rows little: no rows change nothing.
[[nodiscard]] MetricCorrection fit_correction(std::span<const CorrectionRow> rows);

class DeviceCorrection {
 public:
  static Result<DeviceCorrection> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  // Corrects the estimates of a run on this device. `class_share` as TreeInput has it after sum_kernels().
  void apply(const Workload& workload, std::span<const float> class_share, Estimates& estimates) const;

 private:
  std::string name_, device_;
  std::map<std::string, MetricCorrection, std::less<>> metrics_;  // by TreeMetric's name
};

Result<std::string> make_correction_bundle(const std::string& device, const std::map<std::string, MetricCorrection, std::less<>>& metrics,
                                           const std::string& provenance);

}  // namespace forerun
