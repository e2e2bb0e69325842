#include "service/learned.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>

#include "base/embedded.hpp"
#include "base/user_folder.hpp"
#include "bundle/bundle.hpp"
#include "features/kernel_encoding.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_bundles();  // bundles/*.bundle

namespace {
constexpr std::string_view kByKernels = "kernels";  // the sum over learned kernels, for devices never measured
constexpr std::string_view kAverage = "average";    // of the trees and the graph networks, where both answer
constexpr std::size_t kShownEffects = 10;

KernelTensors encode(const PredictorInput& input, const KernelTimer& timer) {
  return encode_kernels(input.graph, input.totals, input.kernels, input.roofline, input.device, input.workload, timer);
}

// What the mean of the trees and the graph network answers unasked: where it is closer than the trees under every
// protocol (docs/accuracy-gnn.md). Memory gains nothing.
constexpr std::array<std::string_view, 3> kAveraged = {"latency_ms", "energy_j", "power_w"};
}  // namespace

LearnedPredictors LearnedPredictors::load() {
  LearnedPredictors result;
  std::vector<Result<Bundle>> bundles;
  for (const EmbeddedFile& file : embedded_bundles())
    bundles.push_back(Bundle::from_bytes(file.bytes, std::string(file.name)));
  std::error_code ignored;
  std::vector<std::string> files;
  if (const auto own = user_folder(); !own.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(own / "bundles", ignored)) {
      if (entry.path().extension() == ".bundle") files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) bundles.push_back(Bundle::open(file));
  // Graph networks last: each needs the trees it was trained beside.
  std::stable_partition(bundles.begin(), bundles.end(),
                        [](const Result<Bundle>& bundle) { return !bundle || bundle->manifest().kind != "gnn"; });
  for (const Result<Bundle>& bundle : bundles) result.add(bundle);
  return result;
}

void LearnedPredictors::add(const Result<Bundle>& bundle) {
  if (!bundle) {
    problems_.push_back(bundle.error().message);
    return;
  }
  const auto take = [&](auto predictor, auto& list) {
    if (!predictor) {
      problems_.push_back(predictor.error().message);
      return;
    }
    list.push_back(std::move(*predictor));
    infos_.push_back(
        {bundle->manifest().name, "learned", bundle->manifest().metrics, std::string(bundle->manifest_text())});
  };
  const std::string& kind = bundle->manifest().kind;
  if (kind == "trees") {
    take(TreePredictor::load(*bundle), trees_);
  } else if (kind == "gnn") {
    auto network = GnnPredictor::load(*bundle);
    if (network && (trees_.empty() || network->kernels_id() != trees_.front().kernels_id())) {
      network =
          bad_input(bundle->file_name() + ": predictor '" + network->name() +
                    "' was trained beside other trees, or they cannot be used; train it anew (forerun-lab gnn study)");
    }
    take(std::move(network), networks_);
  } else if (kind == "correction") {
    take(DeviceCorrection::load(*bundle), corrections_);
  } else {
    problems_.push_back(bundle->file_name() + ": no predictor of kind '" + kind + "' is known");
  }
}

// What a few measurements on the device add to an answer.
void LearnedPredictors::correct(const PredictorInput& input, Estimates& estimates,
                                std::vector<std::string>& warnings) const {
  for (const DeviceCorrection& correction : corrections_) {
    if (correction.device() != input.device.id || trees_.empty()) continue;
    TreeInput facts = make_tree_input(input.graph, input.totals, input.kernels, input.workload, input.device,
                                      input.roofline, input.groups, trees_.front().basis_of(input.device));
    trees_.front().sum(facts, input.workload, input.device);
    if (correction.apply(input.workload, facts, estimates))
      warnings.push_back("corrected by measurements on " + correction.device() + " (" + correction.name() + ")");
  }
}

// The geometric mean of the trees' and a network's answers. Its interval is the trees', which widens for networks
// unlike those trained on, narrower by as much as the mean is closer to the truth.
Result<Prediction> LearnedPredictors::average(const PredictorInput& input,
                                              std::span<const std::string_view> only) const {
  const TreeInput summed = trees_.front().summed(input);
  Prediction joined = trees_.front().predict(input, summed);
  FORERUN_TRY(const Prediction other,
              networks_.front().predict(encode(input, TreePredictor::kernel_timer(input, summed)), input.workload,
                                        input.device));
  for (auto& [metric, estimate] : joined.estimates) {
    const auto found = other.estimates.find(metric);
    if (found == other.estimates.end() || (!only.empty() && std::find(only.begin(), only.end(), metric) == only.end()))
      continue;
    const double width = networks_.front().average_width(metric, input.workload);
    estimate.low = estimate.value * std::pow(estimate.low / estimate.value, width);
    estimate.high = estimate.value * std::pow(estimate.high / estimate.value, width);
    scale(estimate, std::sqrt(found->second.value / estimate.value));
    estimate.predictor = kAverage;
  }
  return joined;
}

std::string LearnedPredictors::names() const {
  std::string text = "roofline";
  for (const TreePredictor& trees : trees_) text += ", " + trees.name();
  if (!trees_.empty()) text += ", " + std::string(kByKernels);
  for (const GnnPredictor& network : networks_) text += ", " + network.name();
  if (!trees_.empty() && !networks_.empty()) text += ", " + std::string(kAverage);
  return text;
}

Status LearnedPredictors::apply(const PredictorInput& input, const std::string& wanted, Estimates& estimates,
                                std::vector<std::string>& warnings) const {
  if (wanted == "roofline") return ok();
  if (wanted.empty() && input.kernels.empty()) {
    warnings.emplace_back("nothing of it runs on the device: there is nothing a learned predictor could answer for");
    return ok();
  }
  for (const std::string& problem : problems_) warnings.push_back("a learned predictor cannot be used: " + problem);
  const auto take = [&](Prediction prediction) {
    for (auto& [metric, estimate] : prediction.estimates) estimates[metric] = std::move(estimate);
    warnings.insert(warnings.end(), prediction.warnings.begin(), prediction.warnings.end());
  };
  for (const GnnPredictor& network : networks_) {
    if (network.name() != wanted) continue;
    FORERUN_TRY(Prediction found,
                network.predict(encode(input, trees_.front().kernel_timer()), input.workload, input.device));
    take(std::move(found));
    return ok();
  }
  if (wanted == kAverage && !trees_.empty() && !networks_.empty()) {
    if (!trees_.front().knows(input.device))
      return bad_input("predictor 'average' knows no measurements of " + input.device.id +
                       "; take 'kernels' or 'roofline'");
    FORERUN_TRY(Prediction joined, average(input, {}));
    take(std::move(joined));
    correct(input, estimates, warnings);
    return ok();
  }
  for (const TreePredictor& trees : trees_) {
    const bool by_name = trees.name() == wanted;
    if (!wanted.empty() && !by_name && wanted != kByKernels) continue;
    if (wanted != kByKernels && trees.knows(input.device)) {
      // A correction is of what the trees alone answer.
      const bool corrected = std::any_of(corrections_.begin(), corrections_.end(),
                                         [&](const DeviceCorrection& c) { return c.device() == input.device.id; });
      const bool joined = wanted.empty() && !networks_.empty() && !corrected;
      FORERUN_TRY(Prediction prediction, joined ? average(input, kAveraged) : Result<Prediction>(trees.predict(input)));
      take(std::move(prediction));
      correct(input, estimates, warnings);
      return ok();
    }
    if (by_name)
      return bad_input("predictor '" + wanted + "' knows no measurements of " + input.device.id +
                       "; take 'kernels' or 'roofline'");
    if (input.device.maker == "NVIDIA" || wanted == kByKernels) {
      const double before_ms = estimates["latency_ms"].value;
      take(trees.predict_by_kernels(input));
      scale(estimates["energy_j"], estimates["latency_ms"].value / before_ms);  // power stays the roofline's
    }
    correct(input, estimates, warnings);
    return ok();
  }
  if (!wanted.empty()) return bad_input("unknown predictor '" + wanted + "'; there are: " + names());
  return ok();
}

std::vector<FeatureEffect> LearnedPredictors::explain(const PredictorInput& input, const Estimates& estimates) const {
  std::vector<FeatureEffect> effects;
  for (const TreePredictor& trees : trees_) {
    for (const auto& [metric, estimate] : estimates) {
      if (estimate.predictor != trees.name() && estimate.predictor != kAverage) continue;
      const auto explanation = trees.explain(input, metric);
      if (!explanation) continue;
      if (estimate.predictor == kAverage) {  // what the graph network adds to the trees' answer
        double answer = explanation->base;
        for (const Contribution& c : explanation->contributions) answer *= c.factor;
        effects.push_back({metric, "graph_network", "", 1, estimate.value / answer});
      }
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
