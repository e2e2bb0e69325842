#include "predictors/predictor_set.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "base/embedded.hpp"
#include "base/user_folder.hpp"
#include "predictors/combine/average.hpp"
#include "predictors/combine/corrected.hpp"
#include "predictors/gnn/network_predictor.hpp"
#include "predictors/gnn/published_predictor.hpp"
#include "predictors/hybrid/hybrid_predictor.hpp"
#include "predictors/roofline/roofline_predictor.hpp"
#include "predictors/trees/tree_predictors.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_bundles();  // bundles/*.bundle

namespace {

// Metrics for which the default is the mean of trees and graph network: those where it is more accurate than the trees
// under every evaluation protocol (docs/accuracy/graph-networks.md). Memory is not.
constexpr std::array kAveraged = {Metric::Latency, Metric::Energy, Metric::Power};

// The kinds of bundles and how each is loaded, in this order: graph networks need the trees they were trained with.
struct Kind {
  std::string_view name;
  Status (*load)(const Bundle& bundle, LoadedParts& parts);
};

Status load_trees(const Bundle& bundle, LoadedParts& parts) {
  FORERUN_TRY(TreePredictor trees, TreePredictor::load(bundle));
  parts.trees = std::make_shared<TreePredictor>(std::move(trees));
  parts.entries.push_back({.predictor = std::make_unique<MeasuredTrees>(parts.trees), .takes_corrections = true});
  parts.entries.push_back({.predictor = std::make_unique<KernelSum>(parts.trees), .takes_corrections = true});
  return ok();
}

Status load_network(const Bundle& bundle, LoadedParts& parts) {
  FORERUN_TRY(GnnPredictor network, GnnPredictor::load(bundle));
  if (!parts.trees || network.kernels_id() != parts.trees->kernels_id()) {
    return bad_input(bundle.file_name() + ": predictor '" + network.name() +
                     "' was trained with other trees than those loaded; train it again (forerun-lab gnn study)");
  }
  parts.network = std::make_shared<GnnPredictor>(std::move(network));
  parts.entries.push_back({.predictor = std::make_unique<NetworkPredictor>(parts.network, parts.trees)});
  return ok();
}

Status load_published(const Bundle& bundle, LoadedParts& parts) {
  FORERUN_TRY(std::unique_ptr<PublishedPredictor> predictor, PublishedPredictor::load(bundle));
  parts.entries.push_back({.predictor = std::move(predictor)});
  return ok();
}

Status load_correction(const Bundle& bundle, LoadedParts& parts) {
  FORERUN_TRY(DeviceCorrection correction, DeviceCorrection::load(bundle));
  parts.corrections.push_back(std::make_shared<DeviceCorrection>(std::move(correction)));
  return ok();
}

Status load_hybrid(const Bundle& bundle, LoadedParts& parts) {
  FORERUN_TRY(HybridPredictor hybrid, HybridPredictor::load(bundle));
  parts.entries.push_back({.predictor = std::make_unique<HybridPredictor>(std::move(hybrid))});
  return ok();
}

Status load_compiled(const Bundle& bundle, LoadedParts& parts) {
  FORERUN_TRY(CompiledFactors factors, CompiledFactors::load(bundle));
  parts.compiled = std::make_shared<CompiledFactors>(std::move(factors));
  return ok();
}

constexpr std::array<Kind, 6> kKinds = {
    {{"trees", load_trees},
     {"gnn", load_network},
     {kPublishedKind, load_published},
     {"correction", load_correction},
     {"hybrid", load_hybrid},
     {kCompiledName, load_compiled}}};

// Which predictor answers a request that names none: the first row that applies. "": the default mean.
struct Policy {
  std::string_view predictor;
  bool (*applies)(const LoadedParts& parts, const PredictorInput& input);
};

bool knows_network(const LoadedParts& parts, const PredictorInput& input) {
  return parts.trees && parts.trees->covers(input, "").has_value();
}
bool is_corrected(const LoadedParts& parts, const PredictorInput& input) {
  return std::any_of(parts.corrections.begin(), parts.corrections.end(),
                     [&](const auto& correction) { return correction->device() == input.device.id; });
}
bool nothing_is_learned(const LoadedParts& parts, const PredictorInput& input) {
  return !parts.trees || input.kernels.empty();
}
bool is_measured_and_corrected(const LoadedParts& parts, const PredictorInput& input) {
  return knows_network(parts, input) && is_corrected(parts, input);
}
bool has_mean(const LoadedParts& parts, const PredictorInput& input) {
  return knows_network(parts, input) && parts.network;
}
bool is_nvidia(const LoadedParts&, const PredictorInput& input) { return input.device.maker == "NVIDIA"; }
bool always(const LoadedParts&, const PredictorInput&) { return true; }

constexpr std::array<Policy, 6> kPolicies = {{
    {kRooflineName, nothing_is_learned},
    {"trees", is_measured_and_corrected},  // a correction is fitted to the trees' answers
    {"", has_mean},
    {"trees", knows_network},
    {kKernelSumName, is_nvidia},
    {kRooflineName, always},
}};

std::vector<Result<Bundle>> open_bundles() {
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
  return bundles;
}

std::vector<std::string> keys_of(const std::vector<Metric>& metrics) {
  std::vector<std::string> keys;
  for (const Metric metric : metrics) keys.emplace_back(name_of(metric));
  return keys;
}

}  // namespace

PredictorSet::PredictorSet() { parts_.entries.push_back({.predictor = std::make_unique<RooflinePredictor>()}); }

PredictorSet PredictorSet::load() {
  PredictorSet set;
  set.load_bundles(open_bundles());
  set.combine();
  set.correct();
  set.infos_.push_back({kRooflineName, kRooflineName, keys_of(RooflinePredictor().metrics()), ""});
  return set;
}

void PredictorSet::load_bundles(const std::vector<Result<Bundle>>& bundles) {
  for (const Result<Bundle>& bundle : bundles) {
    if (!bundle) {
      problems_.push_back(bundle.error().message);
    } else if (std::none_of(kKinds.begin(), kKinds.end(),
                            [&](const Kind& kind) { return kind.name == bundle->manifest().kind; })) {
      problems_.push_back(bundle->file_name() + ": no predictor of kind '" + bundle->manifest().kind + "' is known");
    }
  }
  for (const Kind& kind : kKinds) {
    for (const Result<Bundle>& bundle : bundles) {
      if (!bundle || bundle->manifest().kind != kind.name) continue;
      if (const Status loaded = kind.load(*bundle, parts_); !loaded) {
        problems_.push_back(loaded.error().message);
        continue;
      }
      const BundleManifest& manifest = bundle->manifest();
      infos_.push_back({manifest.name, "learned", manifest.metrics, std::string(bundle->manifest_text())});
    }
  }
}

void PredictorSet::combine() {
  if (!parts_.trees || !parts_.network) return;
  const auto mean_of = [&](std::vector<Metric> metrics) {
    return std::make_unique<AveragePredictor>(parts_.trees, parts_.network, std::move(metrics));
  };
  parts_.entries.push_back(
      {.predictor = mean_of({kTreeMetrics.begin(), kTreeMetrics.end()}), .takes_corrections = true});
  usual_mean_ = mean_of({kAveraged.begin(), kAveraged.end()});
}

void PredictorSet::correct() {
  if (!parts_.trees) return;
  std::map<std::string, std::vector<std::shared_ptr<const DeviceCorrection>>> by_device;
  for (const auto& correction : parts_.corrections) by_device[correction->device()].push_back(correction);
  for (const auto& [device, corrections] : by_device) {
    const auto add = [&, &device = device, &corrections = corrections](const Predictor& inner) {
      corrected_.push_back({&inner, device, std::make_unique<CorrectedPredictor>(inner, parts_.trees, corrections)});
    };
    for (const LoadedParts::Entry& entry : parts_.entries) {
      if (entry.takes_corrections || entry.predictor->name() == kRooflineName) add(*entry.predictor);
    }
  }
}

const Predictor* PredictorSet::find(std::string_view name) const {
  for (const LoadedParts::Entry& entry : parts_.entries) {
    if (entry.predictor->name() == name) return entry.predictor.get();
  }
  return nullptr;
}

std::string PredictorSet::names() const {
  std::string text;
  for (const LoadedParts::Entry& entry : parts_.entries) text += (text.empty() ? "" : ", ") + entry.predictor->name();
  return text;
}

std::string PredictorSet::measured_device() const {
  return parts_.trees && !parts_.trees->devices().empty() ? *parts_.trees->devices().begin() : "";
}

bool PredictorSet::was_measured(const Device& device) const {
  return parts_.trees && parts_.trees->devices().contains(device.id);
}

bool PredictorSet::is_measured(const PredictorInput& input) const { return knows_network(parts_, input); }

Result<HostPart> PredictorSet::learned_host(const PredictorInput& input) const {
  FORERUN_TRY(const Predictor* predictor, pick(input, ""));
  FORERUN_TRY(const Answer answer, predictor->predict(input));
  const Estimate& latency = answer.estimates.at(Metric::Latency);
  double device_us = 0;
  for (const KernelTerms& terms : answer.kernels) device_us += terms.total();
  HostPart host = input.host;
  host.learned_ms = host_ms_behind(latency.value, device_us / 1e3, host.of(input.roofline.host_ms));
  host.half_width = latency.low > 0 ? std::log(latency.high / latency.low) / 2 : 0;
  return host;
}

Result<const Predictor*> PredictorSet::pick(const PredictorInput& input, std::string_view wanted) const {
  const Predictor* picked = nullptr;
  if (wanted.empty()) {
    const auto row = std::find_if(kPolicies.begin(), kPolicies.end(),
                                  [&](const Policy& policy) { return policy.applies(parts_, input); });
    picked = row->predictor.empty() ? usual_mean_.get() : find(row->predictor);
    if (picked == nullptr) picked = find(kRooflineName);
  } else {
    picked = find(wanted);
    if (picked == nullptr) return bad_input("unknown predictor '" + std::string(wanted) + "'; there are: " + names());
    FORERUN_CHECK(picked->covers(input));
  }
  // The analytic answer is corrected only where it stands in for a learned one.
  if (wanted == kRooflineName || input.kernels.empty()) return picked;
  const auto found = std::find_if(corrected_.begin(), corrected_.end(),
                                  [&](const Corrected& c) { return c.inner == picked && c.device == input.device.id; });
  return found == corrected_.end() ? picked : found->predictor.get();
}

}  // namespace forerun
