// The predictors by name, shipped and the user's own, and the policy that picks one for a request.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bundle/bundle.hpp"
#include "predictors/compiled/compiled_pass.hpp"
#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/correction.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {

struct PredictorInfo {
  std::string name, basis;
  std::vector<std::string> metrics;
  std::string report_json;  // the evaluation stored in its bundle; empty when there is none
};

// What was loaded from the bundles; combined predictors are made from it.
struct LoadedParts {
  struct Entry {
    std::unique_ptr<const Predictor> predictor;
    bool takes_corrections = false;  // the user's measurements correct its answers
  };
  std::vector<Entry> entries;
  std::shared_ptr<const TreePredictor> trees;
  std::shared_ptr<const GnnPredictor> network;
  std::vector<std::shared_ptr<const DeviceCorrection>> corrections;
  std::shared_ptr<const CompiledFactors> compiled;
};

class PredictorSet {
 public:
  // Loads the bundles compiled into the program and the user's corrections (`forerun-lab adapt`) in the folder
  // "bundles" of the user's configuration. A bundle that cannot be used is left out; problems() says why.
  static PredictorSet load();
  PredictorSet();  // the analytic one alone

  // The predictor for a request. `wanted`: a name, or "" for the best. Errors: an unknown name, or a predictor that
  // cannot answer. The result lives as long as the set.
  [[nodiscard]] Result<const Predictor*> pick(const PredictorInput& input, std::string_view wanted) const;

  [[nodiscard]] const TreePredictor* trees() const { return parts_.trees.get(); }
  // Of compiled passes; null where no bundle holds them.
  [[nodiscard]] const CompiledFactors* compiled() const { return parts_.compiled.get(); }

  // A device whose networks were measured; "" when there is none.
  [[nodiscard]] std::string measured_device() const;
  // Whether networks of this kind of run were measured on this device.
  // Whether networks were measured on this device, for training or for a correction of one's own.
  [[nodiscard]] bool was_measured(const Device& device) const;
  [[nodiscard]] bool is_measured(const PredictorInput& input) const;
  // The host's part of an eager pass, which is the same on every device, from its answer on a device that was measured.
  // REQUIRES: is_measured(input), and that the input groups its kernels
  [[nodiscard]] Result<HostPart> learned_host(const PredictorInput& input) const;

  [[nodiscard]] const std::vector<PredictorInfo>& describe() const { return infos_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  void load_bundles(const std::vector<Result<Bundle>>& bundles);
  void combine();  // adds predictors made of several bundles
  void correct();  // adds a corrected copy per device with corrections
  [[nodiscard]] const Predictor* find(std::string_view name) const;
  [[nodiscard]] std::string names() const;

  LoadedParts parts_;
  std::unique_ptr<const Predictor> usual_mean_;  // trees and graph network, for the default answer
  struct Corrected {
    const Predictor* inner;
    std::string device;
    std::unique_ptr<const Predictor> predictor;
  };
  std::vector<Corrected> corrected_;
  std::vector<PredictorInfo> infos_;
  std::vector<std::string> problems_;
};

}  // namespace forerun
