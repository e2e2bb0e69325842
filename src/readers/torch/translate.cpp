#include "readers/torch/translate.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace forerun::pytorch {
namespace {

using K = OpKind;

// clang-format off
constexpr Operator kOperators[] = {
    // Element by element
    {"relu", "self", unary, K::Relu}, {"sigmoid", "self", unary, K::Sigmoid}, {"tanh", "self", unary, K::Tanh},
    {"exp", "self", unary, K::Exp}, {"expm1", "self", unary, K::Exp}, {"exp2", "self", unary, K::Exp}, {"log", "self", unary, K::Log},
    {"log2", "self", unary, K::Log}, {"log10", "self", unary, K::Log}, {"log1p", "self", unary, K::Log}, {"log_sigmoid", "self", unary, K::Sigmoid},
    {"sqrt", "self", unary, K::Sqrt}, {"abs", "self", unary, K::Abs}, {"neg", "self", unary, K::Neg},
    {"sin", "self", unary, K::Sin}, {"cos", "self", unary, K::Cos}, {"tan", "self", unary, K::Tan},
    {"asin", "self", unary, K::Asin}, {"acos", "self", unary, K::Acos}, {"atan", "self", unary, K::Atan},
    {"sinh", "self", unary, K::Sinh}, {"cosh", "self", unary, K::Cosh}, {"asinh", "self", unary, K::Asinh},
    {"acosh", "self", unary, K::Acosh}, {"atanh", "self", unary, K::Atanh}, {"erf", "self", unary, K::Erf}, {"erfc", "self", unary, K::Erf},
    {"floor", "self", unary, K::Floor}, {"trunc", "self", unary, K::Floor}, {"ceil", "self", unary, K::Ceil}, {"round", "self", unary, K::Round},
    {"sign", "self", unary, K::Sign}, {"sgn", "self", unary, K::Sign}, {"reciprocal", "self", unary, K::Reciprocal},
    {"logical_not", "self", unary, K::Not}, {"bitwise_not", "self", unary, K::BitwiseNot},
    {"isnan", "self", unary, K::IsNaN}, {"isinf", "self", unary, K::IsInf}, {"isfinite", "self", unary, K::IsInf}, {"softsign", "self", unary, K::Softsign},
    {"softplus", "self", unary, K::Softplus}, {"selu", "self", unary, K::Selu}, {"mish", "self", unary, K::Mish},
    {"hardswish", "self", unary, K::HardSwish}, {"hardsigmoid", "self", unary, K::HardSigmoid},
    {"leaky_relu", "self negative_slope", with_slope, K::LeakyRelu}, {"elu", "self alpha", with_slope, K::Elu}, {"celu", "self alpha", with_slope, K::Celu},
    {"rrelu", "self", with_slope, K::LeakyRelu}, {"threshold", "self threshold value", unary, K::ThresholdedRelu}, {"hardshrink", "self", unary, K::Shrink}, {"softshrink", "self", unary, K::Shrink},
    {"silu", "self", silu}, {"gelu", "self approximate", gelu}, {"glu", "self dim", gated_linear}, {"prelu", "self weight", parametric_rectifier}, {"_prelu_kernel", "self weight", parametric_rectifier},
    {"relu6", "self", rectifier_6}, {"hardtanh", "self min_val max_val", clip}, {"clamp", "self min max", clip}, {"clip", "self min max", clip},
    {"clamp_min", "self min", clip}, {"clamp_max", "self max", clip},
    {"rsqrt", "self", reciprocal_root}, {"square", "self", square}, {"pow", "self exponent", power},
    {"add", "self other alpha", binary, K::Add}, {"sub", "self other alpha", binary, K::Sub}, {"subtract", "self other alpha", binary, K::Sub},
    {"mul", "self other", binary, K::Mul}, {"multiply", "self other", binary, K::Mul}, {"div", "self other rounding_mode", binary, K::Div},
    {"divide", "self other rounding_mode", binary, K::Div}, {"true_divide", "self other", binary, K::Div}, {"floor_divide", "self other", binary, K::Div},
    {"rsub", "self other alpha", reversed_subtraction}, {"remainder", "self other", binary, K::Mod}, {"fmod", "self other", binary, K::Mod},
    {"maximum", "self other", binary, K::Max}, {"minimum", "self other", binary, K::Min}, {"fmax", "self other", binary, K::Max}, {"fmin", "self other", binary, K::Min},
    {"atan2", "self other", binary, K::Div}, {"copysign", "self other", binary, K::Mul},
    {"logical_and", "self other", comparison, K::And}, {"logical_or", "self other", comparison, K::Or}, {"logical_xor", "self other", comparison, K::Xor},
    {"bitwise_and", "self other", binary, K::BitwiseAnd}, {"bitwise_or", "self other", binary, K::BitwiseOr}, {"bitwise_xor", "self other", binary, K::BitwiseXor},
    {"__and__", "self other", binary, K::BitwiseAnd}, {"__or__", "self other", binary, K::BitwiseOr}, {"__xor__", "self other", binary, K::BitwiseXor},
    {"bitwise_left_shift", "self other", binary, K::BitShift}, {"bitwise_right_shift", "self other", binary, K::BitShift},
    {"__lshift__", "self other", binary, K::BitShift}, {"__rshift__", "self other", binary, K::BitShift},
    {"eq", "self other", comparison, K::Equal}, {"ne", "self other", not_equal}, {"gt", "self other", comparison, K::Greater},
    {"ge", "self other", comparison, K::GreaterOrEqual}, {"lt", "self other", comparison, K::Less}, {"le", "self other", comparison, K::LessOrEqual},
    {"where", "condition self other", where}, {"masked_fill", "self mask value", masked_fill},
    {"addcmul", "self tensor1 tensor2 value", fused_multiply_add, K::Mul}, {"addcdiv", "self tensor1 tensor2 value", fused_multiply_add, K::Div}, {"lerp", "self end weight", interpolate_between},
    {"to", "self dtype", convert}, {"_to_copy", "self", convert}, {"type_as", "self other", convert_like}, {"_cast_Float", "self", convert},
    {"float", "self", convert, K::Cast}, {"half", "self", convert, K::Cast}, {"bfloat16", "self", convert, K::Cast}, {"double", "self", convert, K::Cast},
    {"long", "self", convert, K::Cast}, {"int", "self", convert, K::Cast}, {"bool", "self", convert, K::Cast},
    {"contiguous", "self", same}, {"clone", "self", same}, {"detach", "self", same}, {"alias", "self", same}, {"lift", "self", same}, {"lift_fresh", "self", same},
    {"lift_fresh_copy", "self", same}, {"_conj", "self", same}, {"resolve_conj", "self", same}, {"resolve_neg", "self", same}, {"requires_grad_", "self", same}, {"cpu", "self", same}, {"cuda", "self", same},
    {"_assert_tensor_metadata", "", nothing}, {"_assert_scalar", "", nothing}, {"_assert_async", "", nothing}, {"sym_constrain_range_for_size", "", nothing},
    {"sym_constrain_range", "", nothing}, {"_functional_assert_async", "", nothing}, {"_unsafe_index_assert", "", nothing}, {"_check", "", nothing}, {"_nested_tensor", "", nothing},
    {"dropout", "input p train", dropout}, {"feature_dropout", "input p train", dropout}, {"alpha_dropout", "input p train", dropout}, {"feature_alpha_dropout", "input p train", dropout}, {"native_dropout", "input p train", dropout},
    // Products
    {"linear", "input weight bias", linear}, {"matmul", "self other", matrix_product}, {"mm", "self mat2", matrix_product}, {"bmm", "self mat2", matrix_product},
    {"mv", "self vec", matrix_product}, {"dot", "self tensor", matrix_product}, {"__matmul__", "self other", matrix_product}, {"linalg_matmul", "self other", matrix_product},
    {"addmm", "self mat1 mat2", add_product}, {"addbmm", "self batch1 batch2", add_batched_product}, {"baddbmm", "self batch1 batch2", add_batched_product},
    {"outer", "self vec2", outer_product}, {"ger", "self vec2", outer_product}, {"einsum", "equation tensors path", einsum}, {"bilinear", "input1 input2 weight bias", bilinear},
    {"conv1d", "input weight bias stride padding dilation groups", convolution_nd}, {"conv2d", "input weight bias stride padding dilation groups", convolution_nd},
    {"conv3d", "input weight bias stride padding dilation groups", convolution_nd}, {"_conv_depthwise2d", "input weight kernel_size bias stride padding dilation", convolution_nd},
    {"convolution", "input weight bias stride padding dilation transposed output_padding groups", convolution},
    {"_convolution", "input weight bias stride padding dilation transposed output_padding groups", convolution},
    {"_convolution_mode", "input weight bias stride padding dilation groups", convolution_nd},
    {"conv_transpose1d", "input weight bias stride padding output_padding groups dilation", transposed_convolution},
    {"conv_transpose2d", "input weight bias stride padding output_padding groups dilation", transposed_convolution},
    {"conv_transpose3d", "input weight bias stride padding output_padding groups dilation", transposed_convolution},
    {"scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal", attention},
    {"_scaled_dot_product_flash_attention", "query key value dropout_p is_causal", attention}, {"_scaled_dot_product_flash_attention_for_cpu", "query key value dropout_p is_causal", attention},
    {"_scaled_dot_product_efficient_attention", "query key value attn_bias compute_log_sumexp dropout_p is_causal", attention},
    {"_scaled_dot_product_cudnn_attention", "query key value attn_bias compute_log_sumexp dropout_p is_causal", attention},
    {"_scaled_dot_product_attention_math", "query key value attn_mask dropout_p is_causal", attention}, {"_scaled_dot_product_attention_math_for_mps", "query key value attn_mask dropout_p is_causal", attention},
    {"_native_multi_head_attention", "query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias mask", multi_head_attention},
    {"lstm", "input hx params has_biases num_layers dropout train bidirectional batch_first", recurrent, K::LSTM}, {"gru", "input hx params has_biases num_layers dropout train bidirectional batch_first", recurrent, K::GRU},
    {"rnn_tanh", "input hx params has_biases num_layers dropout train bidirectional batch_first", recurrent, K::RNN}, {"rnn_relu", "input hx params has_biases num_layers dropout train bidirectional batch_first", recurrent, K::RNN},
    {"lstm_cell", "input hx w_ih w_hh b_ih b_hh", recurrent_cell, K::LSTM}, {"gru_cell", "input hx w_ih w_hh b_ih b_hh", recurrent_cell, K::GRU},
    {"rnn_tanh_cell", "input hx w_ih w_hh b_ih b_hh", recurrent_cell, K::RNN}, {"rnn_relu_cell", "input hx w_ih w_hh b_ih b_hh", recurrent_cell, K::RNN},
    // Normalisation
    {"batch_norm", "input weight bias running_mean running_var training momentum eps cudnn_enabled", batch_norm}, {"native_batch_norm", "input weight bias running_mean running_var training momentum eps", batch_norm},
    {"_native_batch_norm_legit", "input weight bias running_mean running_var training momentum eps", batch_norm}, {"_native_batch_norm_legit_no_training", "input weight bias running_mean running_var momentum eps", batch_norm},
    {"_native_batch_norm_legit_functional", "input weight bias running_mean running_var training momentum eps", batch_norm}, {"_batch_norm_with_update", "input weight bias running_mean running_var momentum eps", batch_norm},
    {"_batch_norm_no_update", "input weight bias running_mean running_var momentum eps", batch_norm}, {"cudnn_batch_norm", "input weight bias running_mean running_var training momentum eps", batch_norm},
    {"layer_norm", "input normalized_shape weight bias eps cudnn_enable", layer_norm}, {"native_layer_norm", "input normalized_shape weight bias eps", layer_norm},
    {"group_norm", "input num_groups weight bias eps cudnn_enabled", group_norm}, {"native_group_norm", "input weight bias N C HxW group eps", group_norm},
    {"instance_norm", "input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled", instance_norm},
    {"rms_norm", "input normalized_shape weight eps", rms_norm}, {"_fused_rms_norm", "input normalized_shape weight eps", rms_norm}, {"_weight_norm", "v g dim", weight_norm}, {"_weight_norm_interface", "v g dim", weight_norm},
    {"softmax", "self dim dtype", softmax, K::Softmax}, {"_softmax", "self dim half_to_float", softmax, K::Softmax}, {"_safe_softmax", "self dim dtype", softmax, K::Softmax},
    {"log_softmax", "self dim dtype", softmax, K::LogSoftmax}, {"_log_softmax", "self dim half_to_float", softmax, K::LogSoftmax},
    // Pooling and resizing
    {"max_pool1d", "self kernel_size stride padding dilation ceil_mode", max_pool}, {"max_pool2d", "self kernel_size stride padding dilation ceil_mode", max_pool}, {"max_pool3d", "self kernel_size stride padding dilation ceil_mode", max_pool},
    {"max_pool1d_with_indices", "self kernel_size stride padding dilation ceil_mode", max_pool}, {"max_pool2d_with_indices", "self kernel_size stride padding dilation ceil_mode", max_pool}, {"max_pool3d_with_indices", "self kernel_size stride padding dilation ceil_mode", max_pool},
    {"avg_pool1d", "self kernel_size stride padding ceil_mode count_include_pad", average_pool}, {"avg_pool2d", "self kernel_size stride padding ceil_mode count_include_pad divisor_override", average_pool}, {"avg_pool3d", "self kernel_size stride padding ceil_mode count_include_pad divisor_override", average_pool},
    {"adaptive_avg_pool1d", "self output_size", adaptive_average_pool}, {"adaptive_avg_pool2d", "self output_size", adaptive_average_pool}, {"adaptive_avg_pool3d", "self output_size", adaptive_average_pool},
    {"_adaptive_avg_pool2d", "self output_size", adaptive_average_pool}, {"_adaptive_avg_pool3d", "self output_size", adaptive_average_pool},
    {"adaptive_max_pool1d", "self output_size", adaptive_max_pool}, {"adaptive_max_pool2d", "self output_size", adaptive_max_pool}, {"adaptive_max_pool3d", "self output_size", adaptive_max_pool},
    {"upsample_nearest1d", "input output_size scale_factors", upsample}, {"upsample_nearest2d", "input output_size scale_factors", upsample}, {"upsample_nearest3d", "input output_size scale_factors", upsample},
    {"_upsample_nearest_exact1d", "input output_size scale_factors", upsample}, {"_upsample_nearest_exact2d", "input output_size scale_factors", upsample}, {"_upsample_nearest_exact3d", "input output_size scale_factors", upsample},
    {"upsample_linear1d", "input output_size align_corners scale_factors", upsample}, {"upsample_bilinear2d", "input output_size align_corners scale_factors", upsample}, {"upsample_trilinear3d", "input output_size align_corners scale_factors", upsample},
    {"upsample_bicubic2d", "input output_size align_corners scale_factors", upsample}, {"_upsample_bilinear2d_aa", "input output_size align_corners scale_factors", upsample}, {"_upsample_bicubic2d_aa", "input output_size align_corners scale_factors", upsample},
    {"grid_sampler", "input grid", grid_sample}, {"grid_sampler_2d", "input grid", grid_sample}, {"grid_sampler_3d", "input grid", grid_sample}, {"affine_grid_generator", "theta size", affine_grid},
    {"torchvision::roi_align", "input rois spatial_scale pooled_height pooled_width", roi_align}, {"torchvision::nms", "dets scores iou_threshold", non_max_suppression},
    // Reductions
    {"sum", "self dim keepdim dtype", reduction, K::ReduceSum}, {"mean", "self dim keepdim dtype", reduction, K::ReduceMean}, {"prod", "self dim keepdim dtype", reduction, K::ReduceProd}, {"nansum", "self dim keepdim dtype", reduction, K::ReduceSum},
    {"amax", "self dim keepdim", reduction, K::ReduceMax}, {"amin", "self dim keepdim", reduction, K::ReduceMin}, {"any", "self dim keepdim", reduction, K::ReduceMax}, {"all", "self dim keepdim", reduction, K::ReduceMin},
    {"logsumexp", "self dim keepdim", reduction, K::ReduceLogSumExp}, {"max", "self dim keepdim", extreme, K::ReduceMax}, {"min", "self dim keepdim", extreme, K::ReduceMin},
    {"argmax", "self dim keepdim", extreme_position, K::ArgMax}, {"argmin", "self dim keepdim", extreme_position, K::ArgMin},
    {"norm", "self p dim keepdim", vector_norm}, {"linalg_vector_norm", "self ord dim keepdim", vector_norm}, {"linalg_norm", "self ord dim keepdim", vector_norm}, {"frobenius_norm", "self dim keepdim", vector_norm},
    {"var", "self dim unbiased keepdim", variance}, {"std", "self dim unbiased keepdim", variance}, {"var_mean", "self dim unbiased keepdim", variance_and_mean}, {"std_mean", "self dim unbiased keepdim", variance_and_mean},
    {"cumsum", "self dim", cumulative_sum}, {"cumprod", "self dim", cumulative_sum}, {"topk", "self k dim largest sorted", top_k}, {"sort", "self dim descending", sort}, {"argsort", "self dim descending", sort}, {"nonzero", "self", non_zero},
    // Shapes
    {"view", "self size", view}, {"reshape", "self shape", view}, {"_unsafe_view", "self size", view}, {"_reshape_alias", "self size", view}, {"view_copy", "self size", view}, {"_reshape_copy", "self size", view}, {"view_as", "self other", view_like}, {"reshape_as", "self other", view_like},
    {"flatten", "self start_dim end_dim", flatten}, {"ravel", "self", flatten}, {"unflatten", "self dim sizes", unflatten}, {"squeeze", "self dim", squeeze}, {"squeeze_copy", "self dim", squeeze}, {"unsqueeze", "self dim", unsqueeze}, {"unsqueeze_copy", "self dim", unsqueeze},
    {"transpose", "self dim0 dim1", transpose}, {"transpose_copy", "self dim0 dim1", transpose}, {"swapaxes", "self dim0 dim1", transpose}, {"swapdims", "self dim0 dim1", transpose}, {"t", "self", matrix_transpose}, {"t_copy", "self", matrix_transpose}, {"numpy_T", "self", matrix_transpose}, {"mT", "self", matrix_transpose}, {"adjoint", "self", matrix_transpose},
    {"permute", "self dims", permute}, {"permute_copy", "self dims", permute}, {"movedim", "self source destination", move_dimension}, {"moveaxis", "self source destination", move_dimension},
    {"expand", "self size", expand}, {"expand_copy", "self size", expand}, {"broadcast_to", "self size", expand}, {"expand_as", "self other", expand_like}, {"repeat", "self repeats", repeat}, {"tile", "self dims", repeat}, {"repeat_interleave", "self repeats dim", repeat_interleave},
    {"cat", "tensors dim", concatenate}, {"concat", "tensors dim", concatenate}, {"concatenate", "tensors dim", concatenate}, {"stack", "tensors dim", stack},
    {"split", "self split_size dim", split}, {"split_with_sizes", "self split_sizes dim", split}, {"split_copy", "self split_size dim", split}, {"split_with_sizes_copy", "self split_sizes dim", split}, {"chunk", "self chunks dim", chunk}, {"unsafe_chunk", "self chunks dim", chunk}, {"unsafe_split", "self split_size dim", split}, {"unbind", "self dim", unbind}, {"unbind_copy", "self dim", unbind},
    {"flip", "self dims", moved}, {"roll", "self shifts dims", moved}, {"pad", "self pad mode value", pad}, {"constant_pad_nd", "self pad value", pad},
    {"reflection_pad1d", "self padding", pad}, {"reflection_pad2d", "self padding", pad}, {"reflection_pad3d", "self padding", pad}, {"replication_pad1d", "self padding", pad}, {"replication_pad2d", "self padding", pad}, {"replication_pad3d", "self padding", pad},
    {"pixel_shuffle", "self upscale_factor", pixel_shuffle}, {"pixel_unshuffle", "self downscale_factor", pixel_unshuffle}, {"im2col", "self kernel_size dilation padding stride", unfold_image}, {"col2im", "self output_size kernel_size", fold_image}, {"unfold", "self dimension size step", unfold_windows},
    // Positions
    {"select", "self dim index", select}, {"select_copy", "self dim index", select}, {"slice", "self dim start end step", slice}, {"slice_copy", "self dim start end step", slice}, {"narrow", "self dim start length", narrow}, {"embedding", "weight indices padding_idx", embedding}, {"embedding_bag", "weight indices offsets", embedding_bag},
    {"_embedding_bag", "weight indices offsets", embedding_bag}, {"_embedding_bag_forward_only", "weight indices offsets", embedding_bag}, {"index_select", "self dim index", index_select}, {"gather", "self dim index", gather}, {"take_along_dim", "self index dim", gather}, {"index", "self indices", index}, {"_unsafe_index", "self indices", index},
    {"index_put", "self indices values accumulate", index_put}, {"_unsafe_index_put", "self indices values accumulate", index_put}, {"scatter", "self dim index src", scatter}, {"scatter_add", "self dim index src", scatter}, {"scatter_reduce", "self dim index src", scatter}, {"index_copy", "self dim index source", scatter}, {"index_add", "self dim index source", scatter}, {"index_fill", "self dim index value", scatter}, {"masked_scatter", "self mask source", scatter},
    {"slice_scatter", "self src dim start end step", select_scatter}, {"select_scatter", "self src dim index", select_scatter}, {"one_hot", "self num_classes", one_hot}, {"triu", "self diagonal", triangle}, {"tril", "self diagonal", triangle}, {"diagonal", "self offset dim1 dim2", diagonal}, {"copy", "self src", copy},
    // Tensors from numbers
    {"zeros", "size dtype", filled}, {"ones", "size dtype", filled}, {"full", "size fill_value", filled}, {"empty", "size dtype", filled}, {"empty_strided", "size stride", filled}, {"new_zeros", "self size dtype", filled}, {"new_ones", "self size dtype", filled}, {"new_full", "self size fill_value", filled}, {"new_empty", "self size dtype", filled}, {"new_empty_strided", "self size", filled},
    {"zeros_like", "self dtype", filled_like}, {"ones_like", "self dtype", filled_like}, {"full_like", "self fill_value dtype", filled_like}, {"empty_like", "self dtype", filled_like}, {"fill", "self value", filled_like}, {"zero", "self", filled_like},
    {"arange", "start end step dtype", arange}, {"linspace", "start end steps", arange}, {"eye", "n m", eye}, {"scalar_tensor", "s dtype", scalar_tensor},
    {"rand", "size dtype", random_filled, K::RandomUniform}, {"randn", "size dtype", random_filled, K::RandomNormal}, {"rand_like", "self", random_like, K::RandomUniformLike}, {"randn_like", "self", random_like, K::RandomNormalLike}, {"bernoulli", "self", random_like, K::Bernoulli},
    {"sym_size", "self dim", size_of_dimension}, {"size", "self dim", size_of_dimension}, {"item", "self", item}, {"_local_scalar_dense", "self", item},
    {"quantized_decomposed::quantize_per_tensor", "input scale zero_point quant_min quant_max dtype", quantize}, {"quantized_decomposed::quantize_per_channel", "input scales zero_points axis quant_min quant_max dtype", quantize},
    {"quantized_decomposed::dequantize_per_tensor", "input scale zero_point quant_min quant_max dtype", dequantize}, {"quantized_decomposed::dequantize_per_channel", "input scales zero_points axis quant_min quant_max dtype", dequantize},
};
// clang-format on

std::string qualified(const Operation& operation) {
  return operation.space == "aten" ? operation.name : operation.space + "::" + operation.name;
}

std::vector<ValueId> tensors_among(const Operation& operation) {
  std::vector<ValueId> inputs;
  const auto add = [&](const Argument& argument) {
    if (const auto* tensor = argument.as<Tensor>()) inputs.push_back(tensor->id);
  };
  for (const auto& [name, argument] : operation.arguments) {
    add(argument);
    if (const List* list = argument.as<List>()) {
      for (const Argument& item : **list) add(item);
    }
  }
  return inputs;
}

}  // namespace

const Operator* find_operator(const Operation& operation) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const Operator*> map;
    for (const Operator& row : kOperators) map.emplace(row.name, &row);
    return map;
  }();
  const std::string name = qualified(operation);
  if (const auto found = kByName.find(name); found != kByName.end()) return found->second;
  if (!name.ends_with('_') || name.ends_with("__")) return nullptr;
  const auto found = kByName.find(std::string_view(name).substr(0, name.size() - 1));
  return found == kByName.end() ? nullptr : found->second;
}

std::vector<Argument> translate(const Operation& operation, GraphWriter& writer) {
  if (const Operator* row = find_operator(operation)) {
    const std::size_t before = writer.node_count();
    Call call(operation, *row, writer);
    row->build(call);
    if (!call.failed()) return std::move(call.results);
    writer.drop_nodes_after(before);
  }
  const std::string name = operation.name + (operation.overload.empty() ? "" : "." + operation.overload);
  std::vector<Argument> results;
  for (const ValueId id :
       writer.add_unknown(operation.space, name, tensors_among(operation), std::max<std::size_t>(1, operation.results)))
    results.push_back({Tensor{id}});
  return results;
}

}  // namespace forerun::pytorch
