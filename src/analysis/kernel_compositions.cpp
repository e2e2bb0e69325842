// Operators that Hugging Face's Python writes out as several kernels, and attention where PyTorch has no fused kernel for it.
#include <algorithm>

#include "analysis/kernel_list.hpp"

namespace forerun {

void KernelList::pass(KernelClass kernel_class, const char* label, NodeId id, double elements, double read_bytes, double write_bytes, double inner) {
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

// x cos + rotate_half(x) sin: two products, a negation, a concatenation, a sum; on the rotated part of a head alone, joined again with the rest.
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
  if (partial) pass(KernelClass::Copy, "Concat", id, double(elements_of(x)), bytes(node.inputs[0]), bytes(node.inputs[0]), width);
  strided_[std::size_t(node.outputs[0])] = !partial && is_strided(node.inputs[0]);
}

// Keys and values repeated for every head, scaled operands, two batched products around a softmax that is guarded against rows of -inf.
void KernelList::unfused_attention(const Node& node, NodeId id, const Kernel& fused) {
  const double queries = bytes(node.inputs[0]), scores = fused.batch * fused.m * fused.n, keys = 4 * fused.batch * fused.n * fused.k;
  const bool masked = fused.causal && fused.m > 1;
  pass(KernelClass::Elementwise, "Mul", id, queries / 4, queries, queries);
  if (masked) {
    const double mask = fused.m * fused.n;
    pass(KernelClass::Copy, "Expand", id, mask, 0, mask);
    pass(KernelClass::Elementwise, "Trilu", id, mask, mask, mask);
    pass(KernelClass::Elementwise, "Where", id, mask, mask, 4 * mask);
  }
  for (int repeat = 0; repeat < 2; ++repeat) pass(KernelClass::Copy, "contiguous", id, keys / 4, bytes(node.inputs[1]), keys);
  pass(KernelClass::Elementwise, "Mul", id, keys / 4, keys, keys);
  Kernel product = make(KernelClass::BatchedMatMul, "MatMul", id);
  product.math = math_of(KernelClass::BatchedMatMul, workload_.precision, DType::Float32);
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
  if (masked) pass(KernelClass::Elementwise, "Add", id, scores, 4 * scores, 4 * scores, fused.n);
  pass(KernelClass::Softmax, "Softmax", id, scores, 4 * scores, 4 * scores, fused.n);
  pass(KernelClass::Elementwise, "IsInf", id, scores, 4 * scores, scores);
  pass(KernelClass::Reduce, "ReduceMin", id, fused.batch * fused.m, scores, fused.batch * fused.m, fused.n);
  pass(KernelClass::Elementwise, "Where", id, scores, 4 * scores, 4 * scores, fused.n);
  std::swap(product.n, product.k);
  product.read_bytes = 4 * scores + keys;
  product.write_bytes = bytes(node.outputs[0]);
  product.output_elements = fused.output_elements;
  push(product);
}

}  // namespace forerun
