// Matrix products and convolutions.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

// A product with a stored [out, in] matrix, as exporters write it: Gemm for matrices, MatMul and Add for the rest.
ValueId product_with(Call& c, ValueId x, ValueId weight, ValueId bias) {
  const std::size_t rank = c.rank(x);
  if (c.rank(weight) == 1) {  // one output: a dot product
    const ValueId y = c.node(OpKind::MatMul, {x, weight});
    return bias == kNoValue ? y : c.node(OpKind::Add, {y, bias});
  }
  if (rank == 2 && bias != kNoValue) return c.node(OpKind::Gemm, {x, weight, bias}, {{"transB", std::int64_t{1}}});
  const ValueId y = c.node(OpKind::MatMul, {x, c.turned(weight)});
  return bias == kNoValue ? y : c.node(OpKind::Add, {y, bias});
}

std::vector<std::int64_t> pads_of(Call& c, std::size_t dimensions) {
  std::vector<std::int64_t> pads = c.integers("padding", dimensions, 0);
  pads.insert(pads.end(), pads.begin(), pads.end());
  return pads;
}

// The whole of a convolution's arguments, whatever the operator is called.
struct Convolution {
  ValueId x, weight, bias;
  std::size_t dimensions;
  bool transposed;
};

void convolve(Call& c, const Convolution& conv) {
  if (c.failed()) return;
  const std::size_t rank = conv.dimensions + 2;
  const bool unbatched = c.rank(conv.x) + 1 == rank;
  if (!unbatched && c.rank(conv.x) != rank) return c.fail("the input has another rank than the weight");
  std::vector<Attribute> attributes;
  const std::string same = c.text("padding", "");
  if (same == "same") {
    attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
  } else {
    attributes.push_back(
        {"pads", same == "valid" ? std::vector<std::int64_t>(2 * conv.dimensions, 0) : pads_of(c, conv.dimensions)});
  }
  const Dims kernel(c.dims(conv.weight).begin() + 2, c.dims(conv.weight).end());
  attributes.push_back({"kernel_shape", kernel});
  attributes.push_back({"strides", c.integers("stride", conv.dimensions, 1)});
  attributes.push_back({"dilations", c.integers("dilation", conv.dimensions, 1)});
  attributes.push_back({"group", c.integer("groups", 1)});
  if (conv.transposed) attributes.push_back({"output_padding", c.integers("output_padding", conv.dimensions, 0)});
  if (c.failed()) return;
  std::vector<ValueId> inputs = {unbatched ? c.unsqueeze(conv.x, {0}) : conv.x, conv.weight};
  if (conv.bias != kNoValue) inputs.push_back(conv.bias);
  const ValueId y = c.node(conv.transposed ? OpKind::ConvTranspose : OpKind::Conv, std::move(inputs), attributes);
  c.give(unbatched ? c.squeeze(y, {0}) : y);
}

}  // namespace

void linear(Call& c) {
  const ValueId x = c.tensor("input"), weight = c.tensor("weight"), bias = c.optional_tensor("bias");
  const ValueId y = c.failed() ? kNoValue : product_with(c, x, weight, bias);
  if (!c.failed()) c.give(y);
}

// matmul, mm, bmm, mv, dot.
void matrix_product(Call& c) {
  const ValueId a = c.tensor("self");
  const ValueId b = c.tensor(c.has("other") ? "other" : c.has("mat2") ? "mat2" : c.has("vec") ? "vec" : "tensor");
  if (!c.failed()) c.give(c.node(OpKind::MatMul, {a, b}));
}

// beta * self + alpha * mat1 mat2
void add_product(Call& c) {
  const ValueId bias = c.tensor("self"), a = c.tensor("mat1"), b = c.tensor("mat2");
  if (c.failed()) return;
  c.give(c.node(OpKind::Gemm, {a, b, bias}, {{"alpha", c.real("alpha", 1)}, {"beta", c.real("beta", 1)}}));
}

void add_batched_product(Call& c) {
  const ValueId x = c.tensor("self"), a = c.tensor("batch1"), b = c.tensor("batch2");
  if (c.failed()) return;
  const ValueId product = c.node(OpKind::MatMul, {a, b});
  c.give(c.real("beta", 1) == 0 ? product : c.node(OpKind::Add, {product, x}));
}

void outer_product(Call& c) {
  const ValueId a = c.tensor("self"), b = c.tensor("vec2");
  if (!c.failed()) c.give(c.node(OpKind::Mul, {c.unsqueeze(a, {1}), b}));
}

void einsum(Call& c) {
  const std::vector<ValueId> inputs = c.tensors("tensors");
  if (!c.failed()) c.give(c.node(OpKind::Einsum, inputs, {{"equation", c.text("equation", "")}}));
}

void bilinear(Call& c) {
  const ValueId a = c.tensor("input1"), b = c.tensor("input2"), weight = c.tensor("weight");
  if (c.failed()) return;
  ValueId y = c.node(OpKind::Einsum, {a, weight, b}, {{"equation", std::string("...i,oij,...j->...o")}});
  if (const ValueId bias = c.optional_tensor("bias"); bias != kNoValue) y = c.node(OpKind::Add, {y, bias});
  c.give(y);
}

void convolution_nd(Call& c) {
  const ValueId x = c.tensor("input"), weight = c.tensor("weight");
  const std::size_t rank = c.failed() ? 0 : c.rank(weight);
  if (rank < 3) return c.fail("the weight is no kernel");
  convolve(c, {x, weight, c.optional_tensor("bias"), rank - 2, false});
}

void transposed_convolution(Call& c) {
  const ValueId x = c.tensor("input"), weight = c.tensor("weight");
  const std::size_t rank = c.failed() ? 0 : c.rank(weight);
  if (rank < 3) return c.fail("the weight is no kernel");
  convolve(c, {x, weight, c.optional_tensor("bias"), rank - 2, true});
}

// convolution and _convolution: an argument says whether it is transposed.
void convolution(Call& c) {
  const ValueId x = c.tensor("input"), weight = c.tensor("weight");
  const std::size_t rank = c.failed() ? 0 : c.rank(weight);
  if (rank < 3) return c.fail("the weight is no kernel");
  convolve(c, {x, weight, c.optional_tensor("bias"), rank - 2, c.flag("transposed", false)});
}

}  // namespace forerun::pytorch
