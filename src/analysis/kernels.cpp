#include "analysis/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/kernel_list.hpp"

namespace forerun {

void KernelList::run(std::int32_t index) {
  const Block& block = graph_.blocks[std::size_t(index)];
  if (block.runs <= 0) return;
  const BlockLinks links(graph_, block);
  const std::vector<Match> matches = match_fusions(graph_, block, links);
  const std::vector<std::int32_t> group = match_of_nodes(block, matches);
  if (!workload_.training) mark_attention_views(block, links, matches);
  for (std::size_t i = 0; i < block.nodes.size() && !stop_(); ++i) {
    block_ = index;
    runs_ = double(block.runs);
    const Node& node = block.nodes[i];
    if (group[i] < 0) {
      emit(node, NodeId(i));
    } else if (matches[std::size_t(group[i])].nodes.back() == NodeId(i)) {
      emit(block, links, matches[std::size_t(group[i])]);
    }
    for (const auto& [name, body] : node.blocks) run(body);
  }
}

// nn.MultiheadAttention hands its projections to the fused kernel as they are; exporters write transposes and reshapes
// between.
void KernelList::mark_attention_views(const Block& block, const BlockLinks& links, const std::vector<Match>& matches) {
  undone_reshape_.assign(block.nodes.size(), false);
  for (const Match& match : matches) {
    if (match.fusion != Fusion::Attention) continue;
    const Node& scores = block.nodes[std::size_t(match.main)];
    const Node& last = block.nodes[std::size_t(match.nodes.back())];
    for (const ValueId operand : {scores.inputs[0], scores.inputs[1], last.inputs[1]}) {
      for (NodeId id = links.producer(operand); id >= 0; id = links.producer(block.nodes[std::size_t(id)].inputs[0])) {
        const OpKind kind = block.nodes[std::size_t(id)].kind;
        const bool scaled =
            (kind == OpKind::Mul || kind == OpKind::Div) && value(block.nodes[std::size_t(id)].inputs[1]).is_constant;
        if (kind != OpKind::Reshape && kind != OpKind::Transpose && kind != OpKind::Gather && kind != OpKind::Squeeze &&
            kind != OpKind::Unsqueeze && kind != OpKind::Split && kind != OpKind::Slice && !scaled)
          break;
        undone_reshape_[std::size_t(id)] = kind == OpKind::Reshape;
      }
    }
  }
}

// Bytes of a value in the precision it runs in.
double KernelList::bytes(ValueId id) const {
  const Value& v = value(id);
  if (v.stored_bytes >= 0) return double(v.stored_bytes);
  const double elements = double(elements_of(v));
  const bool plain_float = v.dtype == DType::Float32 || v.dtype == DType::Float16 || v.dtype == DType::BFloat16;
  if (!plain_float) return elements * bits_of(v.dtype) / 8.0;
  if (v.is_constant) {
    switch (workload_.precision) {
      case Precision::Fp8:
      case Precision::Int8: return v.dims.size() >= 2 ? elements : elements * 2;
      case Precision::Int4: return v.dims.size() >= 2 ? elements * (0.5 + 2.0 / 128) : elements * 2;
      case Precision::Fp4: return v.dims.size() >= 2 ? elements * (0.5 + 1.0 / 16) : elements * 2;
      default: break;
    }
  }
  return elements * activation_bytes(workload_.precision);
}

Kernel KernelList::make(KernelClass kernel_class, const char* label, NodeId id) const {
  Kernel kernel;
  kernel.kernel_class = kernel_class;
  kernel.label = label;
  kernel.node = id;
  kernel.block = block_;
  kernel.runs = runs_;
  kernel.math = math_of(kernel_class, workload_.precision, DType::Undefined);
  kernel.host_ops = 1 + 0.4 * pending_views_;
  return kernel;
}

void KernelList::push(Kernel kernel) {
  pending_views_ = 0;
  if (kernel.read_bytes + kernel.write_bytes + kernel.flops <= 0) return;
  kernels_.push_back(std::move(kernel));
}

void KernelList::add_io(Kernel& kernel, const Node& node) const {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == kNoValue || value(id).literal || value(id).form != ValueForm::Tensor) continue;
    if (std::find(node.inputs.begin(), node.inputs.begin() + std::ptrdiff_t(i), id) !=
        node.inputs.begin() + std::ptrdiff_t(i))
      continue;
    kernel.read_bytes += bytes(id);
    if (value(id).is_constant) kernel.weight_bytes += bytes(id);
  }
  for (const ValueId id : node.outputs) {
    if (id != kNoValue && value(id).form == ValueForm::Tensor) kernel.write_bytes += bytes(id);
  }
  if (!node.outputs.empty() && node.outputs[0] != kNoValue)
    kernel.output_elements = double(elements_of(value(node.outputs[0])));
}

// A strided operand that the next operator needs dense: PyTorch copies it first.
void KernelList::densify(ValueId id, NodeId at) {
  if (!is_strided(id) || value(id).is_constant) return;
  Kernel copy = make(KernelClass::Copy, "contiguous", at);
  copy.read_bytes = copy.write_bytes = bytes(id);
  copy.output_elements = double(elements_of(value(id)));
  push(std::move(copy));
}

void KernelList::emit(const Node& node, NodeId id) {
  const OpSpec& spec = spec_of(node.kind);
  if (!node.cost.known || spec.op_class == OpClass::Control) return;
  const bool precomputed = std::all_of(node.outputs.begin(), node.outputs.end(),
                                       [&](ValueId out) { return out == kNoValue || value(out).is_constant; });
  if (precomputed) return;
  switch (node.kind) {
    case OpKind::Reshape:
    case OpKind::Flatten: reshape(node, id); return;
    case OpKind::Transpose: transpose(node); return;
    case OpKind::Slice:
    case OpKind::Split:
    case OpKind::Expand: view(node, true); return;
    case OpKind::Identity:
    case OpKind::Squeeze:
    case OpKind::Unsqueeze: view(node, false); return;
    case OpKind::Dropout:
      if (!workload_.training) {
        view(node, false);
        return;
      }
      break;
    case OpKind::Cast: cast(node, id); return;
    default: break;
  }
  if (written_out_ && node.kind == OpKind::RMSNormalization) return rms_norm(node, id);
  if (written_out_ && node.kind == OpKind::RotaryEmbedding) return rotary(node, id);
  switch (spec.op_class) {
    case OpClass::Free: view(node, false); return;
    case OpClass::Conv: conv(node, id); return;
    case OpClass::MatMul: product(node, id); return;
    case OpClass::Attention: attention(node, id); return;
    default: break;
  }
  simple(node, id, spec);
}

void KernelList::view(const Node& node, bool strides) {
  ++pending_views_;
  if (node.inputs.empty() || node.inputs[0] == kNoValue) return;
  for (const ValueId out : node.outputs) {
    if (out != kNoValue) strided_[std::size_t(out)] = strides || is_strided(node.inputs[0]);
  }
}

void KernelList::transpose(const Node& node) {
  ++pending_views_;
  const auto perm = ints_attribute(node, "perm");
  const Dims& dims = value(node.inputs[0]).dims;
  // Moving dimensions of one element changes nothing.
  std::int64_t last = -1;
  bool moves = perm.empty() && dims.size() > 1;
  for (const std::int64_t axis : perm) {
    if (axis < 0 || std::size_t(axis) >= dims.size() || dims[std::size_t(axis)] == 1) continue;
    moves = moves || axis < last;
    last = axis;
  }
  // The heads of an attention's result already lie inside its tokens: putting them there is no move.
  if (heads_inside_[std::size_t(node.inputs[0])]) moves = false;
  // Swapping batch and token around nn.MultiheadAttention is undone before anything runs.
  if (!workload_.training && perm.size() == 3 && perm[0] == 1 && perm[1] == 0) {
    moves = false;
    swaps_tokens_ = true;
  }
  // To images and back: what lies channels last is dense once its channels are named last.
  const auto is_order = [&](const std::array<std::int64_t, 4>& order) {
    return std::equal(perm.begin(), perm.end(), order.begin(), order.end());
  };
  if (is_order({0, 3, 1, 2}) && !is_strided(node.inputs[0])) channels_last_[std::size_t(node.outputs[0])] = moves;
  if (is_order({0, 2, 3, 1}) && channels_last_[std::size_t(node.inputs[0])]) {
    strided_[std::size_t(node.outputs[0])] = false;
    return;
  }
  strided_[std::size_t(node.outputs[0])] = moves || is_strided(node.inputs[0]);
}

void KernelList::reshape(const Node& node, NodeId id) {
  ++pending_views_;
  if (!is_strided(node.inputs[0])) return;
  if (std::size_t(id) < undone_reshape_.size() && undone_reshape_[std::size_t(id)]) {
    strided_[std::size_t(node.outputs[0])] = true;
    return;
  }
  if (keeps_strides(value(node.inputs[0]).dims, value(node.outputs[0]).dims)) {
    strided_[std::size_t(node.outputs[0])] = true;
    return;
  }
  densify(node.inputs[0], id);
}

void KernelList::cast(const Node& node, NodeId id) {
  const Value& from = value(node.inputs[0]);
  const Value& to = value(node.outputs[0]);
  if (is_floating(from.dtype) && is_floating(to.dtype)) {  // the run's precision decides, not the file's
    view(node, false);
    return;
  }
  simple(node, id, spec_of(node.kind));
}

void KernelList::emit(const Block& block, const BlockLinks& links, const Match& match) {
  const Node& main = block.nodes[std::size_t(match.main)];
  const double size = match.input == kNoValue ? 0 : bytes(match.input);
  switch (match.fusion) {
    case Fusion::LayerNorm: {
      densify(match.input, match.main);
      Kernel kernel = make(KernelClass::LayerNorm, "layer_norm", match.main);
      norm_like(kernel, match, main);
      break;
    }
    case Fusion::GroupNorm: {
      Kernel kernel = make(KernelClass::LayerNorm, "group_norm", match.main);
      kernel.launches = 2;  // statistics, then the values
      kernel.read_bytes = size;
      norm_like(kernel, match, main);
      break;
    }
    case Fusion::Gelu:
    case Fusion::Silu: {
      Kernel kernel = make(KernelClass::Elementwise, match.fusion == Fusion::Gelu ? "gelu" : "silu", match.main);
      kernel.read_bytes = size;
      kernel.write_bytes = bytes(match.output);
      kernel.output_elements = kernel.flops = double(elements_of(value(match.output)));
      strided_[std::size_t(match.output)] = is_strided(match.input);
      push(kernel);
      break;
    }
    case Fusion::LinearBias: {
      densify(main.inputs[0], match.main);
      Kernel kernel = make(KernelClass::Linear, label_of(main), match.main);
      kernel.math = math_of(KernelClass::Linear, workload_.precision, value(main.inputs[0]).dtype);
      add_io(kernel, main);
      set_product(kernel, main);
      kernel.biased = true;
      push(kernel);
      break;
    }
    case Fusion::Attention: {
      Kernel kernel = make(KernelClass::Attention, "attention", match.main);
      const Node& last = block.nodes[std::size_t(match.nodes.back())];
      const Value& scores = value(main.outputs[0]);
      kernel.macs = double(main.cost.macs + last.cost.macs);
      kernel.flops = 2 * kernel.macs;
      kernel.read_bytes = bytes(main.inputs[0]) + bytes(main.inputs[1]) + bytes(last.inputs[1]);
      kernel.write_bytes = bytes(last.outputs[0]);
      kernel.output_elements = double(elements_of(value(last.outputs[0])));
      kernel.m = scores.dims.size() >= 2 ? double(scores.dims[scores.dims.size() - 2]) : 1;
      kernel.n = scores.dims.empty() ? 1 : double(scores.dims.back());
      kernel.batch = double(elements_of(scores)) / std::max(1.0, kernel.m * kernel.n);
      kernel.k = double(main.cost.macs) / std::max(1.0, double(elements_of(scores)));
      strided_[std::size_t(match.output)] = false;
      if (!workload_.training && attention_path(block, links, match) == AttentionPath::Unfused) {
        unfused_attention(match.main, kernel, 0, nullptr);
        break;
      }
      // nn.MultiheadAttention takes its short way only with an even number of heads; else it swaps, packs and adds the
      // bias by itself.
      const double images =
          block.inputs.empty() || value(block.inputs[0]).dims.empty() ? 1 : double(value(block.inputs[0]).dims[0]);
      if (!workload_.training && swaps_tokens_ && std::fmod(kernel.batch / std::max(1.0, images), 2) == 1) {
        const double tokens = kernel.batch * kernel.m * kernel.k, size = tokens * activation_bytes(workload_.precision);
        pass(KernelClass::Elementwise, "bias", match.main, 3 * tokens, 3 * size, 3 * size);
        for (const double share : {3.0, 1.0, 1.0, 1.0})
          pass(KernelClass::Copy, "contiguous", match.main, share * tokens, share * size, share * size);
      }
      kernel.serial_steps = attention_steps(kernel);
      heads_inside_[std::size_t(match.output)] = is_strided(main.inputs[0]);
      push(kernel);
      break;
    }
    case Fusion::PaddedPool: {
      const std::size_t before = kernels_.size();
      emit(main, match.main);
      if (kernels_.size() > before && size > 0 &&
          !value(match.input).dims.empty()) {  // it reads what is not padded yet
        kernels_.back().read_bytes = size;
        kernels_.back().inner = double(value(match.input).dims.back());
      }
      break;
    }
    case Fusion::None: break;
  }
}

void KernelList::norm_like(Kernel& kernel, const Match& match, const Node& main) {
  const Value& x = value(match.input);
  kernel.read_bytes += bytes(match.input);
  kernel.write_bytes = bytes(match.output);
  kernel.output_elements = kernel.flops = double(elements_of(value(match.output)));
  kernel.inner = x.dims.empty() ? 1 : double(x.dims.back());
  if (main.kind == OpKind::InstanceNormalization && !main.inputs.empty()) {
    const Value& grouped = value(main.inputs[0]);
    if (grouped.dims.size() >= 2)
      kernel.inner = double(elements_of(grouped)) / std::max(1.0, double(grouped.dims[0] * grouped.dims[1]));
  }
  push(kernel);
}

void KernelList::simple(const Node& node, NodeId id, const OpSpec& spec) {
  KernelClass kernel_class = KernelClass::Other;
  switch (spec.op_class) {
    case OpClass::Norm:
      kernel_class = node.kind == OpKind::BatchNormalization ? KernelClass::BatchNorm : KernelClass::LayerNorm;
      break;
    case OpClass::Softmax: kernel_class = KernelClass::Softmax; break;
    case OpClass::Elementwise: kernel_class = KernelClass::Elementwise; break;
    case OpClass::Pool: kernel_class = KernelClass::Pool; break;
    case OpClass::Reduce: kernel_class = KernelClass::Reduce; break;
    case OpClass::Embedding: kernel_class = KernelClass::Embedding; break;
    case OpClass::Copy: kernel_class = KernelClass::Copy; break;
    case OpClass::Recurrent: kernel_class = KernelClass::Recurrent; break;
    default: break;
  }
  if (node.kind == OpKind::GlobalAveragePool) kernel_class = KernelClass::Reduce;
  if (kernel_class == KernelClass::LayerNorm) densify(node.inputs[0], id);
  if (kernel_class == KernelClass::Elementwise && !node.outputs.empty() && node.outputs[0] != kNoValue) {
    channels_last_[std::size_t(node.outputs[0])] = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      return in != kNoValue && channels_last_[std::size_t(in)];
    });
  }
  Kernel kernel = make(kernel_class, label_of(node), id);
  add_io(kernel, node);
  kernel.macs = double(node.cost.macs);
  kernel.flops = double(node.cost.flops);
  if (spec.op_class == OpClass::Embedding && !node.inputs.empty() && node.inputs[0] != kNoValue) {
    const double whole = bytes(node.inputs[0]);
    const double used = std::min(whole, kernel.write_bytes);
    kernel.read_bytes += used - whole;
    if (value(node.inputs[0]).is_constant) kernel.weight_bytes += used - whole;
  }
  if (!node.inputs.empty() && node.inputs[0] != kNoValue) {
    const Value& x = value(node.inputs[0]);
    const double elements = double(elements_of(x));
    kernel.inner = kernel_class == KernelClass::Reduce        ? elements / std::max(1.0, kernel.output_elements)
                   : kernel_class == KernelClass::Elementwise ? 0
                   : x.dims.empty()                           ? 1
                                                              : double(x.dims.back());
    if (kernel_class == KernelClass::BatchNorm && x.dims.size() > 1) {
      kernel.inner = elements / std::max(1.0, double(x.dims[1]));
      if (workload_.training) in_training(kernel, workload_.precision);
    }
  }
  if (kernel_class == KernelClass::Pool) {
    double area = 1;
    for (const std::int64_t side : ints_attribute(node, "kernel_shape")) area *= double(side);
    kernel.kernel_area = area;
    const auto strides = ints_attribute(node, "strides");
    if (!strides.empty()) kernel.stride = double(strides.front());
  }
  const bool by_planes = kernel_class == KernelClass::Pool || kernel_class == KernelClass::BatchNorm;
  if (by_planes && !node.outputs.empty() && node.outputs[0] != kNoValue)
    kernel.spatial = plane_of(value(node.outputs[0]));
  if (kernel_class == KernelClass::Elementwise && node.outputs.size() == 1 && node.outputs[0] != kNoValue) {
    // The result of an element-wise operator keeps its operand's strides.
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && is_strided(input) && elements_of(value(input)) == elements_of(value(node.outputs[0]))) {
        strided_[std::size_t(node.outputs[0])] = true;
      }
    }
  }
  if (node.kind == OpKind::Resize || node.kind == OpKind::Upsample) {
    // PyTorch's bilinear kernel has one thread for each point of the plane, which walks over samples and channels.
    const Value& y = value(node.outputs[0]);
    const std::string_view mode = text_attribute(node, "mode", "nearest");
    if (mode == "linear" && y.dims.size() == 4) kernel.serial_steps = double(y.dims[0]) * double(y.dims[1]);
  }
  if (kernel_class == KernelClass::Recurrent && !node.inputs.empty()) {
    const Value& x = value(node.inputs[0]);
    kernel.launches = x.dims.empty() ? 1 : double(x.dims[0]) * 2;
  }
  push(kernel);
}

std::vector<Kernel> list_kernels(const Graph& graph, const Workload& workload, const CancelToken& cancel) {
  std::vector<Kernel> kernels;
  kernels.reserve(graph.main().nodes.size());
  KernelList(graph, workload, kernels, cancel).run(0);
  if (workload.training) {
    append_training(kernels, graph, workload);
    for (Kernel& kernel : kernels) kernel.in_step = true;
  } else if (workload.autocast || is_autocast(workload.precision))
    kernels = with_autocast(kernels);
  return kernels;
}

}  // namespace forerun
