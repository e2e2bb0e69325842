#include "training/hybrid/lora_llama.hpp"

#include <cmath>

#include "training/hybrid/matrices.hpp"

namespace forerun {
namespace {

constexpr double kLoraScale = 2;

torch::Tensor normed(const torch::Tensor& x, const torch::Tensor& weight, double epsilon) {
  return x * torch::rsqrt(x.pow(2).mean(-1, true) + epsilon) * weight;
}

}  // namespace

LoraLlama::LoraLlama(const Decoder& base, std::int64_t rank) : shape_(base.shape) {
  tokens_ = tensor_of(base.tokens);
  output_ = base.output.size() > 0 ? tensor_of(base.output) : tokens_;
  final_norm_ = tensor_of(base.final_norm);
  for (const DecoderLayer& from : base.layers) {
    Layer layer;
    layer.attention_norm = tensor_of(from.attention_norm);
    layer.mlp_norm = tensor_of(from.mlp_norm);
    for (std::size_t p = 0; p < kProjections; ++p) {
      layer.weights[p] = tensor_of(from.weights[p]);
      if (rank == 0) continue;
      const std::string name = std::to_string(layers_.size()) + "_" + std::string(kProjectionNames[p]);
      const auto [in, out] = base.sizes(Projection(p));
      // As published: down is drawn, up starts at zero, so that training starts at the base.
      layer.down[p] = register_parameter("down_" + name, torch::randn({in, rank}) / std::sqrt(double(in)));
      layer.up[p] = register_parameter("up_" + name, torch::zeros({rank, out}));
    }
    layers_.push_back(std::move(layer));
  }
}

torch::Tensor LoraLlama::embed(const std::vector<TokenId>& ids) const {
  const std::vector<std::int64_t> wide(ids.begin(), ids.end());
  return tokens_.index_select(0, torch::tensor(wide, torch::kLong));
}

torch::Tensor LoraLlama::project(const torch::Tensor& x, const Layer& layer, Projection projection) const {
  const auto p = std::size_t(projection);
  const torch::Tensor y = x.matmul(layer.weights[p]);
  return layer.down[p].defined() ? y + kLoraScale * x.matmul(layer.down[p]).matmul(layer.up[p]) : y;
}

torch::Tensor LoraLlama::rotated(const torch::Tensor& x, std::int64_t heads) const {
  const std::int64_t half = shape_.head_width() / 2;
  const auto wide = torch::kDouble;
  const torch::Tensor turn = torch::pow(shape_.rope_base, -torch::arange(half, wide) / double(half));
  const torch::Tensor angle = torch::outer(torch::arange(x.size(0), wide), turn).unsqueeze(1);  // rows x 1 x half
  const torch::Tensor cosine = angle.cos().to(x.dtype()), sine = angle.sin().to(x.dtype());
  const torch::Tensor pairs = x.reshape({x.size(0), heads, half, 2});
  const torch::Tensor a = pairs.select(3, 0), b = pairs.select(3, 1);
  return torch::stack({a * cosine - b * sine, a * sine + b * cosine}, 3).reshape({x.size(0), heads, 2 * half});
}

torch::Tensor LoraLlama::forward(const torch::Tensor& rows) const {
  const std::int64_t count = rows.size(0), width = shape_.head_width(), shared = shape_.heads / shape_.kv_heads;
  const torch::Tensor later = torch::ones({count, count}, torch::kBool).triu(1);
  torch::Tensor x = rows;
  for (const Layer& layer : layers_) {
    const torch::Tensor before = normed(x, layer.attention_norm, shape_.epsilon);
    const torch::Tensor query = rotated(project(before, layer, Projection::Query), shape_.heads);
    const torch::Tensor key =
        rotated(project(before, layer, Projection::Key), shape_.kv_heads).repeat_interleave(shared, 1);
    const torch::Tensor value =
        project(before, layer, Projection::Value).reshape({count, shape_.kv_heads, width}).repeat_interleave(shared, 1);
    const torch::Tensor scores = query.transpose(0, 1).matmul(key.permute({1, 2, 0})) / std::sqrt(double(width));
    const torch::Tensor shares = scores.masked_fill(later, -1e30).softmax(-1);
    const torch::Tensor mixed = shares.matmul(value.transpose(0, 1)).transpose(0, 1).reshape({count, shape_.width});
    x = x + project(mixed, layer, Projection::Output);
    const torch::Tensor mlp = normed(x, layer.mlp_norm, shape_.epsilon);
    const torch::Tensor gated =
        torch::silu(project(mlp, layer, Projection::Gate)) * project(mlp, layer, Projection::Up);
    x = x + project(gated, layer, Projection::Down);
  }
  return normed(x, final_norm_, shape_.epsilon).matmul(output_.t());
}

Lora LoraLlama::lora() const {
  Lora made;
  for (const Layer& layer : layers_) {
    LoraLayer pairs;
    for (std::size_t p = 0; p < kProjections; ++p) {
      if (layer.down[p].defined()) pairs[p] = {matrix_of(layer.down[p]), matrix_of(kLoraScale * layer.up[p])};
    }
    made.push_back(std::move(pairs));
  }
  return made.empty() || made.front().front().down.size() == 0 ? Lora() : made;
}

}  // namespace forerun
