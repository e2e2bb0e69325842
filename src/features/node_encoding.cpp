#include "features/node_encoding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analysis/totals.hpp"
#include "ops/op_table.hpp"

namespace forerun {
namespace {

// The 16 operators of the published inference predictor, by what they do; several of ours share a column.
// clang-format off
enum InferenceColumn : std::int32_t {
  kConv, kConvTranspose, kDense, kBatchMatMul, kBiasAdd, kSoftmax, kDropout, kLayerNorm, kReshape, kTranspose, kAdd, kSplit,
  kMultiply, kSqueeze, kAdaptiveAvgPool, kMaxPool, kInferenceOperators,
};
// clang-format on
// clang-format off
constexpr std::array<const char*, kInferenceOperators> kInferenceOperatorNames = {
    "conv", "conv_transpose", "dense", "batch_matmul", "bias_add", "softmax", "dropout", "layer_norm", "reshape", "transpose",
    "add", "split", "multiply", "squeeze", "adaptive_avg_pool", "max_pool"};
// clang-format on
constexpr std::int32_t kAttributes = 12;
constexpr std::int32_t kInferenceShape = 4;
static_assert(kInferenceOperators + kAttributes + kInferenceShape == kInferenceNodeWidth);

struct ColumnOf {
  OpKind kind;
  InferenceColumn column;
};
// clang-format off
constexpr std::array kInferenceColumns = {
    ColumnOf{OpKind::Conv, kConv}, ColumnOf{OpKind::FusedConv, kConv}, ColumnOf{OpKind::ConvTranspose, kConvTranspose},
    ColumnOf{OpKind::Gemm, kDense}, ColumnOf{OpKind::BiasAdd, kBiasAdd}, ColumnOf{OpKind::Softmax, kSoftmax},
    ColumnOf{OpKind::Dropout, kDropout}, ColumnOf{OpKind::LayerNormalization, kLayerNorm}, ColumnOf{OpKind::Reshape, kReshape},
    ColumnOf{OpKind::Flatten, kReshape}, ColumnOf{OpKind::Transpose, kTranspose}, ColumnOf{OpKind::Add, kAdd},
    ColumnOf{OpKind::Split, kSplit}, ColumnOf{OpKind::Mul, kMultiply}, ColumnOf{OpKind::Squeeze, kSqueeze},
    ColumnOf{OpKind::GlobalAveragePool, kAdaptiveAvgPool}, ColumnOf{OpKind::MaxPool, kMaxPool}};
// clang-format on

// The 97 operators with their own column in the training encoding; the 98th column is for all others.
// clang-format off
constexpr std::array kTrainingKinds = {
    OpKind::Abs, OpKind::Ceil, OpKind::Clip, OpKind::Cos, OpKind::Elu, OpKind::Erf, OpKind::Exp, OpKind::Floor,
    OpKind::Gelu, OpKind::HardSigmoid, OpKind::HardSwish, OpKind::Identity, OpKind::LeakyRelu, OpKind::Log,
    OpKind::LogSoftmax, OpKind::Mish, OpKind::Neg, OpKind::Not, OpKind::Reciprocal, OpKind::Relu, OpKind::Selu,
    OpKind::Sigmoid, OpKind::Sign, OpKind::Sin, OpKind::Softmax, OpKind::Softplus, OpKind::Sqrt, OpKind::Swish,
    OpKind::Tanh, OpKind::Add, OpKind::And, OpKind::Div, OpKind::Equal, OpKind::Greater, OpKind::Less, OpKind::Max,
    OpKind::Mean, OpKind::Min, OpKind::Mul, OpKind::PRelu, OpKind::Pow, OpKind::Sub, OpKind::Sum, OpKind::Where,
    OpKind::Conv, OpKind::ConvTranspose, OpKind::Einsum, OpKind::Gemm, OpKind::MatMul, OpKind::Attention, OpKind::GRU,
    OpKind::LSTM, OpKind::RNN, OpKind::RotaryEmbedding, OpKind::BatchNormalization, OpKind::GroupNormalization,
    OpKind::InstanceNormalization, OpKind::LRN, OpKind::LayerNormalization, OpKind::RMSNormalization, OpKind::AveragePool,
    OpKind::GlobalAveragePool, OpKind::GlobalMaxPool, OpKind::MaxPool, OpKind::ArgMax, OpKind::CumSum, OpKind::ReduceL2,
    OpKind::ReduceMax, OpKind::ReduceMean, OpKind::ReduceProd, OpKind::ReduceSum, OpKind::TopK, OpKind::Cast,
    OpKind::Concat, OpKind::DepthToSpace, OpKind::Dropout, OpKind::Expand, OpKind::Flatten, OpKind::Gather,
    OpKind::GatherElements, OpKind::Pad, OpKind::Reshape, OpKind::Resize, OpKind::ScatterElements, OpKind::ScatterND,
    OpKind::Shape, OpKind::Slice, OpKind::SpaceToDepth, OpKind::Split, OpKind::Squeeze, OpKind::Tile, OpKind::Transpose,
    OpKind::Trilu, OpKind::Unsqueeze, OpKind::GatedActivation, OpKind::MoeRouting, OpKind::MoeExperts};
// clang-format on
static_assert(kTrainingKinds.size() + 1 == kTrainingOperators);
constexpr std::int32_t kTrainingShape = 6;
static_assert(kTrainingOperators + 2 * kTrainingShape + 3 == kTrainingNodeWidth);

const Value* value_at(const Graph& graph, const std::vector<ValueId>& ids, std::size_t index) {
  if (index >= ids.size() || ids[index] == kNoValue) return nullptr;
  return &graph.values[static_cast<std::size_t>(ids[index])];
}

bool is_fixed(const Value* value) { return value != nullptr && (is_stored(*value) || value->is_constant); }

std::optional<InferenceColumn> inference_column(const Graph& graph, const Node& node) {
  if (node.kind == OpKind::MatMul) return is_fixed(value_at(graph, node.inputs, 1)) ? kDense : kBatchMatMul;
  for (const ColumnOf& row : kInferenceColumns) {
    if (row.kind == node.kind) return row.column;
  }
  return std::nullopt;
}

float log1p_of(double value) { return static_cast<float>(std::log1p(std::max(0.0, value))); }

template <typename Scale>
void put_shape(float* out, std::int32_t width, const Value* value, Scale scale) {
  if (value == nullptr || !value->has_shape) return;
  const std::size_t rank = std::min(value->dims.size(), static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < rank; ++i) out[i] = scale(static_cast<double>(value->dims[i]));
}

void put_conv_attributes(float* out, const Graph& graph, const Node& node) {
  const auto pick = [](std::span<const std::int64_t> values, std::size_t i, std::int64_t fallback) {
    return static_cast<float>(i < values.size() ? values[i] : fallback);
  };
  const Value* weight = value_at(graph, node.inputs, 1);
  const Value* output = value_at(graph, node.outputs, 0);
  const auto strides = ints_attribute(node, "strides");
  const auto pads = ints_attribute(node, "pads");
  const auto dilations = ints_attribute(node, "dilations");
  const auto kernel = ints_attribute(node, "kernel_shape");
  for (std::size_t i = 0; i < 2; ++i) out[i] = pick(strides, i, 1);
  for (std::size_t i = 0; i < 4; ++i) out[2 + i] = pick(pads, i, 0);
  for (std::size_t i = 0; i < 2; ++i) out[6 + i] = pick(dilations, i, 1);
  out[8] = static_cast<float>(int_attribute(node, "group", 1));
  out[9] = output != nullptr && output->dims.size() > 1 ? static_cast<float>(output->dims[1]) : 0.0F;
  for (std::size_t i = 0; i < 2; ++i) {
    const bool stored = weight != nullptr && weight->has_shape && weight->dims.size() > 2 + i;
    out[10 + i] = pick(kernel, i, stored ? weight->dims[2 + i] : 1);
  }
}

double batch_of(const Graph& graph, const Workload& workload) {
  if (workload.binding.batch) return static_cast<double>(*workload.binding.batch);
  if (graph.main().inputs.empty()) return 1;
  const Value& input = graph.values[static_cast<std::size_t>(graph.main().inputs.front())];
  return input.has_shape && !input.dims.empty() ? static_cast<double>(std::max<std::int64_t>(1, input.dims.front()))
                                                : 1;
}

GraphTensors start_tensors(const ActiveNodes& active, std::int32_t width, EdgeKind edges) {
  GraphTensors out;
  out.nodes = static_cast<std::int32_t>(active.nodes.size());
  out.node_width = width;
  out.node_features.assign(static_cast<std::size_t>(out.nodes) * static_cast<std::size_t>(width), 0.0F);
  out.sources = make_sparse_rows(out.nodes, edges == EdgeKind::Chain ? chain_edges(out.nodes) : active.edges);
  return out;
}

}  // namespace

GraphTensors encode_inference_nodes(const Graph& graph, const Workload& workload, EdgeKind edges) {
  const ActiveNodes active = list_active_nodes(graph);
  GraphTensors out = start_tensors(active, kInferenceNodeWidth, edges);
  double macs = 0, convolutions = 0, dense = 0, relus = 0;
  for (std::size_t i = 0; i < active.nodes.size(); ++i) {
    const Node& node = graph.main().nodes[static_cast<std::size_t>(active.nodes[i])];
    float* row = out.node_features.data() + i * kInferenceNodeWidth;
    const auto column = inference_column(graph, node);
    if (column) row[*column] = 1;
    const bool is_conv = column == kConv || column == kConvTranspose;
    if (is_conv) put_conv_attributes(row + kInferenceOperators, graph, node);
    put_shape(row + kInferenceOperators + kAttributes, kInferenceShape, value_at(graph, node.outputs, 0),
              [](double dim) { return static_cast<float>(dim); });
    macs += static_cast<double>(node.cost.macs);
    convolutions += is_conv ? 1 : 0;
    dense += column == kDense ? 1 : 0;
    relus += node.kind == OpKind::Relu ? 1 : 0;
  }
  out.globals = {static_cast<float>(batch_of(graph, workload)), static_cast<float>(macs / 1e9),
                 static_cast<float>(convolutions), static_cast<float>(dense), static_cast<float>(relus)};
  return out;
}

GraphTensors encode_training_nodes(const Graph& graph, const Workload& workload, EdgeKind edges) {
  const ActiveNodes active = list_active_nodes(graph);
  GraphTensors out = start_tensors(active, kTrainingNodeWidth, edges);
  double macs = 0, parameters = 0, bytes = 0;
  for (std::size_t i = 0; i < active.nodes.size(); ++i) {
    const Node& node = graph.main().nodes[static_cast<std::size_t>(active.nodes[i])];
    float* row = out.node_features.data() + i * kTrainingNodeWidth;
    const auto found = std::find(kTrainingKinds.begin(), kTrainingKinds.end(), node.kind);
    row[found - kTrainingKinds.begin()] = 1;
    put_shape(row + kTrainingOperators, kTrainingShape, value_at(graph, node.inputs, 0), log1p_of);
    put_shape(row + kTrainingOperators + kTrainingShape, kTrainingShape, value_at(graph, node.outputs, 0), log1p_of);
    const double moved = static_cast<double>(node.cost.bytes_read) + static_cast<double>(node.cost.bytes_written);
    float* costs = row + kTrainingOperators + 2 * kTrainingShape;
    costs[0] = log1p_of(static_cast<double>(node.cost.macs));
    costs[1] = log1p_of(static_cast<double>(node.cost.parameters));
    costs[2] = log1p_of(moved);
    macs += static_cast<double>(node.cost.macs);
    parameters += static_cast<double>(node.cost.parameters);
    bytes += moved;
  }
  out.globals = {log1p_of(batch_of(graph, workload)),
                 log1p_of(out.nodes),
                 log1p_of(static_cast<double>(out.sources.columns.size())),
                 log1p_of(macs),
                 log1p_of(parameters),
                 log1p_of(bytes)};
  return out;
}

void put_training_settings(const Workload& workload, GraphTensors& graph) {
  const bool adaptive = workload.optimizer == Optimizer::Adam || workload.optimizer == Optimizer::AdamW;
  graph.globals.push_back(workload.precision == Precision::Fp32 ? 0.0F : 1.0F);
  graph.globals.push_back(adaptive ? 2.0F : workload.optimizer == Optimizer::Sgd ? 1.0F : 0.0F);
}

std::vector<std::string> inference_feature_names() {
  std::vector<std::string> names;
  for (const char* name : kInferenceOperatorNames) names.push_back(std::string("op:") + name);
  for (const char* name :
       {"stride_0", "stride_1", "pad_0", "pad_1", "pad_2", "pad_3", "dilation_0", "dilation_1", "groups", "channels",
        "kernel_0", "kernel_1", "output_0", "output_1", "output_2", "output_3"}) {
    names.emplace_back(name);
  }
  for (const char* name : {"static:batch", "static:gmacs", "static:convolutions", "static:dense", "static:relus"})
    names.emplace_back(name);
  return names;
}

std::vector<std::string> training_feature_names() {
  std::vector<std::string> names;
  for (const OpKind kind : kTrainingKinds) names.push_back("op:" + std::string(spec_of(kind).name));
  names.emplace_back("op:other");
  for (const char* side : {"input_", "output_"}) {
    for (std::int32_t i = 0; i < kTrainingShape; ++i) names.push_back("log_" + std::string(side) + std::to_string(i));
  }
  for (const char* name : {"log_macs", "log_parameters", "log_bytes", "static:log_batch", "static:log_nodes",
                           "static:log_edges", "static:log_macs", "static:log_parameters", "static:log_bytes"}) {
    names.emplace_back(name);
  }
  return names;
}

}  // namespace forerun
