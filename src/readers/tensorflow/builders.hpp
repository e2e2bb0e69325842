// Builders of native operators, by file; tensorflow_table.cpp and tflite_table.cpp name them.
#pragma once

#include "readers/tensorflow/call.hpp"

namespace forerun::tensorflow {

// TensorFlow Lite fuses an activation into an operator; what it becomes.
ValueId activate(Call& call, ValueId id, std::int64_t code);
ValueId activate(Call& call, ValueId id);  // by the attribute "activation"
// Operands brought to one order of dimensions for numpy broadcasting; true when that is channels first.
bool align(Call& call, const std::vector<std::size_t>& operands, std::vector<ValueId>& aligned);
// Non-negative axes of input `i`, from its contents; nullopt when not known.
std::optional<Ints> axes_of(Call& call, std::size_t input, std::size_t rank);
// Adds a bias of one dimension, inside the product or convolution that made `id` where there is one.
ValueId add_bias(Call& call, std::size_t operand, std::size_t bias, bool channels_first);

// build_elementwise.cpp
void build_unary(Call&);   // row.kind of input 0
void build_binary(Call&);  // row.kind of inputs 0 and 1, with a fused activation
void build_add(Call&);     // the same, a bias where it follows a product
void build_add_n(Call&);
void build_not_equal(Call&);
void build_floor_div(Call&);
void build_squared_difference(Call&);
void build_square(Call&);
void build_rsqrt(Call&);
void build_relu6(Call&);
void build_relu1(Call&);
void build_relu_0_to_1(Call&);
void build_leaky_relu(Call&);
void build_prelu(Call&);
void build_gelu(Call&);
void build_softmax(Call&);  // row.kind over the last dimension
void build_select(Call&);
void build_cast(Call&);
void build_quantize(Call&);
void build_dequantize(Call&);
void build_fake_quant(Call&);
void build_identity(Call&);
void build_identity_n(Call&);
void build_nothing(Call&);
void build_l2_normalization(Call&);
void build_bias_add(Call&);
void build_clip(Call&);
void build_erfc(Call&);
void build_zeros_like(Call&);

// build_image.cpp
void build_conv(Call&);
void build_depthwise_conv(Call&);
void build_conv_transpose(Call&);
void build_custom_conv_transpose(Call&);
void build_fused_conv(Call&);
void build_pool(Call&);  // row.kind
void build_batch_norm(Call&);
void build_resize(Call&);
void build_depth_to_space(Call&);
void build_space_to_depth(Call&);
void build_lrn(Call&);

// build_matrix.cpp
void build_matmul(Call&);
void build_fused_matmul(Call&);
void build_batch_matmul(Call&);
void build_fully_connected(Call&);
void build_einsum(Call&);
void build_svdf(Call&);

// build_data.cpp, build_blocks.cpp and build_index.cpp
void build_reshape(Call&);
void build_transpose(Call&);
void build_expand_dims(Call&);
void build_squeeze(Call&);
void build_concat(Call&);
void build_split(Call&);
void build_split_v(Call&);
void build_pack(Call&);
void build_unpack(Call&);
void build_pad(Call&);
void build_tile(Call&);
void build_fill(Call&);
void build_broadcast_to(Call&);
void build_shape(Call&);
void build_size(Call&);
void build_rank(Call&);
void build_range(Call&);
void build_slice(Call&);
void build_strided_slice(Call&);
void build_gather(Call&);
void build_gather_nd(Call&);
void build_one_hot(Call&);
void build_top_k(Call&);
void build_where(Call&);
void build_scatter_nd(Call&);
void build_reverse(Call&);
void build_space_to_batch(Call&);
void build_batch_to_space(Call&);
void build_cumsum(Call&);
void build_nms(Call&);
void build_embedding_lookup(Call&);
void build_random(Call&);  // row.kind
void build_update_slice(Call&);
void build_unique(Call&);
void build_band_part(Call&);

// build_reduce.cpp
void build_reduce(Call&);  // row.kind
void build_arg_reduce(Call&);

// build_recurrent.cpp
void build_sequence_lstm(Call&);
void build_bidirectional_lstm(Call&);
void build_sequence_rnn(Call&);
void build_block_lstm(Call&);

// build_control.cpp
void build_call(Call&);
void build_if(Call&);
void build_while(Call&);
void build_switch(Call&);
void build_merge(Call&);
void build_list_reserve(Call&);
void build_list_get(Call&);
void build_list_set(Call&);
void build_read_variable(Call&);

}  // namespace forerun::tensorflow
