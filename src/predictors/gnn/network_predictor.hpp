// The graph network as a predictor: its kernels are timed by the trees it was trained with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "predictors/gnn/gnn_predictor.hpp"
#include "predictors/predictor.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {

class NetworkPredictor final : public Predictor {
 public:
  // REQUIRES: network.kernels_id() is trees.kernels_id()
  NetworkPredictor(std::shared_ptr<const GnnPredictor> network, std::shared_ptr<const TreePredictor> trees)
      : network_(std::move(network)), trees_(std::move(trees)) {}
  [[nodiscard]] const std::string& name() const override { return network_->name(); }
  [[nodiscard]] std::vector<Metric> metrics() const override { return network_->metrics(); }
  [[nodiscard]] Status covers(const PredictorInput& input) const override;
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;

 private:
  std::shared_ptr<const GnnPredictor> network_;
  std::shared_ptr<const TreePredictor> trees_;
};

[[nodiscard]] KernelTensors encode_kernels(const PredictorInput& input, std::span<const double> run_us);
// Sets each kernel's time to its share of its node's; the difference to the analytic terms goes to `learned`.
void set_node_times(const PredictorInput& input, const KernelTensors& tensors, const GnnAnswer& found, Answer& answer);

}  // namespace forerun
