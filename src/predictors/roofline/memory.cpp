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

// CUDA context and loaded modules: 880 MB on the H200 with PyTorch 2.11 (measured), less with older libraries (estimated).
double context_mb(const Device& device) {
  if (device.kind == "cpu") return 0;
  const double capability = device.compute_capability.value_or(8.0);
  return capability >= 9.0 ? 880 : capability >= 8.0 ? 420 : 320;
}

// Live bytes over the execution order, for a run in this precision. What PyTorch runs as one operator has no inner
// results; unary activations run in place; a batch norm that the exporter folded away needs its output beside its input;
// a convolution on tensor cores works on channels-last copies in its workspace.
class LiveSet {
 public:
  LiveSet(const Graph& graph, const Workload& workload)
      : graph_(graph), workload_(workload), links_(graph, graph.main()), root_(graph.values.size()), inner_(graph.values.size(), false),
        uses_(graph.values.size(), 0), kept_(graph.values.size(), false), strided_(graph.values.size(), false), group_(graph.main().nodes.size(), -1) {
    for (std::size_t i = 0; i < root_.size(); ++i) root_[i] = ValueId(i);
    matches_ = match_fusions(graph, graph.main(), links_);
    for (std::size_t m = 0; m < matches_.size(); ++m) {
      for (const NodeId id : matches_[m].nodes) {
        group_[std::size_t(id)] = std::int32_t(m);
        for (const ValueId out : graph.main().nodes[std::size_t(id)].outputs) {
          if (out != kNoValue && out != matches_[m].output) inner_[std::size_t(out)] = true;
        }
      }
    }
  }

  // Peak in bytes; `saved` receives what a backward pass keeps, `largest` the largest single result.
  double peak(double& saved, double& largest) {
    const Block& block = graph_.main();
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const Node& node = block.nodes[i];
      if (group_[i] >= 0) {
        const Match& match = matches_[std::size_t(group_[i])];
        if (match.fusion == Fusion::Silu && match.nodes.back() == NodeId(i)) root_[std::size_t(match.output)] = root_[std::size_t(match.input)];
      } else if (shares_storage(node) && !copies(node)) {
        for (const ValueId out : node.outputs) {
          if (out != kNoValue) root_[std::size_t(out)] = root_[std::size_t(node.inputs[0])];
        }
      }
      follow_strides(node);
      for (const ValueId in : node.inputs) {
        if (in != kNoValue) ++uses_[std::size_t(root_[std::size_t(in)])];
      }
    }
    for (const ValueId out : block.outputs) {
      if (out != kNoValue) ++uses_[std::size_t(root_[std::size_t(out)])];
    }
    if (!workload_.training) hold_module_inputs();
    double live = 0;
    for (const ValueId in : block.inputs) {
      live += size(in);
      if (!is_cache(in)) ++uses_[std::size_t(root_[std::size_t(in)])];
    }
    double highest = live;
    std::vector<std::vector<ValueId>> held(matches_.size());
    std::size_t returned = 0;
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const Node& node = block.nodes[i];
      double made = 0;
      for (const ValueId out : node.outputs) {
        if (out != kNoValue && root_[std::size_t(out)] == out) made += size(out);
      }
      live += made;
      largest = std::max(largest, made);
      highest = std::max(highest, live + workspace(node));
      // A group's inputs stay until its last node has made the result.
      const auto release = [&](const std::vector<ValueId>& values) {
        for (const ValueId in : values) {
          if (in == kNoValue) continue;
          const ValueId root = root_[std::size_t(in)];
          if (--uses_[std::size_t(root)] == 0) live -= size(root);
        }
      };
      if (group_[i] < 0) {
        release(node.inputs);
      } else {
        std::vector<ValueId>& mine = held[std::size_t(group_[i])];
        mine.insert(mine.end(), node.inputs.begin(), node.inputs.end());
        if (matches_[std::size_t(group_[i])].nodes.back() == NodeId(i)) release(mine);
      }
      for (; returned < returns_.size() && returns_[returned].first == NodeId(i); ++returned) {
        const ValueId root = returns_[returned].second;
        if (--uses_[std::size_t(root)] == 0) live -= size(root);
      }
      if (node.kind == OpKind::Conv && is_folded_batch_norm(graph_, node)) {
        highest = std::max(highest, live + made);  // the convolution's result and the normalised one
        saved += made;
      }
      if (workload_.training) keep_for_backward(node, NodeId(i), saved);
    }
    return highest;
  }

 private:
  // A module's caller holds its argument until the module returns. Exporters name a node by the path of modules it ran in.
  void hold_module_inputs() {
    struct Open {
      std::string_view path;
      NodeId first;
    };
    const Block& block = graph_.main();
    const char separator = graph_.format == "onnx" ? '/' : '.';
    std::vector<NodeId> maker(graph_.values.size(), -1);
    std::vector<Open> open;
    NodeId last = -1;  // the last node that ran
    const auto close = [&](const Open& module) {
      if (module.first == last) return;
      std::vector<ValueId> arguments;
      for (NodeId id = module.first; id <= last; ++id) {
        for (const ValueId in : block.nodes[std::size_t(id)].inputs) {
          if (in == kNoValue || maker[std::size_t(in)] >= module.first) continue;
          const ValueId root = root_[std::size_t(in)];
          if (size(root) > 0 && !is_cache(root)) arguments.push_back(root);
        }
      }
      std::sort(arguments.begin(), arguments.end());
      arguments.erase(std::unique(arguments.begin(), arguments.end()), arguments.end());
      for (const ValueId root : arguments) {
        ++uses_[std::size_t(root)];
        returns_.emplace_back(last, root);
      }
    };
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const Node& node = block.nodes[i];
      for (const ValueId out : node.outputs) {
        if (out != kNoValue) maker[std::size_t(out)] = NodeId(i);
      }
      if (std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) { return out == kNoValue || size(out) == 0; })) continue;
      const std::string_view name = node.name;
      while (!open.empty() && !(name.starts_with(open.back().path) && (name.size() == open.back().path.size() || name[open.back().path.size()] == separator))) {
        close(open.back());
        open.pop_back();
      }
      // An ONNX name ends with its operator; a configuration's with its module.
      const std::size_t end = graph_.format == "onnx" ? name.rfind(separator) : name.size();
      std::size_t at = open.empty() ? 0 : open.back().path.size() + 1;
      while (end != std::string_view::npos && at < end && open.size() < 64) {
        const std::size_t next = std::min(end, name.find(separator, at));
        if (next > at) open.push_back({name.substr(0, next), NodeId(i)});
        at = next + 1;
      }
      last = NodeId(i);
    }
    for (; !open.empty(); open.pop_back()) close(open.back());
    std::stable_sort(returns_.begin(), returns_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  // The caller holds an input; a cache is replaced layer by layer.
  bool is_cache(ValueId input) const { return graph_.values[std::size_t(input)].name.starts_with("past_"); }

  double size(ValueId id) const {
    const Value& value = graph_.values[std::size_t(id)];
    if (inner_[std::size_t(id)] || value.is_constant || value.is_initializer || value.form != ValueForm::Tensor) return 0;
    const double elements = double(elements_of(value));
    const bool real = is_floating(value.dtype) && value.dtype != DType::Float64;
    const double bytes = real ? elements * activation_bytes(workload_.precision) : elements * bits_of(value.dtype) / 8.0;
    return std::ceil(bytes / 512) * 512;  // the allocator's granule
  }

  double workspace(const Node& node) const {
    if (spec_of(node.kind).op_class != OpClass::Conv || node.inputs.size() < 2 || node.inputs[1] == kNoValue || node.outputs[0] == kNoValue) return 0;
    const Value& x = graph_.values[std::size_t(node.inputs[0])];
    const auto groups = int_attribute(node, "group", 1);
    if (workload_.precision == Precision::IeeeFp32 || (x.dims.size() > 1 && groups > 1 && groups == x.dims[1])) return 0;
    const Dims& kernel = graph_.values[std::size_t(node.inputs[1])].dims;
    const auto strides = ints_attribute(node, "strides");
    const bool pointwise = kernel.size() > 2 && std::all_of(kernel.begin() + 2, kernel.end(), [](std::int64_t side) { return side == 1; }) &&
                           std::all_of(strides.begin(), strides.end(), [](std::int64_t step) { return step == 1; });
    if (pointwise && groups == 1) return 0;  // a plain matrix product, in any layout
    const double weight = double(elements_of(graph_.values[std::size_t(node.inputs[1])])) * activation_bytes(workload_.precision);
    return size(root_[std::size_t(node.inputs[0])]) + size(node.outputs[0]) + weight;
  }

  bool shares_storage(const Node& node) const {
    if (node.inputs.empty() || node.inputs[0] == kNoValue || node.kind == OpKind::Shape || node.kind == OpKind::Size) return false;
    if (spec_of(node.kind).op_class == OpClass::Free) return true;
    switch (node.kind) {
      case OpKind::Transpose:
      case OpKind::Slice:
      case OpKind::Split:
      case OpKind::Expand:
      case OpKind::Cast:
      case OpKind::Relu:
      case OpKind::Clip:
      case OpKind::HardSwish:
      case OpKind::LeakyRelu: return true;  // views; activations are written in place by nearly every network
      default: return false;
    }
  }

  // Merging dimensions of a transposed tensor copies it.
  bool copies(const Node& node) const {
    if ((node.kind != OpKind::Reshape && node.kind != OpKind::Flatten) || !strided_[std::size_t(node.inputs[0])]) return false;
    return !keeps_strides(graph_.values[std::size_t(node.inputs[0])].dims, graph_.values[std::size_t(node.outputs[0])].dims);
  }

  void follow_strides(const Node& node) {
    if (node.inputs.empty() || node.inputs[0] == kNoValue || node.outputs.empty() || node.outputs[0] == kNoValue) return;
    const bool view = node.kind == OpKind::Transpose || node.kind == OpKind::Slice || node.kind == OpKind::Split || node.kind == OpKind::Expand;
    const bool keeps = spec_of(node.kind).op_class == OpClass::Elementwise || (spec_of(node.kind).op_class == OpClass::Free && !copies(node));
    for (const ValueId out : node.outputs) {
      if (out != kNoValue) strided_[std::size_t(out)] = view || (keeps && strided_[std::size_t(node.inputs[0])]);
    }
  }

  void keep(ValueId id, double& saved) {
    if (id == kNoValue || kept_[std::size_t(root_[std::size_t(id)])]) return;
    kept_[std::size_t(root_[std::size_t(id)])] = true;
    saved += size(root_[std::size_t(id)]);
  }

  void keep_for_backward(const Node& node, NodeId id, double& saved) {
    if (const std::int32_t group = group_[std::size_t(id)]; group >= 0) {
      const Match& match = matches_[std::size_t(group)];
      if (match.nodes.back() != id) return;
      keep(match.input, saved);
      if (match.fusion == Fusion::Silu) saved += size(root_[std::size_t(match.input)]);  // in place: the input is copied first
      if (match.fusion == Fusion::Attention) {
        const Node& last = graph_.main().nodes[std::size_t(match.nodes.back())];
        for (const ValueId in : graph_.main().nodes[std::size_t(match.main)].inputs) keep(in, saved);
        for (const ValueId in : last.inputs) keep(in, saved);
        keep(match.output, saved);
      }
      return;
    }
    const OpClass op_class = spec_of(node.kind).op_class;
    switch (op_class) {
      case OpClass::Conv:
      case OpClass::MatMul:
      case OpClass::Attention:
      case OpClass::Recurrent:
      case OpClass::Norm:
      case OpClass::Pool:
        for (const ValueId in : node.inputs) keep(in, saved);
        if (op_class == OpClass::Attention) keep(node.outputs[0], saved);
        if (node.kind == OpKind::MaxPool) saved += double(elements_of(graph_.values[std::size_t(node.outputs[0])])) * 8;  // indices
        break;
      case OpClass::Softmax: keep(node.outputs[0], saved); break;
      case OpClass::Elementwise:
        // Sums pass the gradient on; products and activations need their operands.
        if (node.kind != OpKind::Add && node.kind != OpKind::Sub && node.kind != OpKind::Sum) {
          for (const ValueId in : node.inputs) keep(in, saved);
        }
        // Written in place, but the gradient needs the input: it is copied first.
        if (node.kind == OpKind::Clip || node.kind == OpKind::HardSwish) saved += size(root_[std::size_t(node.inputs[0])]);
        break;
      default: break;
    }
  }

  const Graph& graph_;
  const Workload& workload_;
  BlockLinks links_;
  std::vector<ValueId> root_;
  std::vector<bool> inner_;
  std::vector<std::int32_t> uses_;
  std::vector<bool> kept_, strided_;
  std::vector<Match> matches_;
  std::vector<std::int32_t> group_;
  std::vector<std::pair<NodeId, ValueId>> returns_;  // after this node a module returns, and its argument is released
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

MemoryFacts count_memory(const Graph& graph, const std::vector<Kernel>& kernels, const Workload& workload) {
  MemoryFacts facts;
  facts.weight_bytes = weight_bytes(graph, workload.precision, facts.parameters);
  facts.peak_bytes = LiveSet(graph, workload).peak(facts.saved_bytes, facts.largest_bytes);
  facts.has_products = std::any_of(kernels.begin(), kernels.end(), [](const Kernel& k) {
    return k.kernel_class == KernelClass::Linear || k.kernel_class == KernelClass::BatchedMatMul || k.kernel_class == KernelClass::Experts;
  });
  return facts;
}

MemoryEstimate estimate_memory(const MemoryFacts& facts, const Workload& workload, const Device& device) {
  MemoryEstimate memory;
  memory.weights_mb = facts.weight_bytes / kMb;
  memory.workspace_mb = facts.has_products ? product_workspace_mb(device) : 0;
  if (!workload.training) {
    memory.activations_mb = facts.peak_bytes / kMb;
    memory.total_mb = memory.weights_mb + memory.activations_mb + memory.workspace_mb;
  } else {
    const double parameters_mb = facts.parameters * 4 / kMb;
    memory.saved_mb = facts.saved_bytes / kMb;
    memory.activations_mb = std::max(facts.peak_bytes, facts.saved_bytes) / kMb;
    memory.gradients_mb = parameters_mb;
    const double states = workload.optimizer == Optimizer::Sgd ? 1 : workload.optimizer == Optimizer::None ? 0 : 2;
    memory.optimizer_mb = states * parameters_mb;
    if (workload.precision == Precision::AmpBf16) memory.activations_mb += facts.parameters * 2 / kMb;  // cached casts of the weights
    const double backward = memory.activations_mb + 2 * facts.largest_bytes / kMb;
    const double update = parameters_mb * (workload.optimizer == Optimizer::None || workload.optimizer == Optimizer::Sgd ? 1 : 2);
    memory.total_mb = memory.weights_mb + memory.optimizer_mb + memory.workspace_mb + std::max(backward, update);
  }
  memory.device_total_mb = memory.total_mb * 1.04 + 2 * std::sqrt(memory.total_mb) + context_mb(device);
  return memory;
}

}  // namespace forerun
