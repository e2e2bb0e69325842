// The words around a graph's token, and the digits of the answer: the same for training and prediction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bundle/bundle.hpp"

namespace forerun {

inline constexpr std::size_t kMostDescriptionBytes = 600;
[[nodiscard]] std::string hybrid_prefix(std::string_view description);  // before the graph's token
inline constexpr std::string_view kHybridSuffix =
    "</graph>\nHow many ms does the network take?<|im_end|>\n<|im_start|>assistant\n";

// Milliseconds with three digits, "0.0123" or "45.6" or "789".
[[nodiscard]] std::string hybrid_answer(double latency_ms);
[[nodiscard]] std::optional<double> parse_hybrid_answer(std::string_view text);

// Of the node features (encode_training_nodes) and the text.
[[nodiscard]] const FeatureSchema& hybrid_schema();

}  // namespace forerun
