// Kernels that multiply: convolutions, matrix products, experts, attention.
#include <algorithm>

#include "analysis/kernel_list.hpp"
#include "base/checked.hpp"

namespace forerun {

void KernelList::conv(const Node& node, NodeId id) {
  const std::size_t weight_at = node.kind == OpKind::QLinearConv ? 3 : 1;
  if (node.inputs.size() <= weight_at || node.inputs[weight_at] == kNoValue) return;
  const Value& weight = value(node.inputs[weight_at]);
  const Value& x = value(node.inputs[0]);
  const Value& y = value(node.outputs[0]);
  if (weight.dims.size() < 3 || x.dims.size() < 3 || y.dims.size() < 3) return;
  const bool transposed = node.kind == OpKind::ConvTranspose;
  const bool channels_last = channels_last_[std::size_t(node.inputs[0])] && !transposed;
  channels_last_[std::size_t(node.outputs[0])] = channels_last;
  if (!channels_last) densify(node.inputs[0], id);
  const double groups = double(std::max<std::int64_t>(1, int_attribute(node, "group", 1)));
  const double area = double(checked_product(std::span(weight.dims).subspan(2)));
  const double cin = double(x.dims[1]);
  const double cout = double(y.dims[1]);
  KernelClass kernel_class = transposed ? KernelClass::ConvTranspose : KernelClass::Conv;
  if (groups > 1 && groups == cin && !transposed) kernel_class = KernelClass::DepthwiseConv;
  Kernel kernel = make(kernel_class, channels_last ? kChannelsLastConv : label_of(node), id);
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
  kernel.spatial = plane_of(y);
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
  const bool folded = is_folded_batch_norm(graph_, node);
  kernel.biased = !folded && node.inputs.size() > weight_at + 1 && node.inputs[weight_at + 1] != kNoValue &&
                  node.kind != OpKind::QLinearConv;
  push(kernel);
  if (folded) {
    after_conv(KernelClass::BatchNorm, "batch_norm", node, id);
  } else if (kernel.biased) {
    after_conv(KernelClass::Elementwise, "bias", node, id);
  }
}

void KernelList::after_conv(KernelClass kernel_class, const char* label, const Node& node, NodeId id) {
  Kernel kernel = make(kernel_class, label, id);
  const Value& y = value(node.outputs[0]);
  kernel.output_elements = double(elements_of(y));
  kernel.flops = kernel.output_elements;
  kernel.read_bytes = kernel.write_bytes = bytes(node.outputs[0]);
  kernel.inner = kernel.output_elements / std::max(1.0, double(y.dims[1]));
  kernel.spatial = plane_of(y);
  if (kernel_class == KernelClass::BatchNorm) {
    if (workload_.training) in_training(kernel, workload_.precision);
    kernel.weight_bytes =
        4 * double(y.dims[1]) * activation_bytes(workload_.precision);  // scale, shift, mean and variance
    kernel.read_bytes += kernel.weight_bytes;
  }
  push(kernel);
}

void KernelList::product(const Node& node, NodeId id) {
  if (node.kind == OpKind::MoeExperts) {
    experts(node, id);
    return;
  }
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
  kernel.biased = linear && node.kind == OpKind::Gemm && node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  push(kernel);
}

void KernelList::set_product(Kernel& kernel, const Node& node) const {
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

void KernelList::experts(const Node& node, NodeId id) {
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
  // Grouped products: sort the tokens, two products over all experts at once, activation, sum.
  kernel.launches = 6;
  kernel.host_ops = 9;
  push(kernel);
}

void KernelList::attention(const Node& node, NodeId id) {
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
  const AttentionPath path = attention_path(graph_, node, workload_);
  if (path == AttentionPath::Unfused || path == AttentionPath::UnfusedRepeated) {
    const bool biased = node.inputs.size() > 3 && node.inputs[3] != kNoValue;
    const bool causal = kernel.causal && kernel.m > 1;
    double mask = 0;
    if (biased) {
      mask = double(elements_of(value(node.inputs[3])));
    } else if (causal) {
      mask = kernel.m * kernel.n;
      pass(KernelClass::Copy, "Expand", id, mask, 0, mask);
      pass(KernelClass::Elementwise, "Trilu", id, mask, mask, mask);
      pass(KernelClass::Elementwise, "Where", id, mask, mask, 4 * mask);
    } else if (captured_) {
      mask = double(q.dims[0]) * kernel.m * kernel.n;
      explicit_mask(id, mask);
    }
    return unfused_attention(id, kernel, mask, path == AttentionPath::UnfusedRepeated ? &node : nullptr);
  }
  if (path == AttentionPath::Repeated) {
    repeat_keys(node, id, kernel);
    const double repeated = 2 * activation_bytes(workload_.precision) * kernel.batch * kernel.n * kernel.k;
    kernel.read_bytes += repeated - bytes(node.inputs[1]) - bytes(node.inputs[2]);
  }
  if (captured_ && q.dims.size() == 4 && (kernel.causal || int_attribute(node, "past", 0) > 0)) {
    const double mask = double(q.dims[0]) * kernel.m * kernel.n;
    explicit_mask(id, mask);
    kernel.read_bytes += mask * activation_bytes(workload_.precision);
    kernel.causal = false;  // no part of the scores is skipped any more
  }
  kernel.serial_steps = attention_steps(kernel);
  if (q.dims.size() == 4) heads_inside_[std::size_t(node.outputs[0])] = is_strided(node.inputs[0]);
  push(kernel);
}

}  // namespace forerun
