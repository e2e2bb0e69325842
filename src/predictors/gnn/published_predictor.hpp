// The two published graph-network predictors, trained on our measurements: `dippm` for inference, `trappm` for training
// steps. A network answers per precision and metric; it knows one device, and neither kernels nor the roofline.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "predictors/gnn/engine.hpp"
#include "predictors/predictor.hpp"
#include "records/run_kind.hpp"

namespace forerun {

inline constexpr std::string_view kPublishedKind = "published";  // of its bundles

// The numbers a design takes from a run: encode_inference_nodes or encode_training_nodes with its settings.
enum class PublishedDesign : std::uint8_t { Inference, Training };
[[nodiscard]] GraphTensors encode_published_design(PublishedDesign design, const Graph& graph,
                                                   const Workload& workload);
[[nodiscard]] const FeatureSchema& published_schema();

class PublishedPredictor final : public Predictor {
 public:
  // Errors: a bundle of another kind, other features, or outputs that are no metrics of the design.
  static Result<std::unique_ptr<PublishedPredictor>> load(const Bundle& bundle);

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<Metric> metrics() const override;
  [[nodiscard]] Status covers(const PredictorInput& input) const override;
  [[nodiscard]] Result<Answer> predict(const PredictorInput& input) const override;

  // What the network says of a run, by output, in the metrics' units.
  [[nodiscard]] Result<std::vector<double>> run(const GraphTensors& tensors, const CancelToken& cancel = {}) const;
  [[nodiscard]] const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  explicit PublishedPredictor(Bundle bundle) : bundle_(std::move(bundle)) {}
  // Its weights are unpacked by the first question: most runs of the program ask other predictors.
  [[nodiscard]] Result<const GnnEngine*> engine() const;
  // The output that answers a metric of this run; nullopt: none does.
  [[nodiscard]] std::optional<std::size_t> output_of(Metric metric, const Workload& workload) const;

  Bundle bundle_;
  mutable std::once_flag unpacked_;
  mutable std::optional<Result<GnnEngine>> engine_;
  std::string name_;
  PublishedDesign design_ = PublishedDesign::Inference;
  bool log_features_ = false;
  std::vector<std::string> outputs_;  // "fp32 latency_eager_ms", or "step_ms" for every precision
  std::vector<double> half_widths_;   // of the 90 % intervals on the log scale, by output; 0: not answered
  std::set<std::string> devices_, precisions_;
};

}  // namespace forerun
