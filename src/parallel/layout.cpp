#include "parallel/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forerun {
namespace {

constexpr std::int64_t kMostDevices = 65536;

std::string divisors_of(std::int64_t number) {
  std::string text;
  for (std::int64_t d = 1; d <= std::min<std::int64_t>(number, 64); ++d) {
    if (number % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  }
  return text;
}

}  // namespace

Result<Parallelism> choose_layout(std::int64_t gpus, Parallelism asked, bool divides_layers) {
  if (gpus > 1 && asked.devices() == 1) (divides_layers ? asked.tensor : asked.data) = gpus;
  if (gpus > 1 && asked.devices() != gpus)
    return bad_input(fmt::format("--gpus {}: tensor x pipeline x data parallelism is {}", gpus, asked.devices()));
  if (asked.devices() > kMostDevices) return bad_input(fmt::format("more than {} devices", kMostDevices));
  return asked;
}

Status check_layout(const Graph& graph, const Parallelism& layout) {
  if (layout.tensor == 1 && layout.pipeline == 1) return ok();
  if (!graph.transformer) {
    return bad_input(
        "--tensor-parallel and --pipeline-parallel need a language model's configuration; other networks take "
        "--data-parallel");
  }
  const std::int64_t layers = graph.transformer->layers, heads = graph.transformer->heads;
  if (layout.tensor > 1 && heads > 0 && heads % layout.tensor != 0) {
    return bad_input(fmt::format("--tensor-parallel {}: does not divide the {} attention heads; it may be {}",
                                 layout.tensor, heads, divisors_of(heads)));
  }
  if (layout.pipeline > layers)
    return bad_input(fmt::format("--pipeline-parallel {}: the network has {} layers", layout.pipeline, layers));
  return ok();
}

std::int64_t largest_share(std::int64_t batch, std::int64_t copies) {
  return std::max<std::int64_t>(1, (batch + copies - 1) / copies);
}

std::vector<Kernel> share_kernels(std::vector<Kernel> kernels, std::int64_t tensor) {
  if (tensor <= 1) return kernels;
  const double part = 1.0 / double(tensor);
  for (Kernel& k : kernels) {
    switch (k.kernel_class) {
      case KernelClass::Linear:
      case KernelClass::Experts:
        // Column-parallel, then row-parallel: the input or the output is whole, the weight is divided.
        k.n = std::max(1.0, k.n * part);
        k.macs *= part;
        k.flops *= part;
        k.read_bytes -= k.weight_bytes * (1 - part);
        k.weight_bytes *= part;
        k.write_bytes *= part;
        break;
      case KernelClass::Attention:
      case KernelClass::BatchedMatMul:
        k.batch = std::max(1.0, k.batch * part);
        k.macs *= part;
        k.flops *= part;
        k.read_bytes *= part;
        k.write_bytes *= part;
        break;
      case KernelClass::Softmax:
        k.read_bytes *= part;
        k.write_bytes *= part;
        k.output_elements *= part;
        break;
      default: break;
    }
  }
  return kernels;
}

}  // namespace forerun
