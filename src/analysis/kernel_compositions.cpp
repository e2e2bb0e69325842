// Operators that Hugging Face's Python writes out as several kernels, and attention where PyTorch has no fused kernel
// for it.
#include <algorithm>

#include "analysis/kernel_list.hpp"

namespace forerun {

void KernelList::pass(KernelClass kernel_class, const char* label, NodeId id, double elements, double read_bytes,
                      double write_bytes, double inner) {
  Kernel kernel = make(kernel_class, label, id);
  kernel.host_ops = 0.6;  // one operator inside a module; the others' count holds their module's Python
  kernel.output_elements = kernel.flops = elements;
  kernel.read_bytes = read_bytes;
  kernel.write_bytes = write_bytes;
  kernel.inner = inner;
  push(kernel);
}

// float32 in, square, mean, epsilon, rsqrt, times x, back, times weight.
void KernelList::rms_norm(const Node& node, NodeId id) {
  const Value& x = value(node.inputs[0]);
  const double elements = double(elements_of(x));
  const double width = x.dims.empty() ? 1 : double(std::max<std::int64_t>(1, x.dims.back()));
  const double rows = elements / width;
  const double own = bytes(node.inputs[0]), wide = 4 * elements;
  const bool casts = own < wide;
  densify(node.inputs[0], id);
  if (casts) pass(KernelClass::Copy, "Cast", id, elements, own, wide);
  pass(KernelClass::Elementwise, "Pow", id, elements, wide, wide, width);
  pass(KernelClass::Reduce, "ReduceMean", id, rows, wide, 4 * rows, width);
  pass(KernelClass::Elementwise, "Add", id, rows, 4 * rows, 4 * rows);
  pass(KernelClass::Elementwise, "Sqrt", id, rows, 4 * rows, 4 * rows);
  pass(KernelClass::Elementwise, "Mul", id, elements, wide + 4 * rows, wide, width);
  if (casts) pass(KernelClass::Copy, "Cast", id, elements, wide, own);
  pass(KernelClass::Elementwise, "Mul", id, elements, own, own, width);
}

// x cos + rotate_half(x) sin: two products, a negation, a concatenation, a sum; on the rotated part of a head alone,
// joined again with the rest.
void KernelList::rotary(const Node& node, NodeId id) {
  const Value& x = value(node.inputs[0]);
  const double width = x.dims.empty() ? 1 : double(std::max<std::int64_t>(1, x.dims.back()));
  const double rotated = double(int_attribute(node, "rotary_embedding_dim", 0));
  const double share = rotated > 0 ? std::min(1.0, rotated / width) : 1.0;
  const double elements = double(elements_of(x)) * share, size = bytes(node.inputs[0]) * share;
  pass(KernelClass::Elementwise, "Mul", id, elements, size, size, width * share);
  pass(KernelClass::Elementwise, "Neg", id, elements / 2, size / 2, size / 2);
  pass(KernelClass::Copy, "Concat", id, elements, size, size, width * share);
  pass(KernelClass::Elementwise, "Mul", id, elements, size, size, width * share);
  pass(KernelClass::Elementwise, "Add", id, elements, 2 * size, size, width * share);
  const bool partial = share < 1;
  if (partial)
    pass(KernelClass::Copy, "Concat", id, double(elements_of(x)), bytes(node.inputs[0]), bytes(node.inputs[0]), width);
  strided_[std::size_t(node.outputs[0])] = !partial && is_strided(node.inputs[0]);
}

// PyTorch has no fused kernel for float32 with fewer heads of keys than of queries, nor for a bias by head (T5). Inside
// a CUDA graph Hugging Face's code cannot see that a mask hides nothing: it keeps the mask. An encoder's mask then
// leads away from the fused kernels, and a decoder's makes it repeat keys and values itself.
AttentionPath attention_path(const Graph& graph, const Node& node, const Workload& workload) {
  if (graph.origin.form != GraphForm::WrittenOut || workload.fused_engine || node.inputs.size() < 3 ||
      std::find(node.inputs.begin(), node.inputs.begin() + 3, kNoValue) != node.inputs.begin() + 3)
    return AttentionPath::Fused;
  const Dims& q = graph.values[std::size_t(node.inputs[0])].dims;
  const Dims& k = graph.values[std::size_t(node.inputs[1])].dims;
  if (q.size() != 4 || k.size() != 4) return AttentionPath::Fused;
  const bool captured = workload.runtime == Runtime::Graph && !workload.training;
  const bool causal = int_attribute(node, "is_causal", 0) != 0 || int_attribute(node, "past", 0) > 0;
  if (k[1] < q[1]) {
    if (captured && causal) return AttentionPath::Repeated;
    return activation_bytes(workload.precision) == 4 ? AttentionPath::UnfusedRepeated : AttentionPath::Fused;
  }
  const Dims* bias =
      node.inputs.size() > 3 && node.inputs[3] != kNoValue ? &graph.values[std::size_t(node.inputs[3])].dims : nullptr;
  if (bias != nullptr && bias->size() == 4 && (*bias)[1] > 1) return AttentionPath::Unfused;
  const bool encoder = !causal && q[2] > 1 && q[2] == k[2];
  return captured && encoder ? AttentionPath::Unfused : AttentionPath::Fused;
}

void KernelList::repeat_keys(const Node& node, NodeId id, const Kernel& fused) {
  if (value(node.inputs[1]).dims[1] == 1) return;  // one head seen as many needs no copy
  const double repeated = activation_bytes(workload_.precision) * fused.batch * fused.n * fused.k;
  for (const std::size_t input : {1, 2})
    pass(KernelClass::Copy, "contiguous", id, fused.batch * fused.n * fused.k, bytes(node.inputs[input]), repeated);
}

// Converts a boolean mask to an additive one.
void KernelList::explicit_mask(NodeId id, double elements) {
  for (int fill = 0; fill < 2; ++fill) pass(KernelClass::Elementwise, "Expand", id, 1, 0, 4);
  pass(KernelClass::Elementwise, "Where", id, elements, elements, activation_bytes(workload_.precision) * elements);
}

// In float32: scaled operands made contiguous, two batched products around a softmax that is guarded against rows of
// -inf. `mask`: elements that are added to the scores of every head; `repeated`: the node whose keys and values serve
// several heads.
void KernelList::unfused_attention(NodeId id, const Kernel& fused, double mask, const Node* repeated) {
  const double own = activation_bytes(workload_.precision);
  const double query_elements = fused.batch * fused.m * fused.k, key_elements = fused.batch * fused.n * fused.k,
               scores = fused.batch * fused.m * fused.n;
  const double queries = 4 * query_elements, keys = 4 * key_elements;
  const auto copy = [&](const char* label, double elements, double from, double to) {
    pass(KernelClass::Copy, label, id, elements, from * elements, to * elements);
  };
  if (own < 4) {
    copy("Cast", query_elements, own, 4);
    for (int operand = 0; operand < 2; ++operand) copy("Cast", key_elements, own, 4);
  }
  pass(KernelClass::Elementwise, "Mul", id, query_elements, queries, queries);
  if (repeated != nullptr) {
    repeat_keys(*repeated, id, fused);
  } else {
    copy("contiguous", query_elements, 4, 4);
    copy("contiguous", key_elements, 4, 4);
  }
  pass(KernelClass::Elementwise, "Mul", id, key_elements, keys, keys);
  Kernel product = make(KernelClass::BatchedMatMul, "MatMul", id);
  product.math = math_of(KernelClass::BatchedMatMul, Precision::Fp32, DType::Float32);
  product.macs = fused.macs / 2;
  product.flops = fused.flops / 2;
  product.batch = fused.batch;
  product.m = fused.m;
  product.n = fused.n;
  product.k = fused.k;
  product.read_bytes = queries + keys;
  product.write_bytes = 4 * scores;
  product.output_elements = scores;
  push(product);
  if (mask > 0) pass(KernelClass::Elementwise, "Add", id, scores, 4 * scores + own * mask, 4 * scores, fused.n);
  pass(KernelClass::Softmax, "Softmax", id, scores, 4 * scores, 4 * scores, fused.n);
  pass(KernelClass::Elementwise, "IsInf", id, scores, 4 * scores, scores);
  pass(KernelClass::Reduce, "ReduceMin", id, fused.batch * fused.m, scores, fused.batch * fused.m, fused.n);
  pass(KernelClass::Elementwise, "Where", id, scores, 4 * scores, 4 * scores, fused.n);
  if (own < 4) copy("Cast", scores, 4, own);
  if (repeated == nullptr) copy("contiguous", key_elements, 4, 4);
  std::swap(product.n, product.k);
  product.read_bytes = 4 * scores + keys;
  product.write_bytes = queries;
  product.output_elements = fused.output_elements;
  push(product);
  if (own < 4) copy("Cast", query_elements, 4, own);
}

}  // namespace forerun
