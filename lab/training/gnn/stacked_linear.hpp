// A linear layer of a stack of networks: K independent sets of weights, applied in one call.
#pragma once

#include <memory>

#include "training/gnn/torch.hpp"

namespace forerun {

class StackedLinear : public torch::nn::Module {
 public:
  // Starts uniform within ±1/sqrt(in), as torch::nn::Linear does.
  StackedLinear(std::int64_t stack, std::int64_t in, std::int64_t out, bool bias = true);
  // K x N x in, or N x in shared by all members, to K x N x out.
  torch::Tensor forward(const torch::Tensor& x);
  // Of one member, as torch::nn::Linear keeps them: out x in, and out.
  [[nodiscard]] torch::Tensor weight_of(std::int64_t member) const { return effective()[member].t(); }
  [[nodiscard]] torch::Tensor bias_of(std::int64_t member) const { return bias[member][0]; }

  torch::Tensor weight;  // K x in x out
  torch::Tensor bias;    // K x 1 x out; undefined: none

  // Inputs that some members do not see: K x in x 1 of 0 and 1.
  void hide(const torch::Tensor& seen);

 private:
  [[nodiscard]] torch::Tensor effective() const { return seen_.defined() ? weight * seen_ : weight; }
  torch::Tensor seen_;
};
using StackedLinearPtr = std::shared_ptr<StackedLinear>;

}  // namespace forerun
