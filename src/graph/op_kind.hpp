// The supported operators. Each has one row in ops/op_table.cpp; other operators stay in the graph as Unknown.
#pragma once

#include <cstdint>

namespace forerun {

// clang-format off
enum class OpKind : std::uint16_t {
  Unknown,
  // Element-wise, one input
  Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, BitwiseNot, Ceil, Celu, Clip, Cos, Cosh, Elu, Erf, Exp, Floor, Gelu,
  HardSigmoid, HardSwish, Hardmax, Identity, IsInf, IsNaN, LeakyRelu, Log, LogSoftmax, Mish, Neg, Not, Reciprocal,
  Relu, Round, Selu, Shrink, Sigmoid, Sign, Sin, Sinh, Softmax, Softplus, Softsign, Sqrt, Swish, Tan, Tanh,
  ThresholdedRelu,
  // Element-wise, several inputs
  Add, And, BitShift, BitwiseAnd, BitwiseOr, BitwiseXor, Div, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Max,
  Mean, Min, Mod, Mul, Or, PRelu, Pow, Sub, Sum, Where, Xor,
  // Matrix products and convolutions
  Conv, ConvInteger, ConvTranspose, DeformConv, Einsum, Gemm, MatMul, MatMulInteger, QLinearConv, QLinearMatMul,
  // Attention and recurrent cells
  Attention, GRU, LSTM, RNN, RotaryEmbedding,
  // Normalisation
  BatchNormalization, GroupNormalization, InstanceNormalization, LRN, LayerNormalization, LpNormalization,
  MeanVarianceNormalization, RMSNormalization,
  // Pooling
  AveragePool, GlobalAveragePool, GlobalLpPool, GlobalMaxPool, LpPool, MaxPool, MaxRoiPool, MaxUnpool, RoiAlign,
  // Reductions
  ArgMax, ArgMin, CumSum, ReduceL1, ReduceL2, ReduceLogSum, ReduceLogSumExp, ReduceMax, ReduceMean, ReduceMin,
  ReduceProd, ReduceSum, ReduceSumSquare, TopK,
  // Moving and shaping data
  Cast, CastLike, CenterCropPad, Col2Im, Compress, Concat, Constant, ConstantOfShape, DepthToSpace, Dropout, Expand,
  EyeLike, Flatten, Gather, GatherElements, GatherND, GridSample, OneHot, Pad, Range, Reshape, Resize,
  ReverseSequence, Scatter, ScatterElements, ScatterND, Shape, Size, Slice, SpaceToDepth, Split, Squeeze,
  TensorScatter, Tile, Transpose, Trilu, Unique, Unsqueeze, Upsample, AffineGrid, BitCast,
  // Random and others
  Bernoulli, BlackmanWindow, Det, DFT, HammingWindow, HannWindow, ImageDecoder, MelWeightMatrix, Multinomial,
  NegativeLogLikelihoodLoss, NonMaxSuppression, NonZero, RandomNormal, RandomNormalLike, RandomUniform,
  RandomUniformLike, RegexFullMatch, SoftmaxCrossEntropyLoss, STFT, StringConcat, StringNormalizer, StringSplit,
  TfIdfVectorizer,
  // Quantisation
  DequantizeLinear, DynamicQuantizeLinear, QuantizeLinear,
  // Control flow, sequences and optionals
  If, Loop, Scan, ConcatFromSequence, Optional, OptionalGetElement, OptionalHasElement, SequenceAt, SequenceConstruct,
  SequenceEmpty, SequenceErase, SequenceInsert, SequenceLength, SequenceMap, SplitToSequence,
  // ai.onnx.ml
  ArrayFeatureExtractor, Binarizer, CastMap, CategoryMapper, DictVectorizer, FeatureVectorizer, Imputer, LabelEncoder,
  LinearClassifier, LinearRegressor, Normalizer, OneHotEncoder, SVMClassifier, SVMRegressor, Scaler, TreeEnsemble,
  TreeEnsembleClassifier, TreeEnsembleRegressor, ZipMap,
  // com.microsoft and other runtimes
  MsAttention, BeamSearch, BiasAdd, BiasDropout, BiasGelu, BiasSoftmax, BiasSplitGelu, ConcatTraining,
  DecoderMaskedMultiHeadAttention, DecoderMaskedSelfAttention, DynamicQuantizeLSTM, DynamicQuantizeMatMul,
  EmbedLayerNormalization, FastGelu, FusedConv, FusedGemm, FusedMatMul, FusedMatMulActivation,
  GatedRelativePositionBias, GatherBlockQuantized, GatherGrad, GreedySearch, GridSampleMs, GroupNorm,
  GroupQueryAttention, Inverse, LongformerAttention, MatMulBnb4, MatMulFpQ4, MatMulInteger16, MatMulIntegerToFloat,
  MatMulNBits, MoE, MultiHeadAttention, NGramRepeatBlock, NhwcConv, NhwcFusedConv, NhwcMaxPool, PackedAttention,
  PackedMultiHeadAttention, PagedAttention, QAttention, QEmbedLayerNormalization, QGemm, QLinearAdd,
  QLinearAveragePool, QLinearConcat, QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearMul, QLinearSigmoid,
  QLinearSoftmax, QLinearWhere, QMoE, QuickGelu, RelativePositionBias, RemovePadding, RestorePadding, Sampling,
  SkipGroupNorm, SkipLayerNormalization, SkipSimplifiedLayerNormalization, SimplifiedLayerNormalization,
  SparseAttention, Tokenizer, TransposeMatMul, UnfoldTensor, WhisperBeamSearch,
  // Gradients in training graphs
  BatchNormalizationGrad, BiasFastGeluGrad, BiasGeluGrad, ConvGrad, DropoutGrad, FastGeluGrad, GeluGrad,
  LayerNormalizationGrad, LogSoftmaxGrad, ReluGrad, SigmoidGrad, SimplifiedLayerNormalizationGrad, SliceGrad,
  SoftmaxCrossEntropyLossGrad, SoftmaxGrad, TanhGrad, YieldOp,
  // Built by readers that expand a configuration
  GatedActivation, MoeRouting, MoeExperts,
  Count,
};
// clang-format on

}  // namespace forerun
