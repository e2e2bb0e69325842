// A graph network's embedding as a token of a language model, which writes the latency's digits; bundle kind "hybrid".
// The bundle holds encoder, projection, head and LoRA and names its base by hash; the base is loaded when first asked.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "bundle/bundle.hpp"
#include "predictors/hybrid/language_model.hpp"
#include "predictors/predictor.hpp"

namespace forerun {

// One layer: (1 + eps) x + sum of the sources, then two products, each bent where it is negative.
struct GinWeights {
  Matrix first, second;  // inputs x outputs
  Eigen::RowVectorXf first_bias, second_bias;
  float eps = 0, bend_first = 0, bend_second = 0;
};

class HybridPredictor final : public Predictor {
 public:
  // Errors: another kind, other features, or sections of an unexpected size.
  static Result<HybridPredictor> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<Metric> metrics() const override { return {Metric::Latency}; }
  [[nodiscard]] Status covers(const PredictorInput& input) const override;
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;

  // The graph's embedding: the mean over its nodes.
  [[nodiscard]] Eigen::RowVectorXf embed(const Graph& graph, const Workload& workload) const;
  [[nodiscard]] double head_ms(const Eigen::RowVectorXf& embedding) const;

 private:
  [[nodiscard]] Result<const LanguageModel*> base() const;
  std::string name_, base_sha256_;
  double half_width_ = 0;
  std::map<std::string, std::string, std::less<>> platforms_;  // description by device id
  std::vector<GinWeights> layers_;
  Matrix projection_;
  Eigen::RowVectorXf projection_bias_, head_;  // the head's last element is its bias
  Lora lora_;
  struct Base;  // loaded once
  std::shared_ptr<Base> loaded_;
};

}  // namespace forerun
