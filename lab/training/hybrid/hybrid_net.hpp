// The hybrid: a graph's embedding as one token between a platform's description and the digits of a latency, with a
// regression head beside it. The language model is frozen but for LoRA; gradients reach the graph network through it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "predictors/hybrid/language_model.hpp"
#include "training/hybrid/gin.hpp"
#include "training/hybrid/lora_llama.hpp"

namespace forerun {

// A measured run as the hybrid learns from it.
struct HybridRow {
  GraphTensors graph;       // encode_training_nodes
  std::string device;       // id
  std::string description;  // of the platform, in plain text
  double latency_ms = 0;
};

struct HybridOptions {
  GinOptions gin;
  std::int64_t rank = 8;
  int masked_steps = 50;  // of pre-training
  int epochs = 30;
  std::size_t batch = 8;
  double gnn_rate = 1e-3, llm_rate = 1e-4, head_weight = 1;
  std::uint64_t seed = 1;
};

class HybridNet : public torch::nn::Module {
 public:
  HybridNet(const LanguageModel& base, const HybridOptions& options);
  // The mean loss of the rows: cross entropy of the answers' tokens, and the head's squared error of log(ms).
  torch::Tensor loss(const std::vector<const HybridRow*>& rows);
  torch::Tensor digits_loss(const HybridRow& row, const torch::Tensor& embedding);  // embedding: 1 x width of the GIN

  const LanguageModel& base;
  HybridOptions options;
  std::shared_ptr<GinEncoder> gin;
  std::shared_ptr<LoraLlama> llama;
  torch::nn::Linear projection{nullptr}, head{nullptr};
};

struct TrainedHybrid {
  std::shared_ptr<HybridNet> net;
  double masked_before = 0, masked_after = 0;  // loss of pre-training
  double first = 0, last = 0;                  // loss of an epoch
};
// Pre-training by masking, then everything. REQUIRES: rows; `base` outlives the result
[[nodiscard]] TrainedHybrid train_hybrid(const LanguageModel& base, const std::vector<HybridRow>& rows,
                                         const HybridOptions& options,
                                         const std::function<void(const std::string&)>& progress);

// Encoder, projection, head and LoRA, the base named by its hash. `half_width`: 90 %, log scale, from held-out rows.
[[nodiscard]] Result<std::string> make_hybrid_bundle(const HybridNet& net, const std::vector<HybridRow>& rows,
                                                     double half_width);

}  // namespace forerun
