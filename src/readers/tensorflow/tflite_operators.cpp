// TensorFlow Lite's builtin operators: their names by code, and the fields of their options by slot of the schema.
#include "readers/tensorflow/tflite_operators.hpp"

#include <array>

namespace forerun::tensorflow {
namespace {

// clang-format off
constexpr std::array<std::string_view, 210> kNames = {  // by BuiltinOperator code
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE",
    "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED", "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION", "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU",
    "RELU_N1_TO_1", "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH",
    "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL", "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN", "SUB",
    "DIV", "SQUEEZE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2",
    "SPLIT", "LOG_SOFTMAX", "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM", "ARG_MAX",
    "MINIMUM", "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "SELECT", "SLICE", "SIN",
    "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL", "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT",
    "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT", "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT",
    "LOGICAL_AND", "LOGICAL_NOT", "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL",
    "FLOOR_MOD", "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS",
    "SPLIT_V", "UNIQUE", "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU",
    "REVERSE_SEQUENCE", "MATRIX_DIAG", "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE",
    "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2", "DENSIFY", "SEGMENT_SUM",
    "BATCH_MATMUL", "PLACEHOLDER_FOR_GREATER_OP_CODES", "CUMSUM", "CALL_ONCE", "BROADCAST_TO", "RFFT2D", "CONV_3D",
    "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "REDUCE_ALL",
    "CONV_3D_TRANSPOSE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL",
    "BUCKETIZE", "RANDOM_UNIFORM", "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1",
    "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM", "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN",
    "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT", "STABLEHLO_LOGISTIC", "STABLEHLO_ADD", "STABLEHLO_DIVIDE",
    "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_RESHAPE", "STABLEHLO_CLAMP", "STABLEHLO_CONCATENATE",
    "STABLEHLO_BROADCAST_IN_DIM", "STABLEHLO_CONVOLUTION", "STABLEHLO_SLICE", "STABLEHLO_CUSTOM_CALL",
    "STABLEHLO_REDUCE", "STABLEHLO_ABS", "STABLEHLO_AND", "STABLEHLO_COSINE", "STABLEHLO_EXPONENTIAL",
    "STABLEHLO_FLOOR", "STABLEHLO_LOG", "STABLEHLO_MINIMUM", "STABLEHLO_NEGATE", "STABLEHLO_OR", "STABLEHLO_POWER",
    "STABLEHLO_REMAINDER", "STABLEHLO_RSQRT", "STABLEHLO_SELECT", "STABLEHLO_SUBTRACT", "STABLEHLO_TANH",
    "STABLEHLO_SCATTER", "STABLEHLO_COMPARE", "STABLEHLO_CONVERT", "STABLEHLO_DYNAMIC_SLICE",
    "STABLEHLO_DYNAMIC_UPDATE_SLICE", "STABLEHLO_PAD", "STABLEHLO_IOTA", "STABLEHLO_DOT_GENERAL",
    "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_SORT", "STABLEHLO_WHILE", "STABLEHLO_GATHER", "STABLEHLO_TRANSPOSE",
    "DILATE", "STABLEHLO_RNG_BIT_GENERATOR", "REDUCE_WINDOW", "STABLEHLO_COMPOSITE", "STABLEHLO_SHIFT_LEFT",
    "STABLEHLO_CBRT", "STABLEHLO_CASE",
};

constexpr OptionField kFields[] = {  // ordered by operator
    {0, "activation", 0, FieldType::Byte},  // ADD
    {1, "padding", 0, FieldType::Byte},  // AVERAGE_POOL_2D
    {1, "stride_w", 1, FieldType::Int},  // AVERAGE_POOL_2D
    {1, "stride_h", 2, FieldType::Int},  // AVERAGE_POOL_2D
    {1, "filter_w", 3, FieldType::Int},  // AVERAGE_POOL_2D
    {1, "filter_h", 4, FieldType::Int},  // AVERAGE_POOL_2D
    {1, "activation", 5, FieldType::Byte},  // AVERAGE_POOL_2D
    {2, "axis", 0, FieldType::Int},  // CONCATENATION
    {2, "activation", 1, FieldType::Byte},  // CONCATENATION
    {3, "padding", 0, FieldType::Byte},  // CONV_2D
    {3, "stride_w", 1, FieldType::Int},  // CONV_2D
    {3, "stride_h", 2, FieldType::Int},  // CONV_2D
    {3, "activation", 3, FieldType::Byte},  // CONV_2D
    {3, "dilation_w", 4, FieldType::One},  // CONV_2D
    {3, "dilation_h", 5, FieldType::One},  // CONV_2D
    {4, "padding", 0, FieldType::Byte},  // DEPTHWISE_CONV_2D
    {4, "stride_w", 1, FieldType::Int},  // DEPTHWISE_CONV_2D
    {4, "stride_h", 2, FieldType::Int},  // DEPTHWISE_CONV_2D
    {4, "depth_multiplier", 3, FieldType::Int},  // DEPTHWISE_CONV_2D
    {4, "activation", 4, FieldType::Byte},  // DEPTHWISE_CONV_2D
    {4, "dilation_w", 5, FieldType::One},  // DEPTHWISE_CONV_2D
    {4, "dilation_h", 6, FieldType::One},  // DEPTHWISE_CONV_2D
    {5, "block_size", 0, FieldType::Int},  // DEPTH_TO_SPACE
    {9, "activation", 0, FieldType::Byte},  // FULLY_CONNECTED
    {9, "weights_format", 1, FieldType::Byte},  // FULLY_CONNECTED
    {9, "keep_num_dims", 2, FieldType::Boolean},  // FULLY_CONNECTED
    {11, "activation", 0, FieldType::Byte},  // L2_NORMALIZATION
    {12, "padding", 0, FieldType::Byte},  // L2_POOL_2D
    {12, "stride_w", 1, FieldType::Int},  // L2_POOL_2D
    {12, "stride_h", 2, FieldType::Int},  // L2_POOL_2D
    {12, "filter_w", 3, FieldType::Int},  // L2_POOL_2D
    {12, "filter_h", 4, FieldType::Int},  // L2_POOL_2D
    {12, "activation", 5, FieldType::Byte},  // L2_POOL_2D
    {13, "radius", 0, FieldType::Int},  // LOCAL_RESPONSE_NORMALIZATION
    {16, "activation", 0, FieldType::Byte},  // LSTM
    {16, "kernel_type", 3, FieldType::Byte},  // LSTM
    {17, "padding", 0, FieldType::Byte},  // MAX_POOL_2D
    {17, "stride_w", 1, FieldType::Int},  // MAX_POOL_2D
    {17, "stride_h", 2, FieldType::Int},  // MAX_POOL_2D
    {17, "filter_w", 3, FieldType::Int},  // MAX_POOL_2D
    {17, "filter_h", 4, FieldType::Int},  // MAX_POOL_2D
    {17, "activation", 5, FieldType::Byte},  // MAX_POOL_2D
    {18, "activation", 0, FieldType::Byte},  // MUL
    {22, "new_shape", 0, FieldType::Ints},  // RESHAPE
    {23, "align_corners", 2, FieldType::Boolean},  // RESIZE_BILINEAR
    {23, "half_pixel_centers", 3, FieldType::Boolean},  // RESIZE_BILINEAR
    {24, "activation", 0, FieldType::Byte},  // RNN
    {26, "block_size", 0, FieldType::Int},  // SPACE_TO_DEPTH
    {27, "rank", 0, FieldType::Int},  // SVDF
    {27, "activation", 1, FieldType::Byte},  // SVDF
    {31, "function", 0, FieldType::Function},  // CALL
    {35, "time_major", 0, FieldType::Boolean},  // UNIDIRECTIONAL_SEQUENCE_RNN
    {35, "activation", 1, FieldType::Byte},  // UNIDIRECTIONAL_SEQUENCE_RNN
    {36, "axis", 0, FieldType::Int},  // GATHER
    {36, "batch_dims", 1, FieldType::Int},  // GATHER
    {40, "keep_dims", 0, FieldType::Boolean},  // MEAN
    {41, "activation", 0, FieldType::Byte},  // SUB
    {42, "activation", 0, FieldType::Byte},  // DIV
    {43, "squeeze_dims", 0, FieldType::Ints},  // SQUEEZE
    {44, "activation", 0, FieldType::Byte},  // UNIDIRECTIONAL_SEQUENCE_LSTM
    {44, "time_major", 3, FieldType::Boolean},  // UNIDIRECTIONAL_SEQUENCE_LSTM
    {45, "begin_mask", 0, FieldType::Int},  // STRIDED_SLICE
    {45, "end_mask", 1, FieldType::Int},  // STRIDED_SLICE
    {45, "ellipsis_mask", 2, FieldType::Int},  // STRIDED_SLICE
    {45, "new_axis_mask", 3, FieldType::Int},  // STRIDED_SLICE
    {45, "shrink_axis_mask", 4, FieldType::Int},  // STRIDED_SLICE
    {45, "offset", 5, FieldType::Boolean},  // STRIDED_SLICE
    {46, "time_major", 0, FieldType::Boolean},  // BIDIRECTIONAL_SEQUENCE_RNN
    {46, "activation", 1, FieldType::Byte},  // BIDIRECTIONAL_SEQUENCE_RNN
    {46, "merge_outputs", 2, FieldType::Boolean},  // BIDIRECTIONAL_SEQUENCE_RNN
    {52, "activation", 0, FieldType::Byte},  // BIDIRECTIONAL_SEQUENCE_LSTM
    {52, "merge_outputs", 3, FieldType::Boolean},  // BIDIRECTIONAL_SEQUENCE_LSTM
    {52, "time_major", 4, FieldType::True},  // BIDIRECTIONAL_SEQUENCE_LSTM
    {67, "padding", 0, FieldType::Byte},  // TRANSPOSE_CONV
    {67, "stride_w", 1, FieldType::Int},  // TRANSPOSE_CONV
    {67, "stride_h", 2, FieldType::Int},  // TRANSPOSE_CONV
    {67, "activation", 3, FieldType::Byte},  // TRANSPOSE_CONV
    {74, "keep_dims", 0, FieldType::Boolean},  // SUM
    {81, "keep_dims", 0, FieldType::Boolean},  // REDUCE_PROD
    {82, "keep_dims", 0, FieldType::Boolean},  // REDUCE_MAX
    {83, "values_count", 0, FieldType::Int},  // PACK
    {83, "axis", 1, FieldType::Int},  // PACK
    {85, "axis", 0, FieldType::Int},  // ONE_HOT
    {88, "num", 0, FieldType::Int},  // UNPACK
    {88, "axis", 1, FieldType::Int},  // UNPACK
    {89, "keep_dims", 0, FieldType::Boolean},  // REDUCE_MIN
    {91, "keep_dims", 0, FieldType::Boolean},  // REDUCE_ANY
    {97, "align_corners", 0, FieldType::Boolean},  // RESIZE_NEAREST_NEIGHBOR
    {97, "half_pixel_centers", 1, FieldType::Boolean},  // RESIZE_NEAREST_NEIGHBOR
    {98, "alpha", 0, FieldType::Real},  // LEAKY_RELU
    {100, "mode", 0, FieldType::Byte},  // MIRROR_PAD
    {112, "seq_dim", 0, FieldType::Int},  // REVERSE_SEQUENCE
    {112, "batch_dim", 1, FieldType::Int},  // REVERSE_SEQUENCE
    {118, "then_branch", 0, FieldType::Function},  // IF
    {118, "else_branch", 1, FieldType::Function},  // IF
    {119, "cond", 0, FieldType::Function},  // WHILE
    {119, "body", 1, FieldType::Function},  // WHILE
    {126, "adj_x", 0, FieldType::Boolean},  // BATCH_MATMUL
    {126, "adj_y", 1, FieldType::Boolean},  // BATCH_MATMUL
    {128, "exclusive", 0, FieldType::Boolean},  // CUMSUM
    {128, "reverse", 1, FieldType::Boolean},  // CUMSUM
    {129, "function", 0, FieldType::Function},  // CALL_ONCE
    {132, "padding", 0, FieldType::Byte},  // CONV_3D
    {132, "stride_d", 1, FieldType::Int},  // CONV_3D
    {132, "stride_w", 2, FieldType::Int},  // CONV_3D
    {132, "stride_h", 3, FieldType::Int},  // CONV_3D
    {132, "activation", 4, FieldType::Byte},  // CONV_3D
    {132, "dilation_d", 5, FieldType::One},  // CONV_3D
    {132, "dilation_w", 6, FieldType::One},  // CONV_3D
    {132, "dilation_h", 7, FieldType::One},  // CONV_3D
    {140, "keep_dims", 0, FieldType::Boolean},  // REDUCE_ALL
    {141, "padding", 0, FieldType::Byte},  // CONV_3D_TRANSPOSE
    {141, "stride_d", 1, FieldType::Int},  // CONV_3D_TRANSPOSE
    {141, "stride_w", 2, FieldType::Int},  // CONV_3D_TRANSPOSE
    {141, "stride_h", 3, FieldType::Int},  // CONV_3D_TRANSPOSE
    {141, "activation", 4, FieldType::Byte},  // CONV_3D_TRANSPOSE
    {141, "dilation_d", 5, FieldType::One},  // CONV_3D_TRANSPOSE
    {141, "dilation_w", 6, FieldType::One},  // CONV_3D_TRANSPOSE
    {141, "dilation_h", 7, FieldType::One},  // CONV_3D_TRANSPOSE
    {142, "container", 0, FieldType::Text},  // VAR_HANDLE
    {142, "shared_name", 1, FieldType::Text},  // VAR_HANDLE
    {150, "approximate", 0, FieldType::Boolean},  // GELU
    {206, "name", 0, FieldType::Text},  // STABLEHLO_COMPOSITE
    {206, "function", 1, FieldType::Function},  // STABLEHLO_COMPOSITE
};
// clang-format on

}  // namespace

std::string_view tflite_operator_name(std::int64_t code) {
  return code >= 0 && code < std::int64_t(kNames.size()) ? kNames[std::size_t(code)] : std::string_view{};
}

std::span<const OptionField> tflite_option_fields() { return kFields; }

}  // namespace forerun::tensorflow
