// The learned predictors that ship, and which of them answers a request.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/correction.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "service/report.hpp"

namespace forerun {

class LearnedPredictors {
 public:
  // From the bundles compiled into the program, and the user's corrections (`forerun-lab adapt`) in the folder
  // "bundles" of the user's own. One that cannot be used is left out; problems() says why.
  static LearnedPredictors load();

  // Replaces the roofline's estimates by better ones. `wanted`: "" = the best for the request (on a device that was
  // measured the mean of the trees and the graph network, where it is closer than the trees; else the sum over learned
  // kernels), or a predictor's name. Errors: an unknown name, or one that cannot answer.
  Status apply(const PredictorInput& input, const std::string& wanted, Estimates& estimates,
               std::vector<std::string>& warnings) const;

  // The features that moved each metric most, ten of them; empty where no trees answered.
  [[nodiscard]] std::vector<FeatureEffect> explain(const PredictorInput& input, const Estimates& estimates) const;

  [[nodiscard]] std::vector<PredictorInfo> describe() const;
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  [[nodiscard]] std::string names() const;
  [[nodiscard]] Result<Prediction> average(
      const PredictorInput& input, std::span<const std::string_view> only) const;  // `only`: these metrics; empty: all
  void add(const Result<Bundle>& bundle);
  void correct(const PredictorInput& input, Estimates& estimates, std::vector<std::string>& warnings) const;
  std::vector<TreePredictor> trees_;
  std::vector<DeviceCorrection> corrections_;
  std::vector<GnnPredictor> networks_;
  std::vector<PredictorInfo> infos_;
  std::vector<std::string> problems_;
};

}  // namespace forerun
