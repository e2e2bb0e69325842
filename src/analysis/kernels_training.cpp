// The backward pass and the optimiser step, derived from the forward kernels.
#include <algorithm>

#include "analysis/kernel_builder.hpp"

namespace forerun {
namespace {

Kernel backward_of(const Kernel& forward, const char* label) {
  Kernel kernel = forward;
  kernel.stage = Stage::Backward;
  kernel.label = label;
  kernel.host_ops = 1.5;  // the autograd engine's own work
  return kernel;
}

// Gradients of a product: with respect to its input (m x n)(n x k) and its weight (k x m)(m x n).
void product_backward(const Kernel& f, bool needs_input, std::vector<Kernel>& out) {
  const double x_bytes = f.read_bytes - f.weight_bytes;
  const bool conv = f.kernel_class == KernelClass::Conv || f.kernel_class == KernelClass::DepthwiseConv ||
                    f.kernel_class == KernelClass::ConvTranspose;
  if (needs_input) {
    Kernel input = backward_of(f, conv ? "conv_input_gradient" : "input_gradient");
    input.read_bytes = f.write_bytes + f.weight_bytes;
    input.write_bytes = x_bytes;
    std::swap(input.n, input.k);
    out.push_back(input);
  }
  Kernel weight = backward_of(f, conv ? "conv_weight_gradient" : "weight_gradient");
  weight.read_bytes = f.write_bytes + x_bytes;
  weight.write_bytes = f.weight_bytes;
  weight.weight_bytes = 0;
  const double m = f.m;
  weight.m = f.k;
  weight.k = m;
  out.push_back(weight);
}

void memory_backward(const Kernel& f, std::vector<Kernel>& out) {
  Kernel kernel = backward_of(f, "gradient");
  const double x_bytes = std::max(0.0, f.read_bytes - f.weight_bytes);
  switch (f.kernel_class) {
    case KernelClass::BatchNorm:
      kernel.read_bytes = 4 * f.write_bytes;  // reductions over gradient and input, then both again
      kernel.write_bytes = f.write_bytes;
      kernel.launches = 2;
      break;
    case KernelClass::LayerNorm:
      kernel.read_bytes = 3 * f.write_bytes;
      kernel.write_bytes = f.write_bytes;
      kernel.launches = 3;
      break;
    case KernelClass::Softmax:
      kernel.read_bytes = 2 * f.write_bytes;
      kernel.write_bytes = f.write_bytes;
      break;
    case KernelClass::Pool:
    case KernelClass::Reduce:
      kernel.read_bytes = f.write_bytes;
      kernel.write_bytes = x_bytes;
      break;
    case KernelClass::Embedding:
      kernel.read_bytes = f.write_bytes;
      kernel.write_bytes = f.write_bytes;
      kernel.launches = 4;  // indices are sorted first
      break;
    default:
      kernel.read_bytes = f.write_bytes + x_bytes;
      kernel.write_bytes = x_bytes;
      break;
  }
  out.push_back(kernel);
}

bool passes_gradient_through(const Kernel& kernel) {
  const std::string_view label = kernel.label;
  return label == "Add" || label == "Sub" || label == "bias" || label == "Concat" || label == "Sum";
}

}  // namespace

void append_training(std::vector<Kernel>& kernels, const Graph& graph, const Workload& workload) {
  const bool amp = workload.precision == Precision::AmpBf16;
  std::vector<Kernel> casts;
  const std::vector<Kernel> forward = kernels;
  // The first layer's input is data: it needs no gradient.
  const auto is_weighted = [](const Kernel& k) { return k.weight_bytes > 0 && k.macs > 0; };
  const auto first_product = std::size_t(std::find_if(forward.begin(), forward.end(), is_weighted) - forward.begin());
  std::vector<Kernel> mine;  // backward runs in reverse order
  for (std::size_t i = forward.size(); i-- > 0;) {
    const Kernel& f = forward[i];
    if (f.block == 0 && f.node >= 0 && !graph.main().nodes[std::size_t(f.node)].needed) continue;
    switch (f.kernel_class) {
      case KernelClass::Conv:
      case KernelClass::DepthwiseConv:
      case KernelClass::ConvTranspose:
      case KernelClass::Linear:
      case KernelClass::Experts:
        product_backward(f, i != first_product, mine);
        if (amp && f.weight_bytes > 0) {
          Kernel cast = f;
          cast.kernel_class = KernelClass::Copy;
          cast.label = "autocast";
          cast.macs = cast.flops = 0;
          cast.read_bytes = f.weight_bytes * 2;
          cast.write_bytes = f.weight_bytes;
          cast.weight_bytes = 0;
          cast.math = Math::Fp32;
          casts.push_back(cast);
        }
        break;
      case KernelClass::BatchedMatMul:
        for (int side = 0; side < 2; ++side) mine.push_back(backward_of(f, "matmul_gradient"));
        break;
      case KernelClass::Attention: {
        Kernel kernel = backward_of(f, "attention_gradient");
        kernel.macs *= 2.5;
        kernel.flops *= 2.5;
        kernel.read_bytes = f.read_bytes + 2 * f.write_bytes;
        kernel.write_bytes = f.read_bytes;
        mine.push_back(kernel);
        break;
      }
      case KernelClass::Recurrent: {
        Kernel kernel = backward_of(f, "recurrent_gradient");
        kernel.macs *= 2;
        kernel.flops *= 2;
        kernel.read_bytes *= 2;
        mine.push_back(kernel);
        break;
      }
      default:
        if (passes_gradient_through(f)) {
          // The gradient itself passes; where two paths meet again, their gradients are added.
          if (std::string_view(f.label) == "Add") {
            Kernel sum = backward_of(f, "accumulate");
            sum.kernel_class = KernelClass::Elementwise;
            sum.read_bytes = 2 * f.write_bytes;
            sum.write_bytes = f.write_bytes;
            mine.push_back(sum);
          } else if (std::string_view(f.label) == "bias") {
            Kernel reduce = backward_of(f, "bias_gradient");
            reduce.kernel_class = KernelClass::Reduce;
            reduce.read_bytes = f.write_bytes;
            reduce.write_bytes = 0;
            mine.push_back(reduce);
          }
        } else {
          memory_backward(f, mine);
        }
        break;
    }
  }
  kernels.insert(kernels.end(), casts.begin(), casts.end());
  kernels.insert(kernels.end(), mine.begin(), mine.end());
  if (workload.optimizer == Optimizer::None) return;
  double elements = 0;
  double tensors = 0;
  for (const Value& value : graph.values) {
    if (!value.is_parameter) continue;
    elements += double(elements_of(value));
    tensors += 1;
  }
  if (elements <= 0) return;
  // Passes over parameter-sized arrays of PyTorch's multi-tensor ("foreach") implementations, 4 bytes an element.
  const double passes = workload.optimizer == Optimizer::Sgd ? 8 : workload.optimizer == Optimizer::Adam ? 21 : 23;
  const double steps = workload.optimizer == Optimizer::Sgd ? 3 : workload.optimizer == Optimizer::Adam ? 10 : 11;
  Kernel step;
  step.kernel_class = KernelClass::Optimizer;
  step.stage = Stage::Update;
  step.label = "optimizer_step";
  step.math = Math::Fp32;
  step.read_bytes = elements * 4 * passes * 0.62;
  step.write_bytes = elements * 4 * passes * 0.38;
  step.flops = elements * steps * 1.5;
  step.output_elements = elements;
  step.launches = steps * (1 + tensors / 110.0);  // one launch takes about a hundred tensors
  step.host_ops = steps * 2 + tensors * 1.2;
  kernels.push_back(step);
}

}  // namespace forerun
