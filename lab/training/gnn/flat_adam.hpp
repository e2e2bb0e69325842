// AdamW over all parameters of a network as one vector, with an optional running mean of the weights: a dozen launches
// a step however many tensors the network has.
#pragma once

#include <vector>

#include "training/gnn/torch.hpp"

namespace forerun {

class FlatAdam {
 public:
  // Moves the module's parameters and their gradients into one vector each; the module keeps working on views of them.
  // `mean_decay` > 0 keeps an exponential mean of the weights with that decay.
  FlatAdam(torch::nn::Module& module, double weight_decay, double mean_decay);

  void zero_grad() { gradient_.zero_(); }
  void step(double rate, double clip_norm);
  [[nodiscard]] torch::Tensor& gradient() { return gradient_; }
  // Exchanges the weights with their running mean (nothing when none is kept): call in pairs around validation.
  void swap_mean();
  // What a checkpoint keeps, in order.
  [[nodiscard]] std::vector<torch::Tensor> state() const { return {weights_, first_, second_, mean_, steps_}; }

 private:
  double weight_decay_, mean_decay_;
  torch::Tensor weights_, gradient_, first_, second_, mean_, steps_;
};

}  // namespace forerun
