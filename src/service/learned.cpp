#include "service/learned.hpp"

#include <algorithm>
#include <span>

#include "base/embedded.hpp"
#include "bundle/bundle.hpp"
#include "features/kernel_encoding.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_bundles();  // bundles/*.bundle

namespace {
constexpr std::string_view kByKernels = "kernels";  // the sum over learned kernels, for devices never measured
constexpr std::size_t kShownEffects = 10;
}  // namespace

LearnedPredictors LearnedPredictors::load() {
  LearnedPredictors result;
  for (const EmbeddedFile& file : embedded_bundles()) {
    const auto bundle = Bundle::from_bytes(file.bytes, std::string(file.name));
    if (!bundle) {
      result.problems_.push_back(bundle.error().message);
      continue;
    }
    const std::string kind = bundle->manifest().kind;
    std::string problem;
    PredictorInfo info{std::string(bundle->manifest().name), "learned", {}, ""};
    if (kind == "trees") {
      if (auto predictor = TreePredictor::load(*bundle)) {
        result.trees_.push_back(std::move(*predictor));
      } else {
        problem = predictor.error().message;
      }
    } else if (kind == "gnn") {
      if (auto predictor = GnnPredictor::load(*bundle)) {
        result.networks_.push_back(std::move(*predictor));
      } else {
        problem = predictor.error().message;
      }
    } else {
      problem = std::string(file.name) + ": no predictor of kind '" + kind + "' is known";
    }
    if (!problem.empty()) {
      result.problems_.push_back(problem);
      continue;
    }
    info.metrics = bundle->manifest().metrics;
    info.report_json = std::string(bundle->manifest_text());
    result.infos_.push_back(std::move(info));
  }
  return result;
}

std::string LearnedPredictors::names() const {
  std::string text = "roofline";
  for (const TreePredictor& trees : trees_) text += ", " + trees.name();
  if (!trees_.empty()) text += ", " + std::string(kByKernels);
  for (const GnnPredictor& network : networks_) text += ", " + network.name();
  return text;
}

Status LearnedPredictors::apply(const PredictorInput& input, const std::string& wanted, Estimates& estimates, std::vector<std::string>& warnings) const {
  if (wanted == "roofline") return ok();
  for (const std::string& problem : problems_) warnings.push_back("a learned predictor cannot be used: " + problem);
  const auto take = [&](Prediction prediction) {
    for (auto& [metric, estimate] : prediction.estimates) estimates[metric] = std::move(estimate);
    warnings.insert(warnings.end(), prediction.warnings.begin(), prediction.warnings.end());
  };
  for (const GnnPredictor& network : networks_) {
    if (network.name() != wanted) continue;
    const KernelTensors tensors = encode_kernels(input.graph, input.kernels, input.roofline, input.device, input.workload);
    FORERUN_TRY(Estimates found, network.predict(tensors, input.workload));
    take({std::move(found), {}});
    return ok();
  }
  for (const TreePredictor& trees : trees_) {
    const bool by_name = trees.name() == wanted;
    if (!wanted.empty() && !by_name && wanted != kByKernels) continue;
    if (wanted != kByKernels && trees.knows(input.device)) {
      take(trees.predict(input));
      return ok();
    }
    if (by_name) return bad_input("predictor '" + wanted + "' knows no measurements of " + input.device.id + "; take 'kernels' or 'roofline'");
    if (input.device.maker == "NVIDIA" || wanted == kByKernels) take(trees.predict_by_kernels(input));
    return ok();
  }
  if (!wanted.empty()) return bad_input("unknown predictor '" + wanted + "'; there are: " + names());
  return ok();
}

std::vector<FeatureEffect> LearnedPredictors::explain(const PredictorInput& input, const Estimates& estimates) const {
  std::vector<FeatureEffect> effects;
  for (const TreePredictor& trees : trees_) {
    for (const auto& [metric, estimate] : estimates) {
      if (estimate.predictor != trees.name()) continue;
      const auto explanation = trees.explain(input, metric);
      if (!explanation) continue;
      for (std::size_t i = 0; i < std::min(kShownEffects, explanation->contributions.size()); ++i) {
        const Contribution& c = explanation->contributions[i];
        effects.push_back({metric, c.feature, "", c.value, c.factor});
      }
    }
  }
  return effects;
}

std::vector<PredictorInfo> LearnedPredictors::describe() const { return infos_; }

}  // namespace forerun
