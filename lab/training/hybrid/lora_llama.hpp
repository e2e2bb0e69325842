// The llama decoder of src/predictors/hybrid once more, with gradients: its weights are frozen, LoRA matrices train.
#pragma once

#include <vector>

#include "predictors/hybrid/decoder.hpp"
#include "training/gnn/torch.hpp"

namespace forerun {

class LoraLlama : public torch::nn::Module {
 public:
  // `rank` 0: the base alone. The scale of LoRA is 2.
  LoraLlama(const Decoder& base, std::int64_t rank);
  [[nodiscard]] torch::Tensor embed(const std::vector<TokenId>& ids) const;  // ids x width
  // The logits after every row. rows: count x width
  [[nodiscard]] torch::Tensor forward(const torch::Tensor& rows) const;
  [[nodiscard]] Lora lora() const;  // for the shipped decoder; empty for rank 0

 private:
  struct Layer {
    torch::Tensor attention_norm, mlp_norm;
    std::array<torch::Tensor, kProjections> weights;   // inputs x outputs
    std::array<torch::Tensor, kProjections> down, up;  // undefined for rank 0
  };
  [[nodiscard]] torch::Tensor project(const torch::Tensor& x, const Layer& layer, Projection projection) const;
  [[nodiscard]] torch::Tensor rotated(const torch::Tensor& x, std::int64_t heads) const;
  DecoderShape shape_;
  torch::Tensor tokens_, output_, final_norm_;
  std::vector<Layer> layers_;
};

}  // namespace forerun
