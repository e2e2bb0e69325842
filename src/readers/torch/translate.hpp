// The table of PyTorch's operators: how each becomes nodes of our graph. The families are in translate_*.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "readers/torch/call.hpp"

namespace forerun::pytorch {

struct Operator {
  std::string_view name;        // "relu", "add.Tensor" where an overload differs, "torchvision::nms" of other libraries
  std::string_view parameters;  // in order, for calls that give them by position
  void (*build)(Call&);
  OpKind kind = OpKind::Unknown;  // for families that differ in it alone
};

// nullptr when there is none. In-place operators ("relu_") are those without the underscore.
[[nodiscard]] const Operator* find_operator(const Operation& operation);

// Writes the nodes and returns the results. What is not known, or does not fit, becomes a node without a known cost.
std::vector<Argument> translate(const Operation& operation, GraphWriter& writer);

// translate_elementwise.cpp
void unary(Call&);
void binary(Call&);
void comparison(Call&);
void not_equal(Call&);
void square(Call&);
void reversed_subtraction(Call&);
void power(Call&);
void reciprocal_root(Call&);
void clip(Call&);
void rectifier_6(Call&);
void silu(Call&);
void gated_linear(Call&);
void gelu(Call&);
void with_slope(Call&);
void parametric_rectifier(Call&);
void where(Call&);
void masked_fill(Call&);
void fused_multiply_add(Call&);
void interpolate_between(Call&);
void convert(Call&);
void convert_like(Call&);
void same(Call&);
void nothing(Call&);
void dropout(Call&);

// translate_matrix.cpp
void linear(Call&);
void matrix_product(Call&);
void add_product(Call&);
void add_batched_product(Call&);
void outer_product(Call&);
void einsum(Call&);
void bilinear(Call&);
void convolution_nd(Call&);
void convolution(Call&);
void transposed_convolution(Call&);

// translate_norm.cpp
void batch_norm(Call&);
void layer_norm(Call&);
void group_norm(Call&);
void instance_norm(Call&);
void rms_norm(Call&);
void weight_norm(Call&);
void local_response_norm(Call&);
void softmax(Call&);

// translate_pool.cpp
void max_pool(Call&);
void average_pool(Call&);
void adaptive_average_pool(Call&);
void adaptive_max_pool(Call&);
void upsample(Call&);
void grid_sample(Call&);
void affine_grid(Call&);
void roi_align(Call&);
void non_max_suppression(Call&);

// translate_reduce.cpp
void reduction(Call&);
void extreme(Call&);
void extreme_position(Call&);
void vector_norm(Call&);
void variance(Call&);
void variance_and_mean(Call&);
void cumulative_sum(Call&);
void top_k(Call&);
void sort(Call&);
void non_zero(Call&);

// translate_shape.cpp
void view(Call&);
void view_like(Call&);
void flatten(Call&);
void unflatten(Call&);
void squeeze(Call&);
void unsqueeze(Call&);
void transpose(Call&);
void matrix_transpose(Call&);
void permute(Call&);
void move_dimension(Call&);
void expand(Call&);
void expand_like(Call&);
void repeat(Call&);
void repeat_interleave(Call&);
void concatenate(Call&);
void stack(Call&);
void split(Call&);
void chunk(Call&);
void unbind(Call&);
void moved(Call&);
void pad(Call&);
void pixel_shuffle(Call&);
void pixel_unshuffle(Call&);
void unfold_image(Call&);
void fold_image(Call&);
void unfold_windows(Call&);

// translate_index.cpp
void select(Call&);
void slice(Call&);
void narrow(Call&);
void embedding(Call&);
void embedding_bag(Call&);
void index_select(Call&);
void gather(Call&);
void index(Call&);
void index_put(Call&);
void scatter(Call&);
void select_scatter(Call&);
void one_hot(Call&);
void triangle(Call&);
void diagonal(Call&);
void copy(Call&);

// translate_create.cpp
void filled(Call&);
void filled_like(Call&);
void arange(Call&);
void random_like(Call&);
void random_filled(Call&);
void eye(Call&);
void scalar_tensor(Call&);
void size_of_dimension(Call&);
void item(Call&);

// translate_attention.cpp and translate_recurrent.cpp
void attention(Call&);
void multi_head_attention(Call&);
void recurrent(Call&);
void recurrent_cell(Call&);

// translate_quantized.cpp
void quantize(Call&);
void dequantize(Call&);

}  // namespace forerun::pytorch
