// Memory as PyTorch's allocator would hold it: weights, live activations, workspaces; for training gradients, optimiser
// state and the activations saved for the backward pass.
#include <algorithm>
#include <cmath>

#include "analysis/kernel_builder.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

constexpr double kMb = 1048576.0;

// cuBLAS keeps a workspace per handle and stream: 32 MiB on Hopper and later, about 8 MiB before.
double product_workspace_mb(const Device& device) {
  if (!device.compute_capability) return 0;
  return *device.compute_capability >= 9.0 ? 32 : 8.1;
}

// CUDA context and loaded modules.
double context_mb(const Device& device) {
  if (device.kind == "cpu") return 0;
  const double capability = device.compute_capability.value_or(8.0);
  return capability >= 9.0 ? 520 : capability >= 8.0 ? 420 : 320;
}

// Live bytes over the execution order, for a run in this precision. Unary activations run in place; a batch norm that the
// exporter folded away needs its output beside its input.
class LiveSet {
 public:
  LiveSet(const Graph& graph, const Workload& workload) : graph_(graph), workload_(workload) {
    const std::size_t count = graph.values.size();
    root_.resize(count);
    for (std::size_t i = 0; i < count; ++i) root_[i] = ValueId(i);
    uses_.assign(count, 0);
  }

  double size(ValueId id) const {
    const Value& value = graph_.values[std::size_t(id)];
    if (value.is_constant || value.is_initializer || value.form != ValueForm::Tensor) return 0;
    const double elements = double(elements_of(value));
    const bool real = is_floating(value.dtype) && value.dtype != DType::Float64;
    const double bytes = real ? elements * activation_bytes(workload_.precision) : elements * bits_of(value.dtype) / 8.0;
    return std::ceil(bytes / 512) * 512;  // the allocator's granule
  }

  // Peak in bytes; `saved` receives what a backward pass needs to keep.
  double peak(double& saved, double& largest) {
    const Block& block = graph_.main();
    for (const Node& node : block.nodes) {
      if (shares_storage(node)) {
        for (const ValueId out : node.outputs) {
          if (out != kNoValue) root_[std::size_t(out)] = root_[std::size_t(node.inputs[0])];
        }
      }
      for (const ValueId in : node.inputs) {
        if (in != kNoValue) ++uses_[std::size_t(root_[std::size_t(in)])];
      }
    }
    for (const ValueId out : block.outputs) {
      if (out != kNoValue) ++uses_[std::size_t(root_[std::size_t(out)])];
    }
    double live = 0;
    for (const ValueId in : block.inputs) {
      live += size(in);
      ++uses_[std::size_t(root_[std::size_t(in)])];  // the caller holds the input
    }
    double highest = live;
    std::vector<bool> kept(graph_.values.size(), false);
    const auto keep = [&](ValueId id) {
      if (id == kNoValue || kept[std::size_t(root_[std::size_t(id)])]) return;
      kept[std::size_t(root_[std::size_t(id)])] = true;
      saved += size(root_[std::size_t(id)]);
    };
    for (const Node& node : block.nodes) {
      double made = 0;
      for (const ValueId out : node.outputs) {
        if (out != kNoValue && root_[std::size_t(out)] == out) made += size(out);
      }
      live += made;
      largest = std::max(largest, made);
      double transient = 0;
      const bool folded = node.kind == OpKind::Conv && node.inputs.size() > 1 && node.inputs[1] != kNoValue &&
                          graph_.producer.find("pytorch") != std::string::npos &&
                          graph_.values[std::size_t(node.inputs[1])].name.starts_with("onnx::Conv");
      highest = std::max(highest, live + transient);
      for (const ValueId in : node.inputs) {
        if (in == kNoValue) continue;
        const ValueId root = root_[std::size_t(in)];
        if (--uses_[std::size_t(root)] == 0) live -= size(root);
      }
      if (folded) {
        highest = std::max(highest, live + made);  // convolution's result and the normalised one
        saved += made;
      }
      if (workload_.training) keep_for_backward(node, keep);
    }
    return highest;
  }

 private:
  bool shares_storage(const Node& node) const {
    if (node.inputs.empty() || node.inputs[0] == kNoValue || node.kind == OpKind::Shape || node.kind == OpKind::Size) return false;
    const OpClass op_class = spec_of(node.kind).op_class;
    if (op_class == OpClass::Free) return true;
    switch (node.kind) {
      case OpKind::Transpose:
      case OpKind::Slice:
      case OpKind::Split:
      case OpKind::Expand:
      case OpKind::Cast: return true;
      case OpKind::Relu:
      case OpKind::Clip:
      case OpKind::HardSwish:
      case OpKind::LeakyRelu: return true;  // written in place by nearly every network
      default: return false;
    }
  }

  template <typename Keep>
  void keep_for_backward(const Node& node, const Keep& keep) {
    const OpClass op_class = spec_of(node.kind).op_class;
    switch (op_class) {
      case OpClass::Conv:
      case OpClass::MatMul:
      case OpClass::Attention:
      case OpClass::Recurrent:
      case OpClass::Norm:
      case OpClass::Pool:
        for (const ValueId in : node.inputs) keep(in);
        if (op_class == OpClass::Attention) keep(node.outputs[0]);
        break;
      case OpClass::Softmax: keep(node.outputs[0]); break;
      case OpClass::Elementwise:
        // Sums pass the gradient on; products and activations need their operands.
        if (node.kind != OpKind::Add && node.kind != OpKind::Sub && node.kind != OpKind::Sum) {
          for (const ValueId in : node.inputs) keep(in);
        }
        break;
      default: break;
    }
  }

  const Graph& graph_;
  const Workload& workload_;
  std::vector<ValueId> root_;
  std::vector<std::int32_t> uses_;
};

double weight_bytes(const Graph& graph, Precision precision, double& elements) {
  double bytes = 0;
  for (const Value& value : graph.values) {
    if (!value.is_initializer || value.form != ValueForm::Tensor) continue;
    const double count = double(elements_of(value));
    if (value.stored_bytes >= 0) {
      bytes += double(value.stored_bytes);
    } else if (value.dtype == DType::Float32 || value.dtype == DType::Float16 || value.dtype == DType::BFloat16) {
      double each = precision == Precision::AmpBf16 ? 4 : activation_bytes(precision);
      if (value.dims.size() >= 2 && (precision == Precision::Int8 || precision == Precision::Fp8)) each = 1;
      if (value.dims.size() >= 2 && precision == Precision::Int4) each = 0.5 + 2.0 / 128;
      bytes += std::ceil(count * each / 512) * 512;
    } else {
      bytes += count * bits_of(value.dtype) / 8.0;
    }
    if (value.is_parameter) elements += count;
  }
  return bytes;
}

}  // namespace

MemoryEstimate estimate_memory(const Graph& graph, const std::vector<Kernel>& kernels, const Workload& workload, const Device& device) {
  MemoryEstimate memory;
  double elements = 0;
  memory.weights_mb = weight_bytes(graph, workload.precision, elements) / kMb;
  double saved = 0;
  double largest = 0;
  LiveSet live(graph, workload);
  const double peak = live.peak(saved, largest);
  const bool products = std::any_of(kernels.begin(), kernels.end(), [](const Kernel& k) {
    return k.kernel_class == KernelClass::Linear || k.kernel_class == KernelClass::BatchedMatMul || k.kernel_class == KernelClass::Experts;
  });
  memory.workspace_mb = products ? product_workspace_mb(device) : 0;
  if (!workload.training) {
    memory.activations_mb = peak / kMb;
    memory.total_mb = memory.weights_mb + memory.activations_mb + memory.workspace_mb;
  } else {
    const double parameters_mb = elements * 4 / kMb;
    memory.saved_mb = saved / kMb;
    memory.activations_mb = std::max(peak, saved) / kMb;
    memory.gradients_mb = parameters_mb;
    const double states = workload.optimizer == Optimizer::Sgd ? 1 : workload.optimizer == Optimizer::None ? 0 : 2;
    memory.optimizer_mb = states * parameters_mb;
    if (workload.precision == Precision::AmpBf16) memory.activations_mb += elements * 2 / kMb;  // cached casts of the weights
    const double backward = memory.activations_mb + 2 * largest / kMb;
    const double update = parameters_mb * (workload.optimizer == Optimizer::None ? 1 : workload.optimizer == Optimizer::Sgd ? 1 : 2);
    memory.total_mb = memory.weights_mb + memory.optimizer_mb + memory.workspace_mb + std::max(backward, update);
  }
  memory.device_total_mb = memory.total_mb * 1.04 + 2 * std::sqrt(memory.total_mb) + context_mb(device);
  return memory;
}

}  // namespace forerun
