// Declarations of the shape, fold and cost rules named in op_table.cpp, by file.
#pragma once

#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"

namespace forerun {

// shape_elementwise.cpp
Status same_shape(RuleContext&);        // output 0 like input 0
Status all_same_shape(RuleContext&);    // every output like input 0
Status broadcast_shape(RuleContext&);   // numpy broadcasting of all inputs
Status comparison_shape(RuleContext&);  // the same, bool out
Status predicate_shape(RuleContext&);   // like input 0, bool out
Status where_shape(RuleContext&);
Status cast_shape(RuleContext&);
Status cast_like_shape(RuleContext&);
Status dropout_shape(RuleContext&);  // data and mask
Status norm_shape(RuleContext&);     // data, then mean and inverse deviation over the normalised axes
Status batch_norm_shape(RuleContext&);
Status skip_norm_shape(RuleContext&);
Status quantize_shape(RuleContext&);
Status dequantize_shape(RuleContext&);
Status dynamic_quantize_shape(RuleContext&);
Status scalar_shape(RuleContext&);  // output 0 is a scalar of input 0's type

// shape_matrix.cpp
Status matmul_shape(RuleContext&);
Status matmul_integer_shape(RuleContext&);
Status qlinear_matmul_shape(RuleContext&);
Status fused_matmul_shape(RuleContext&);
Status matmul_nbits_shape(RuleContext&);
Status gemm_shape(RuleContext&);
Status qgemm_shape(RuleContext&);
Status einsum_shape(RuleContext&);
void matmul_cost(RuleContext&, OpCost&);
void fused_matmul_cost(RuleContext&, OpCost&);
void gemm_cost(RuleContext&, OpCost&);
void einsum_cost(RuleContext&, OpCost&);

// shape_conv.cpp
Status conv_shape(RuleContext&);
Status nhwc_conv_shape(RuleContext&);
Status qlinear_conv_shape(RuleContext&);
Status conv_integer_shape(RuleContext&);
Status conv_transpose_shape(RuleContext&);
Status pool_shape(RuleContext&);
Status nhwc_pool_shape(RuleContext&);
Status global_pool_shape(RuleContext&);
Status roi_pool_shape(RuleContext&);
Status max_unpool_shape(RuleContext&);
void conv_cost(RuleContext&, OpCost&);
void conv_transpose_cost(RuleContext&, OpCost&);

// shape_view.cpp, shape_data.cpp and shape_index.cpp
Status reshape_shape(RuleContext&);
Status transpose_shape(RuleContext&);
Status concat_shape(RuleContext&);
Status split_shape(RuleContext&);
Status slice_shape(RuleContext&);
Status squeeze_shape(RuleContext&);
Status unsqueeze_shape(RuleContext&);
Status flatten_shape(RuleContext&);
Status expand_shape(RuleContext&);
Status tile_shape(RuleContext&);
Status pad_shape(RuleContext&);
Status resize_shape(RuleContext&);
Status shape_shape(RuleContext&);
Status size_shape(RuleContext&);
Status constant_shape(RuleContext&);
Status constant_of_shape_shape(RuleContext&);
Status range_shape(RuleContext&);
Status depth_to_space_shape(RuleContext&);
Status space_to_depth_shape(RuleContext&);
Status gather_shape(RuleContext&);
Status gather_elements_shape(RuleContext&);
Status gather_nd_shape(RuleContext&);
Status one_hot_shape(RuleContext&);
Status top_k_shape(RuleContext&);
Status non_zero_shape(RuleContext&);
Status nms_shape(RuleContext&);
Status unique_shape(RuleContext&);
Status compress_shape(RuleContext&);
Status reduce_shape(RuleContext&);
Status arg_reduce_shape(RuleContext&);
Status grid_sample_shape(RuleContext&);
Status center_crop_pad_shape(RuleContext&);
Status col2im_shape(RuleContext&);
Status eye_like_shape(RuleContext&);
Status random_shape(RuleContext&);
Status random_like_shape(RuleContext&);
Status window_shape(RuleContext&);
Status dft_shape(RuleContext&);
Status stft_shape(RuleContext&);
Status loss_shape(RuleContext&);
Status multinomial_shape(RuleContext&);
Status det_shape(RuleContext&);
Status affine_grid_shape(RuleContext&);
Status mel_weight_shape(RuleContext&);

// shape_attention.cpp
Status attention_shape(RuleContext&);
Status ms_attention_shape(RuleContext&);
Status multi_head_attention_shape(RuleContext&);
Status group_query_attention_shape(RuleContext&);
Status rnn_shape(RuleContext&);
Status embed_layer_norm_shape(RuleContext&);
Status moe_shape(RuleContext&);
Status relative_bias_shape(RuleContext&);
Status generation_shape(RuleContext&);  // BeamSearch, GreedySearch, Sampling
void attention_cost(RuleContext&, OpCost&);
void ms_attention_cost(RuleContext&, OpCost&);
void multi_head_attention_cost(RuleContext&, OpCost&);
void group_query_attention_cost(RuleContext&, OpCost&);
void rnn_cost(RuleContext&, OpCost&);
void moe_cost(RuleContext&, OpCost&);
void moe_experts_cost(RuleContext&, OpCost&);

// shape_sequence.cpp: sequences, optionals, ai.onnx.ml
Status sequence_construct_shape(RuleContext&);
Status sequence_insert_shape(RuleContext&);
Status sequence_erase_shape(RuleContext&);
Status sequence_at_shape(RuleContext&);
Status sequence_length_shape(RuleContext&);
Status sequence_empty_shape(RuleContext&);
Status split_to_sequence_shape(RuleContext&);
Status concat_from_sequence_shape(RuleContext&);
Status optional_shape(RuleContext&);
Status optional_get_shape(RuleContext&);
Status has_element_shape(RuleContext&);
Status classifier_shape(RuleContext&);
Status regressor_shape(RuleContext&);
Status label_encoder_shape(RuleContext&);
Status one_hot_encoder_shape(RuleContext&);
Status array_feature_shape(RuleContext&);
Status feature_vectorizer_shape(RuleContext&);
Status dict_vectorizer_shape(RuleContext&);
Status zip_map_shape(RuleContext&);
Status float_like_shape(RuleContext&);  // like input 0, float32 out
void classifier_cost(RuleContext&, OpCost&);
void tree_cost(RuleContext&, OpCost&);

// shape_contrib.cpp
Status qlinear_broadcast_shape(RuleContext&);
Status qlinear_where_shape(RuleContext&);
Status qlinear_concat_shape(RuleContext&);
Status norm_grad_shape(RuleContext&);
Status slice_grad_shape(RuleContext&);
Status loss_grad_shape(RuleContext&);
Status yield_shape(RuleContext&);

// fold.cpp: contents of small tensors
void fold_identity(RuleContext&);  // same contents, other shape: Reshape, Squeeze, Identity, …
void fold_shape(RuleContext&);
void fold_size(RuleContext&);
void fold_constant_of_shape(RuleContext&);
void fold_where(RuleContext&);
void fold_gather(RuleContext&);
void fold_slice(RuleContext&);
void fold_concat(RuleContext&);
void fold_split(RuleContext&);
void fold_expand(RuleContext&);
void fold_transpose(RuleContext&);
void fold_non_zero(RuleContext&);
// fold_arithmetic.cpp
void fold_range(RuleContext&);
void fold_cast(RuleContext&);
void fold_unary(RuleContext&);
void fold_clip(RuleContext&);
void fold_binary(RuleContext&);
void fold_reduce(RuleContext&);

// costs.cpp: the plain ones
void set_macs(OpCost&, std::int64_t macs);     // and the FLOPs that follow: two each
void no_cost(RuleContext&, OpCost&);           // moves data, computes nothing
void elementwise_cost(RuleContext&, OpCost&);  // one operation per output element
void reduction_cost(RuleContext&, OpCost&);    // one operation per input element
void gradient_cost(RuleContext&, OpCost&);     // two operations per element of input 0

}  // namespace forerun
