#include "predictors/hybrid/hybrid_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "features/node_encoding.hpp"
#include "features/schema_sample.hpp"
#include "features/value_hash.hpp"

namespace forerun {

std::string hybrid_prefix(std::string_view description) {
  return "<|im_start|>user\n" + std::string(description.substr(0, kMostDescriptionBytes)) + "\n<graph>";
}

std::string hybrid_answer(double latency_ms) {
  const int decimals = std::clamp(2 - int(std::floor(std::log10(latency_ms))), 0, 9);
  return fmt::format("{:.{}f}", latency_ms, decimals);
}

std::optional<double> parse_hybrid_answer(std::string_view text) {
  if (text.size() > 20 || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole && value > 0 && value < 1e12 ? std::optional(value) : std::nullopt;
}

const FeatureSchema& hybrid_schema() {
  static const FeatureSchema kSchema = [] {
    ValueHash hash;
    for (const std::string& name : training_feature_names()) hash.add(name);
    for (const SampleRun& run : schema_sample().runs)
      hash.add_all(encode_training_nodes(*run.graph, run.workload, EdgeKind::DataFlow).node_features);
    hash.add(hybrid_prefix("platform"));
    hash.add(kHybridSuffix);
    hash.add(hybrid_answer(12.345));
    return FeatureSchema{"hybrid-nodes", 1, hash.value()};
  }();
  return kSchema;
}

}  // namespace forerun
