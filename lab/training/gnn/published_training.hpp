// Trains the published designs by recipes: a stack of networks, one per split (and target), side by side on the same
// batches; every network answers every item.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "training/gnn/networks.hpp"
#include "training/gnn/published_data.hpp"
#include "training/gnn/trainer.hpp"

namespace forerun {

struct PublishedPlace {
  torch::Device device = torch::kCPU;
  std::uint64_t seed = 1337;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

enum class Loss : std::uint8_t { Huber, Squared, Near };  // Near: Huber with a bend of 0.1, almost the absolute error

struct PublishedRecipe {
  std::string name = {};
  LayerKind kind = LayerKind::Sage;  // of the inference design; Count: no graph, static features alone
  bool log_targets = true;           // false: targets as they are
  bool scaled_inputs = true;         // log(1 + x), then to mean 0 and deviation 1; false: as they are
  bool chain = false;                // edges from each node to the next one instead of the data's
  Pool pool = Pool::Sum;
  bool unit_states = true;
  Loss loss = Loss::Huber;
  std::int64_t width = 512;
  int epochs = 100;
  double rate = 1e-3;
  bool falling_rate = true;
  std::vector<std::size_t> splits = {};  // of the set: one network each
  bool settings = true;                  // training: precision and optimiser among the static features
  double seconds = 0;                    // at most, by the time of the first epochs; 0: no limit
  bool keep_weights = false;             // in PublishedRun::tensors
};

// One network per split, an output per target. Factors of raw targets: µs, MB and decijoule, as the published code has
// them.
[[nodiscard]] Result<PublishedRun> train_inference_design(const PublishedSet& set, const PublishedRecipe& recipe,
                                                          const PublishedPlace& place);

// The auto-encoder on graphs without labels; 0 epochs: random weights, which still need the statistics of batch norms.
struct EncoderRun {
  std::shared_ptr<GraphEncoder> encoder;
  PublishedRun run;
};
[[nodiscard]] Result<EncoderRun> train_encoder(const std::vector<GraphTensors>& graphs, std::int64_t width, int epochs,
                                               const PublishedPlace& place, double seconds = 0);
// One network per split and target, with an encoder's embeddings or without (nullptr: NNLQP's way).
[[nodiscard]] Result<PublishedRun> train_training_design(const PublishedSet& set, const PublishedRecipe& recipe,
                                                         GraphEncoder* encoder, const PublishedPlace& place);

// A network's parameters and buffers as named tensors, and back into a network of the same shape.
void keep_tensors(const torch::nn::Module& module, const std::string& prefix, PublishedRun& run);
[[nodiscard]] Status set_tensors(torch::nn::Module& module, const std::string& prefix, const PublishedRun& run);

}  // namespace forerun
