#include "predictors/gnn/published_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "features/log_features.hpp"
#include "features/node_encoding.hpp"
#include "features/schema_sample.hpp"
#include "features/value_hash.hpp"
#include "predictors/roofline/roofline_predictor.hpp"

namespace forerun {
namespace {

constexpr double kLargestLog = 16;  // networks far from the training rows: answers stay finite

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

GraphTensors encode_published_design(PublishedDesign design, const Graph& graph, const Workload& workload) {
  if (design == PublishedDesign::Inference) return encode_inference_nodes(graph, workload, EdgeKind::DataFlow);
  GraphTensors tensors = encode_training_nodes(graph, workload, EdgeKind::DataFlow);
  put_training_settings(workload, tensors);
  return tensors;
}

const FeatureSchema& published_schema() {
  static const FeatureSchema kSchema = [] {
    ValueHash hash;
    for (const SampleRun& run : schema_sample().runs) {
      for (const PublishedDesign design : {PublishedDesign::Inference, PublishedDesign::Training}) {
        const GraphTensors tensors = encode_published_design(design, *run.graph, run.workload);
        hash.add_all(tensors.node_features);
        hash.add_all(tensors.globals);
        hash.add_all(tensors.sources.offsets);
        hash.add_all(tensors.sources.columns);
      }
    }
    return FeatureSchema{"published-nodes", 1, hash.value()};
  }();
  return kSchema;
}

Result<std::unique_ptr<PublishedPredictor>> PublishedPredictor::load(const Bundle& bundle) {
  if (bundle.manifest().kind != kPublishedKind)
    return bad_input(fmt::format("{}: a bundle of kind '{}', expected '{}'", bundle.file_name(), bundle.manifest().kind,
                                 kPublishedKind));
  FORERUN_CHECK(bundle.check_schema(published_schema()));
  FORERUN_TRY(const std::string_view steps, bundle.part("program"));
  FORERUN_TRY(const GnnProgram program, program_from_json(steps));
  FORERUN_TRY(const std::vector<RegisterShape> shapes, check_program(program));
  FORERUN_TRY(const std::string_view text, bundle.part("design"));
  std::unique_ptr<PublishedPredictor> made(new PublishedPredictor(bundle));
  made->name_ = bundle.manifest().name;
  try {
    const auto design = nlohmann::json::parse(text);
    made->design_ = design.at("training").get<bool>() ? PublishedDesign::Training : PublishedDesign::Inference;
    made->log_features_ = design.at("log_features").get<bool>();
    made->outputs_ = design.at("outputs").get<std::vector<std::string>>();
    made->half_widths_ = design.at("half_widths").get<std::vector<double>>();
    made->devices_ = design.at("devices").get<std::set<std::string>>();
    made->precisions_ = design.at("precisions").get<std::set<std::string>>();
  } catch (const nlohmann::json::exception&) {
    return bad_input(bundle.file_name() + ": the description of its design is not complete");
  }
  std::size_t width = 0;
  bool rows = true;
  for (const std::int32_t output : program.outputs) {
    const RegisterShape& shape = shapes[static_cast<std::size_t>(output)];
    width += static_cast<std::size_t>(shape.width);
    rows = rows && !shape.per_node;
  }
  const bool are_widths = std::all_of(made->half_widths_.begin(), made->half_widths_.end(),
                                      [](double w) { return std::isfinite(w) && w >= 0 && w < 10; });
  if (!rows || width != made->outputs_.size() || made->half_widths_.size() != width || !are_widths ||
      made->devices_.empty() || made->precisions_.empty())
    return bad_input(bundle.file_name() + ": its outputs are not those of a published design");
  return made;
}

Result<const GnnEngine*> PublishedPredictor::engine() const {
  std::call_once(unpacked_, [this] { engine_ = GnnEngine::load(bundle_); });
  if (!*engine_) return engine_->error();
  return &**engine_;
}

std::vector<Metric> PublishedPredictor::metrics() const {
  return {Metric::Latency, Metric::Memory, Metric::Power, Metric::Energy};
}

std::optional<std::size_t> PublishedPredictor::output_of(Metric metric, const Workload& workload) const {
  const auto observed = run_metric_of(metric, workload);
  if (!observed) return std::nullopt;
  const std::string plain(forerun::name_of(*observed)),
      own = std::string(forerun::name_of(workload.precision)) + " " + plain;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (half_widths_[i] > 0 && (outputs_[i] == plain || outputs_[i] == own)) return i;
  }
  return std::nullopt;
}

Status PublishedPredictor::covers(const PredictorInput& input) const {
  const RunKind kind = run_kind_of(input.graph, input.workload),
                wanted = design_ == PublishedDesign::Training ? RunKind::VisionTraining : RunKind::VisionInference;
  const std::string precision(forerun::name_of(input.workload.precision));
  const bool stepless = input.workload.training && input.workload.optimizer == Optimizer::None;
  std::string why;
  if (kind != wanted) {
    why = fmt::format("answers runs of kind {}, not {}", forerun::name_of(wanted), forerun::name_of(kind));
  } else if (!devices_.contains(input.device.id) || !input.device.slice.empty()) {
    why = fmt::format("was trained on {} alone, not on {}", joined(devices_),
                      input.device.id + (input.device.slice.empty() ? "" : " " + input.device.slice));
  } else if (!precisions_.contains(precision) || !output_of(Metric::Latency, input.workload)) {
    why = fmt::format("was trained on {}, not on {}", joined(precisions_), precision);
  } else if (stepless || input.workload.autocast) {
    why = stepless ? "was trained on steps with an optimiser" : "was trained without autocast of fp32 weights";
  } else {
    return ok();
  }
  return bad_input(
      fmt::format("predictor '{}' {}; leave --predictor out for the best answer, or use 'roofline'", name_, why));
}

Result<std::vector<double>> PublishedPredictor::run(const GraphTensors& tensors, const CancelToken& cancel) const {
  const GraphTensors taken = log_features_ ? with_log_features(tensors) : tensors;
  FORERUN_TRY(const GnnEngine* engine, this->engine());
  const std::vector<float> weights(static_cast<std::size_t>(taken.nodes), 1.0F);
  FORERUN_TRY(const std::vector<Matrix> outputs, engine->run(taken, weights, cancel));
  std::vector<double> answers;
  for (const Matrix& output : outputs) {
    for (Eigen::Index i = 0; i < output.cols(); ++i)
      answers.push_back(std::exp(std::clamp(double(output(0, i)), -kLargestLog, kLargestLog)));
  }
  return answers;
}

Result<Answer> PublishedPredictor::predict(const PredictorInput& input) const {
  FORERUN_TRY(const std::vector<double> found,
              run(encode_published_design(design_, input.graph, input.workload), input.cancel));
  Answer answer = analytic_answer(input);
  const auto set = [&](Metric metric, double value, double half_width) {
    const double factor = std::exp(half_width);
    answer.estimates.set(metric, {value, value / factor, value * factor, Basis::Learned, name_});
  };
  for (const Metric metric : {Metric::Latency, Metric::Memory, Metric::Power, Metric::Energy}) {
    if (const auto output = output_of(metric, input.workload)) set(metric, found[*output], half_widths_[*output]);
  }
  // Of energy and power one is learned, the other follows with the time.
  const auto time = output_of(Metric::Latency, input.workload), energy = output_of(Metric::Energy, input.workload),
             power = output_of(Metric::Power, input.workload);
  if (time && energy && !power)
    set(Metric::Power, found[*energy] / found[*time] * 1e3, std::hypot(half_widths_[*energy], half_widths_[*time]));
  if (time && power && !energy)
    set(Metric::Energy, found[*power] * found[*time] / 1e3, std::hypot(half_widths_[*power], half_widths_[*time]));
  return answer;
}

}  // namespace forerun
