#include "training/gnn/stacked_linear.hpp"

#include <cmath>

namespace forerun {

StackedLinear::StackedLinear(std::int64_t stack, std::int64_t in, std::int64_t out, bool with_bias) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = register_parameter("weight", torch::empty({stack, in, out}).uniform_(-bound, bound));
  if (with_bias) bias = register_parameter("bias", torch::empty({stack, 1, out}).uniform_(-bound, bound));
}

void StackedLinear::hide(const torch::Tensor& seen) { seen_ = register_buffer("seen", seen); }

torch::Tensor StackedLinear::forward(const torch::Tensor& x) {
  const torch::Tensor all = x.dim() == 3 ? x : x.unsqueeze(0).expand({weight.size(0), -1, -1});
  return bias.defined() ? torch::baddbmm(bias, all, effective()) : torch::bmm(all, effective());
}

}  // namespace forerun
