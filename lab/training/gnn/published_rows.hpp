// The measurements as the published designs take them.
#pragma once

#include "dataset/example.hpp"
#include "training/gnn/published_data.hpp"

namespace forerun {

// The runs that the outputs of a set stand for.
inline constexpr Precision kPublishedInference[] = {Precision::Fp32, Precision::Fp16, Precision::Bf16};
// Inference: an item is a network with a batch; its outputs are metrics by precision ("fp32 latency_eager_ms", …).
// Training: an item is a measured step; precision and optimiser are two more static features.
struct PublishedRows {
  PublishedData data;
  // By item, then by output of the inference set: the example that was measured, or -1; of the training set, one.
  std::vector<std::vector<std::int64_t>> inference_examples;
  std::vector<std::int64_t> training_examples;
};
// `unlabelled`: graphs drawn besides those of the measured networks.
[[nodiscard]] Result<PublishedRows> make_published_rows(const Dataset& dataset, std::size_t unlabelled,
                                                        std::uint64_t seed);

}  // namespace forerun
