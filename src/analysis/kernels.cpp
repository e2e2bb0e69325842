#include "analysis/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/kernel_builder.hpp"

namespace forerun {

std::string_view name_of(KernelClass kernel_class) {
  constexpr std::array<std::string_view, std::size_t(KernelClass::Count)> kNames = {
      "conv",       "depthwise_conv", "conv_transpose", "linear",    "batched_matmul", "attention", "experts", "recurrent", "batch_norm",
      "layer_norm", "softmax",        "elementwise",    "pool",      "reduce",         "embedding", "copy",    "optimizer", "other"};
  return kNames[std::size_t(kernel_class)];
}

double activation_bytes(Precision precision) {
  switch (precision) {
    case Precision::IeeeFp32:
    case Precision::Fp32:
    case Precision::Tf32: return 4;
    default: return 2;  // reduced precisions keep activations in 16 bits
  }
}

Math math_of(KernelClass kernel_class, Precision precision, DType weight) {
  const bool conv = kernel_class == KernelClass::Conv || kernel_class == KernelClass::ConvTranspose;
  const bool product = conv || kernel_class == KernelClass::Linear || kernel_class == KernelClass::BatchedMatMul ||
                       kernel_class == KernelClass::Attention || kernel_class == KernelClass::Experts ||
                       kernel_class == KernelClass::Recurrent;
  if (weight == DType::Float64) return Math::Fp64;
  switch (precision) {
    case Precision::IeeeFp32: return Math::Fp32;
    case Precision::Fp32: return conv ? Math::Tf32Tensor : Math::Fp32;
    case Precision::Tf32: return product ? Math::Tf32Tensor : Math::Fp32;
    case Precision::Fp16: return product ? Math::Fp16Tensor : Math::Fp16;
    case Precision::Bf16:
    case Precision::AmpBf16: return product ? Math::Bf16Tensor : Math::Bf16;
    case Precision::Fp8: return product && kernel_class != KernelClass::Attention ? Math::Fp8Tensor : product ? Math::Bf16Tensor : Math::Bf16;
    case Precision::Int8: return product && kernel_class != KernelClass::Attention ? Math::Int8Tensor : product ? Math::Fp16Tensor : Math::Fp16;
    case Precision::Int4: return product ? Math::Fp16Tensor : Math::Fp16;  // 4-bit weights are unpacked to 16 bits
    case Precision::Count: break;
  }
  return Math::Fp32;
}

namespace {

class Builder {
 public:
  Builder(const Graph& graph, const Workload& workload, std::vector<Kernel>& kernels)
      : graph_(graph), workload_(workload), kernels_(kernels), strided_(graph.values.size(), false) {}

  void run(std::int32_t index) {
    const Block& block = graph_.blocks[std::size_t(index)];
    if (block.runs <= 0) return;
    const BlockLinks links(graph_, block);
    std::vector<std::int32_t> group(block.nodes.size(), -1);
    const std::vector<Match> matches = match_fusions(graph_, block, links);
    for (std::size_t m = 0; m < matches.size(); ++m) {
      for (const NodeId id : matches[m].nodes) group[std::size_t(id)] = std::int32_t(m);
    }
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      block_ = index;
      runs_ = double(block.runs);
      links_ = &links;
      const Node& node = block.nodes[i];
      if (group[i] < 0) {
        emit(node, NodeId(i));
      } else if (matches[std::size_t(group[i])].nodes.back() == NodeId(i)) {
        emit(block, matches[std::size_t(group[i])]);
      }
      for (const auto& [name, body] : node.blocks) run(body);
    }
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }

  // Bytes of a value in the precision it runs in.
  double bytes(ValueId id) const {
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
        default: break;
      }
    }
    return elements * activation_bytes(workload_.precision);
  }

  Kernel make(KernelClass kernel_class, const char* label, NodeId id) const {
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

  void push(Kernel kernel) {
    pending_views_ = 0;
    if (kernel.read_bytes + kernel.write_bytes + kernel.flops <= 0) return;
    kernels_.push_back(std::move(kernel));
  }

  void add_io(Kernel& kernel, const Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || value(id).literal || value(id).form != ValueForm::Tensor) continue;
      if (std::find(node.inputs.begin(), node.inputs.begin() + std::ptrdiff_t(i), id) != node.inputs.begin() + std::ptrdiff_t(i)) continue;
      kernel.read_bytes += bytes(id);
      if (value(id).is_constant) kernel.weight_bytes += bytes(id);
    }
    for (const ValueId id : node.outputs) {
      if (id != kNoValue && value(id).form == ValueForm::Tensor) kernel.write_bytes += bytes(id);
    }
    if (!node.outputs.empty() && node.outputs[0] != kNoValue) kernel.output_elements = double(elements_of(value(node.outputs[0])));
  }

  bool is_strided(ValueId id) const { return id != kNoValue && strided_[std::size_t(id)]; }

  // A strided operand that the next operator needs dense: PyTorch copies it first.
  void densify(ValueId id, NodeId at) {
    if (!is_strided(id) || value(id).is_constant) return;
    Kernel copy = make(KernelClass::Copy, "contiguous", at);
    copy.read_bytes = copy.write_bytes = bytes(id);
    copy.output_elements = double(elements_of(value(id)));
    push(std::move(copy));
  }

  void emit(const Node& node, NodeId id) {
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
        if (!workload_.training) { view(node, false); return; }
        break;
      case OpKind::Cast: cast(node, id); return;
      default: break;
    }
    switch (spec.op_class) {
      case OpClass::Free: view(node, false); return;
      case OpClass::Conv: conv(node, id); return;
      case OpClass::MatMul: product(node, id); return;
      case OpClass::Attention: attention(node, id); return;
      default: break;
    }
    simple(node, id, spec);
  }

  void view(const Node& node, bool strides) {
    ++pending_views_;
    if (node.inputs.empty() || node.inputs[0] == kNoValue) return;
    for (const ValueId out : node.outputs) {
      if (out != kNoValue) strided_[std::size_t(out)] = strides || is_strided(node.inputs[0]);
    }
  }

  void transpose(const Node& node) {
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
    strided_[std::size_t(node.outputs[0])] = moves || is_strided(node.inputs[0]);
  }

  void reshape(const Node& node, NodeId id) {
    ++pending_views_;
    if (!is_strided(node.inputs[0])) return;
    // Adding or dropping dimensions of one element keeps the strides; merging strided ones copies.
    const auto real = [](const Dims& dims) {
      Dims result;
      std::copy_if(dims.begin(), dims.end(), std::back_inserter(result), [](std::int64_t d) { return d != 1; });
      return result;
    };
    if (real(value(node.inputs[0]).dims) == real(value(node.outputs[0]).dims)) {
      strided_[std::size_t(node.outputs[0])] = true;
      return;
    }
    densify(node.inputs[0], id);
  }

  void cast(const Node& node, NodeId id) {
    const Value& from = value(node.inputs[0]);
    const Value& to = value(node.outputs[0]);
    if (is_floating(from.dtype) && is_floating(to.dtype)) {  // the run's precision decides, not the file's
      view(node, false);
      return;
    }
    simple(node, id, spec_of(node.kind));
  }

  static const char* label_of(const Node& node) { return node.op_type.c_str(); }

  void conv(const Node& node, NodeId id) {
    const std::size_t weight_at = node.kind == OpKind::QLinearConv ? 3 : 1;
    if (node.inputs.size() <= weight_at || node.inputs[weight_at] == kNoValue) return;
    const Value& weight = value(node.inputs[weight_at]);
    const Value& x = value(node.inputs[0]);
    const Value& y = value(node.outputs[0]);
    if (weight.dims.size() < 3 || x.dims.size() < 3 || y.dims.size() < 3) return;
    densify(node.inputs[0], id);
    const bool transposed = node.kind == OpKind::ConvTranspose;
    const double groups = double(std::max<std::int64_t>(1, int_attribute(node, "group", 1)));
    const double area = double(checked_tail(weight.dims));
    const double cin = double(x.dims[1]);
    const double cout = double(y.dims[1]);
    KernelClass kernel_class = transposed ? KernelClass::ConvTranspose : KernelClass::Conv;
    if (groups > 1 && groups == cin && !transposed) kernel_class = KernelClass::DepthwiseConv;
    Kernel kernel = make(kernel_class, label_of(node), id);
    kernel.math = math_of(kernel_class, workload_.precision, x.dtype);
    if (kernel_class == KernelClass::DepthwiseConv && workload_.precision == Precision::Fp32) kernel.math = Math::Fp32;
    kernel.macs = double(node.cost.macs);
    kernel.flops = 2 * kernel.macs;
    kernel.read_bytes = bytes(node.inputs[0]) + bytes(node.inputs[weight_at]);
    kernel.weight_bytes = bytes(node.inputs[weight_at]);
    kernel.write_bytes = bytes(node.outputs[0]);
    kernel.output_elements = double(elements_of(y));
    kernel.groups = groups;
    kernel.batch = groups;
    kernel.input_channels = cin;
    kernel.output_channels = cout;
    kernel.kernel_area = area;
    kernel.spatial = double(elements_of(y)) / std::max(1.0, double(y.dims[0]) * cout);
    const auto strides = ints_attribute(node, "strides");
    kernel.stride = strides.empty() ? 1 : double(strides.front());
    if (transposed) {
      kernel.m = double(elements_of(x)) / std::max(1.0, cin);
      kernel.n = cout / groups * area;
      kernel.k = cin / groups;
    } else {
      kernel.m = double(y.dims[0]) * kernel.spatial;
      kernel.n = cout / groups;
      kernel.k = cin / groups * area;
    }
    push(kernel);
    const bool folded = is_folded(node.inputs[weight_at]);
    const bool bias = node.inputs.size() > weight_at + 1 && node.inputs[weight_at + 1] != kNoValue && node.kind != OpKind::QLinearConv;
    if (folded) {
      after_conv(KernelClass::BatchNorm, "batch_norm", node, id);
    } else if (bias) {
      after_conv(KernelClass::Elementwise, "bias", node, id);
    }
  }

  static std::int64_t checked_tail(const Dims& dims) {
    std::int64_t area = 1;
    for (std::size_t i = 2; i < dims.size(); ++i) area *= std::max<std::int64_t>(1, dims[i]);
    return area;
  }

  // PyTorch's exporter folds a batch norm into the convolution before it and renames the weight; what runs is not folded.
  bool is_folded(ValueId weight) const {
    return graph_.producer.find("pytorch") != std::string::npos && value(weight).name.starts_with("onnx::Conv");
  }

  void after_conv(KernelClass kernel_class, const char* label, const Node& node, NodeId id) {
    Kernel kernel = make(kernel_class, label, id);
    const Value& y = value(node.outputs[0]);
    kernel.output_elements = double(elements_of(y));
    kernel.flops = kernel.output_elements * (kernel_class == KernelClass::BatchNorm ? 2 : 1);
    kernel.read_bytes = kernel.write_bytes = bytes(node.outputs[0]);
    kernel.inner = kernel.output_elements / std::max(1.0, double(y.dims[1]));
    if (kernel_class == KernelClass::BatchNorm && workload_.training) {
      kernel.read_bytes *= 2;  // statistics first, then the values
    }
    push(kernel);
  }

  void product(const Node& node, NodeId id) {
    if (node.kind == OpKind::MoeExperts) { experts(node, id); return; }
    const std::size_t right_at = node.kind == OpKind::QLinearMatMul || node.kind == OpKind::QGemm ? 3 : 1;
    if (node.inputs.size() <= right_at || node.inputs[right_at] == kNoValue || node.outputs.empty()) {
      simple(node, id, spec_of(node.kind));
      return;
    }
    const Value& a = value(node.inputs[0]);
    const Value& b = value(node.inputs[right_at]);
    const bool linear = b.is_constant && b.dims.size() <= 2;
    // A batched product reads operands that are transposed in their last two dimensions as they are.
    if (linear) {
      densify(node.inputs[0], id);
    } else {
      for (const ValueId operand : {node.inputs[0], node.inputs[right_at]}) {
        if (value(operand).dims.size() > 3) densify(operand, id);
      }
    }
    Kernel kernel = make(linear ? KernelClass::Linear : KernelClass::BatchedMatMul, label_of(node), id);
    kernel.math = math_of(kernel.kernel_class, workload_.precision, a.dtype);
    add_io(kernel, node);
    set_product(kernel, node);
    push(kernel);
  }

  void set_product(Kernel& kernel, const Node& node) const {
    const Value& y = value(node.outputs[0]);
    kernel.macs = double(node.cost.macs);
    kernel.flops = 2 * kernel.macs;
    const double elements = std::max(1.0, double(elements_of(y)));
    kernel.k = kernel.macs / elements;
    kernel.n = y.dims.empty() ? 1 : double(y.dims.back());
    if (kernel.kernel_class == KernelClass::Linear) {
      kernel.m = elements / std::max(1.0, kernel.n);
    } else {
      kernel.m = y.dims.size() >= 2 ? double(y.dims[y.dims.size() - 2]) : 1;
      kernel.batch = elements / std::max(1.0, kernel.m * kernel.n);
    }
  }

  void experts(const Node& node, NodeId id) {
    Kernel kernel = make(KernelClass::Experts, label_of(node), id);
    const double total = double(std::max<std::int64_t>(1, int_attribute(node, "num_experts", 1)));
    const double touched = std::clamp(real_attribute(node, "experts_touched", total), 1.0, total);
    kernel.macs = double(node.cost.macs);
    kernel.flops = 2 * kernel.macs;
    for (const ValueId input : node.inputs) {
      if (input == kNoValue) continue;
      const double size = bytes(input) * (value(input).is_constant ? touched / total : 1.0);
      kernel.read_bytes += size;
      if (value(input).is_constant) kernel.weight_bytes += size;
    }
    kernel.write_bytes = bytes(node.outputs[0]);
    const Value& x = value(node.inputs[0]);
    const double tokens = double(elements_of(x)) / std::max<double>(1, x.dims.empty() ? 1 : double(x.dims.back()));
    const double rows = tokens * double(std::max<std::int64_t>(1, int_attribute(node, "top_k", 1)));
    kernel.output_elements = double(elements_of(x));
    kernel.batch = touched;
    kernel.m = rows / touched;
    if (node.inputs.size() > 1 && node.inputs[1] != kNoValue && value(node.inputs[1]).dims.size() == 3) {
      kernel.k = double(value(node.inputs[1]).dims[1]);
      kernel.n = double(value(node.inputs[1]).dims[2]) * 1.5;
    }
    // PyTorch's own loop over experts launches a handful of kernels for each expert that has tokens.
    kernel.launches = 6 * touched;
    kernel.host_ops = 9 * touched;
    push(kernel);
  }

  void attention(const Node& node, NodeId id) {
    Kernel kernel = make(KernelClass::Attention, "attention", id);
    add_io(kernel, node);
    kernel.macs = double(node.cost.macs);
    kernel.flops = 2 * kernel.macs;
    kernel.causal = int_attribute(node, "is_causal", 0) != 0 || int_attribute(node, "unidirectional", 0) != 0;
    const Value& q = value(node.inputs[0]);
    const Value& y = value(node.outputs[0]);
    if (q.dims.size() == 4 && node.inputs.size() > 1 && node.inputs[1] != kNoValue) {
      const Value& k = value(node.inputs[1]);
      kernel.batch = double(q.dims[0] * q.dims[1]);
      kernel.m = double(q.dims[2]);
      kernel.k = double(q.dims[3]);
      kernel.n = k.dims.size() == 4 ? double(k.dims[2]) : kernel.m;
      if (kernel.macs > 0) kernel.n = kernel.macs / std::max(1.0, kernel.batch * kernel.m * 2 * kernel.k);
    } else {
      kernel.batch = y.dims.empty() ? 1 : double(y.dims[0]);
      kernel.m = y.dims.size() > 1 ? double(y.dims[1]) : 1;
      kernel.k = y.dims.empty() ? 1 : double(y.dims.back());
      kernel.n = kernel.m;
    }
    push(kernel);
  }

  void emit(const Block& block, const Match& match) {
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
      case Fusion::Silu:
      case Fusion::HardSwish: {
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
        push(kernel);
        break;
      }
      case Fusion::RmsNorm:
      case Fusion::None: break;
    }
  }

  void norm_like(Kernel& kernel, const Match& match, const Node& main) {
    const Value& x = value(match.input);
    kernel.read_bytes += bytes(match.input);
    kernel.write_bytes = bytes(match.output);
    kernel.output_elements = kernel.flops = double(elements_of(value(match.output)));
    kernel.inner = x.dims.empty() ? 1 : double(x.dims.back());
    if (main.kind == OpKind::InstanceNormalization && !main.inputs.empty()) {
      const Value& grouped = value(main.inputs[0]);
      if (grouped.dims.size() >= 2) kernel.inner = double(elements_of(grouped)) / std::max(1.0, double(grouped.dims[0] * grouped.dims[1]));
    }
    push(kernel);
  }

  void simple(const Node& node, NodeId id, const OpSpec& spec) {
    KernelClass kernel_class = KernelClass::Other;
    switch (spec.op_class) {
      case OpClass::Norm: kernel_class = node.kind == OpKind::BatchNormalization ? KernelClass::BatchNorm : KernelClass::LayerNorm; break;
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
      kernel.inner = kernel_class == KernelClass::Reduce ? elements / std::max(1.0, kernel.output_elements)
                     : x.dims.empty()                    ? 1
                                                         : double(x.dims.back());
      if (kernel_class == KernelClass::BatchNorm && x.dims.size() > 1) {
        kernel.inner = elements / std::max(1.0, double(x.dims[1]));
        if (workload_.training) kernel.read_bytes += bytes(node.inputs[0]);
      }
    }
    if (kernel_class == KernelClass::Pool) {
      double area = 1;
      for (const std::int64_t side : ints_attribute(node, "kernel_shape")) area *= double(side);
      kernel.kernel_area = area;
    }
    if (kernel_class == KernelClass::Elementwise && node.outputs.size() == 1 && node.outputs[0] != kNoValue) {
      // The result of an element-wise operator keeps its operand's strides.
      for (const ValueId input : node.inputs) {
        if (input != kNoValue && is_strided(input) && elements_of(value(input)) == elements_of(value(node.outputs[0]))) {
          strided_[std::size_t(node.outputs[0])] = true;
        }
      }
    }
    if (node.kind == OpKind::RotaryEmbedding) kernel.launches = kernel.host_ops = 5;
    if (kernel_class == KernelClass::Recurrent && !node.inputs.empty()) {
      const Value& x = value(node.inputs[0]);
      kernel.launches = x.dims.empty() ? 1 : double(x.dims[0]) * 2;
    }
    push(kernel);
  }

  const Graph& graph_;
  const Workload& workload_;
  std::vector<Kernel>& kernels_;
  std::vector<bool> strided_;
  const BlockLinks* links_ = nullptr;
  std::int32_t block_ = 0;
  double runs_ = 1;
  double pending_views_ = 0;
};

}  // namespace

std::vector<Kernel> list_kernels(const Graph& graph, const Workload& workload) {
  std::vector<Kernel> kernels;
  kernels.reserve(graph.main().nodes.size());
  Builder(graph, workload, kernels).run(0);
  if (workload.training) append_training(kernels, graph, workload);
  return kernels;
}

}  // namespace forerun
