#include "readers/tensorflow/node_facts.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace forerun::tensorflow {
namespace {

// Outputs of operators that have more than one, by name, in order. Inside functions they are referred to by name.
struct OutputNames {
  std::string_view op;
  std::array<std::string_view, 8> names;
};
constexpr OutputNames kOutputNames[] = {
    {"BlockLSTM", {"i", "cs", "f", "o", "ci", "co", "h"}},
    {"BlockLSTMV2", {"i", "cs", "f", "o", "ci", "co", "h"}},
    {"CudnnRNN", {"output", "output_h", "output_c", "reserve_space"}},
    {"CudnnRNNV2", {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
    {"CudnnRNNV3", {"output", "output_h", "output_c", "reserve_space", "host_reserved"}},
    {"FusedBatchNorm", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
    {"FusedBatchNormV2", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
    {"FusedBatchNormV3",
     {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
    {"LSTMBlockCell", {"i", "cs", "f", "o", "ci", "co", "h"}},
    {"MaxPoolWithArgmax", {"output", "argmax"}},
    {"Merge", {"output", "value_index"}},
    {"NonMaxSuppressionV4", {"selected_indices", "valid_outputs"}},
    {"NonMaxSuppressionV5", {"selected_indices", "selected_scores", "valid_outputs"}},
    {"RefSwitch", {"output_false", "output_true"}},
    {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
    {"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
    {"Svd", {"s", "u", "v"}},
    {"Switch", {"output_false", "output_true"}},
    {"TopK", {"values", "indices"}},
    {"TopKV2", {"values", "indices"}},
    {"Unique", {"y", "idx"}},
    {"UniqueV2", {"y", "idx"}},
    {"UniqueWithCounts", {"y", "idx", "count"}},
};

}  // namespace

DType result_type(const NodeDef& node) {
  std::string_view wanted = "dtype";
  if (node.op == "Cast") wanted = "DstT";
  if (node.op == "Shape" || node.op == "Size" || node.op == "ShapeN") wanted = "out_type";
  if (node.op == "ArgMax" || node.op == "ArgMin") wanted = "output_type";
  for (const AttributeDef& one : node.attributes) {
    if (one.name == wanted) return one.type;
  }
  return DType::Undefined;
}

const AttributeDef* find_attribute(const NodeDef& node, std::string_view name) {
  for (const AttributeDef& one : node.attributes) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

bool is_variable(const NodeDef& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}

bool is_placeholder(const NodeDef& node) { return node.op == "Placeholder" || node.op == "PlaceholderV2"; }

bool is_no_result(const NodeDef& node) {
  static constexpr std::array<std::string_view, 13> kOps = {
      "NoOp",  "Assert",  "Assign",    "AssignVariableOp",   "SaveV2",        "MergeV2Checkpoints", "Print",
      "Const", "Restore", "RestoreV2", "VarIsInitializedOp", "ScalarSummary", "MergeSummary"};
  return is_placeholder(node) || is_variable(node) || std::find(kOps.begin(), kOps.end(), node.op) != kOps.end();
}

std::optional<Reference> read_reference(std::string_view text) {
  if (text.empty() || text.front() == '^') return std::nullopt;
  Reference reference;
  const std::size_t colon = text.find(':');
  reference.node = text.substr(0, colon);
  if (colon == std::string_view::npos) return reference;
  std::string_view rest = text.substr(colon + 1);
  if (const std::size_t second = rest.find(':'); second != std::string_view::npos) {
    reference.output = rest.substr(0, second);
    rest = rest.substr(second + 1);
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error == std::errc{} && end == rest.data() + rest.size()) {
    reference.index = number;
  } else if (reference.output.empty()) {
    reference.output = rest;
  }
  return reference;
}

std::size_t output_index(const NodeDef& node, const Reference& reference) {
  if (reference.output.empty()) return reference.index;
  for (const OutputNames& row : kOutputNames) {
    if (row.op != node.op) continue;
    const auto found = std::find(row.names.begin(), row.names.end(), reference.output);
    if (found != row.names.end()) return std::size_t(found - row.names.begin()) + reference.index;
  }
  return reference.index;
}

}  // namespace forerun::tensorflow
