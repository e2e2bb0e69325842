#include "training/gnn/flat_adam.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {

FlatAdam::FlatAdam(torch::nn::Module& module, double weight_decay, double mean_decay)
    : weight_decay_(weight_decay), mean_decay_(mean_decay) {
  const torch::NoGradGuard guard;
  std::vector<torch::Tensor> parameters = module.parameters();
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& parameter : parameters) parts.push_back(parameter.detach().reshape({-1}));
  weights_ = torch::cat(parts);
  gradient_ = torch::zeros_like(weights_);
  first_ = torch::zeros_like(weights_);
  second_ = torch::zeros_like(weights_);
  mean_ = mean_decay > 0 ? weights_.clone() : torch::empty({0}, weights_.options());
  steps_ = torch::zeros({1}, torch::kLong);
  std::int64_t at = 0;
  for (torch::Tensor& parameter : parameters) {
    const std::int64_t count = parameter.numel();
    parameter.set_data(weights_.narrow(0, at, count).view(parameter.sizes()));
    parameter.mutable_grad() = gradient_.narrow(0, at, count).view(parameter.sizes());
    at += count;
  }
}

void FlatAdam::step(double rate, double clip_norm) {
  constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-8;
  const torch::NoGradGuard guard;
  if (clip_norm > 0) gradient_.mul_((clip_norm / (gradient_.norm() + 1e-6)).clamp_max(1.0));
  const auto t = static_cast<double>(++*steps_.data_ptr<std::int64_t>());
  first_.mul_(kFirst).add_(gradient_, 1 - kFirst);
  second_.mul_(kSecond).addcmul_(gradient_, gradient_, 1 - kSecond);
  const torch::Tensor scale = (second_ / (1 - std::pow(kSecond, t))).sqrt_().add_(kEpsilon);
  if (weight_decay_ > 0) weights_.mul_(1 - rate * weight_decay_);
  weights_.addcdiv_(first_, scale, -rate / (1 - std::pow(kFirst, t)));
  if (mean_decay_ > 0)
    mean_.lerp_(weights_, 1 - std::min(mean_decay_, t / (t + 10)));  // short at first: the start is forgotten
}

void FlatAdam::swap_mean() {
  if (mean_decay_ <= 0) return;
  const torch::NoGradGuard guard;
  const torch::Tensor kept = weights_.clone();
  weights_.copy_(mean_);
  mean_.copy_(kept);
}

}  // namespace forerun
