// Builds the graph of a configuration node by node, with ONNX semantics and every shape known. Layers are made of the
// operators PyTorch runs for Hugging Face's implementation; views (Reshape, Transpose) stay visible.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

// What the network is built for: decides heads, masks and phases.
enum class Task : std::uint8_t { Encoder, Causal, Seq2Seq };

// How weights of linear layers are stored: elements of `dtype`, and for every `group` inputs of an output channel
// (0 = all of them) `group_bytes` more for scales and zero points.
struct WeightStorage {
  DType dtype = DType::Float32;
  std::int64_t group = 0;
  double group_bytes = 0;
};

// One run of the network.
struct RunShape {
  Task task = Task::Causal;
  Phase phase = Phase::Forward;
  std::int64_t batch = 1;
  std::int64_t tokens = 1;          // per sequence in this run: the prompt, or 1 in decode
  std::int64_t past = 0;            // tokens already in the cache
  std::int64_t encoder_tokens = 0;  // Seq2Seq: length of the encoder's sequence
  bool keeps_cache = false;         // prefill and decode return keys and values
  bool last_logits_only = false;
  bool has_head = true;      // Seq2Seq: with the language-model head
  bool force_eager = false;  // the configuration asks for eager attention
  bool force_sdpa = false;
  Shard shard;  // what of the network is written out
  DType activations = DType::Float32;
  DType weights = DType::Float32;  // of embeddings, norms and biases
  WeightStorage linear;            // of linear layers' weights
  WeightStorage experts;           // of routed experts' weights
};

class GraphBuilder;

// Appends to the builder's scope while it lives.
class Scope {
 public:
  Scope(GraphBuilder& b, std::string_view part);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  GraphBuilder& b_;
  std::size_t size_;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const RunShape& run, std::size_t expected_nodes = 4096);

  const RunShape run;
  Graph graph;
  bool reuses_names = false;  // the same name gives the same parameter: layers that share weights
  std::string scope;          // prefix of parameter names, e.g. "model.layers.3."; also names the nodes

  [[nodiscard]] const Dims& dims(ValueId id) const { return graph.values[std::size_t(id)].dims; }
  [[nodiscard]] std::int64_t last_dim(ValueId id) const { return dims(id).back(); }
  [[nodiscard]] DType dtype(ValueId id) const { return graph.values[std::size_t(id)].dtype; }

  ValueId input(std::string name, DType dtype, Dims dims);
  ValueId cache(std::string name, DType dtype, Dims dims);  // state that the run reads
  void output(ValueId value, std::string name);
  void warn(std::string message);  // once

  // One rank's share (shard.hpp).
  void refuse(std::string message);  // the first one is the reason why the network cannot be written out
  void note_message(Collective collective, ShardAxis axis, double bytes);
  void begin_layer() { graph.layer_starts.push_back(NodeId(graph.main().nodes.size())); }
  void end_layers() { begin_layer(); }
  // The layers of `count` that this rank's stage holds: [first, last); and which ends of the network it has.
  struct Stage {
    std::int64_t first, last;
    bool has_input, has_output;
  };
  Stage stage_of(std::int64_t count);
  std::string refusal;
  bool takes_stage = false, gathers_context = false, has_experts = false;
  int divided_depth = 0;
  double divided_elements = 0;  // of weights made while divided_depth > 0

  // Weights. Names are relative to the scope; `weight` is stored as the precision says, `parameter` always as floats.
  ValueId weight(std::string_view name, Dims dims, const WeightStorage& storage);
  ValueId parameter(std::string_view name, Dims dims);
  ValueId buffer(std::string_view name, DType dtype, Dims dims);  // stored, but not trained
  ValueId constant(const std::vector<std::int64_t>& contents);    // one-dimensional, shared between uses
  ValueId scalar(std::int64_t content);

  // One node with one output.
  ValueId op(OpKind kind, std::vector<ValueId> inputs, Dims out, std::vector<Attribute> attributes = {});
  ValueId op_as(DType out_type, OpKind kind, std::vector<ValueId> inputs, Dims out,
                std::vector<Attribute> attributes = {});
  // One node with several outputs.
  std::vector<ValueId> ops(OpKind kind, std::vector<ValueId> inputs, const std::vector<std::pair<DType, Dims>>& outs,
                           std::vector<Attribute> attributes = {});

  ValueId linear(ValueId x, std::string_view name, std::int64_t out_features, bool bias);
  ValueId embedding(ValueId table, ValueId ids);
  ValueId layer_norm(ValueId x, std::string_view name, bool weight = true, bool bias = true);
  ValueId rms_norm(ValueId x, std::string_view name, bool weight = true);
  ValueId activation(ValueId x, std::string_view name);  // Hugging Face's names: gelu, gelu_new, silu, relu2, …
  ValueId add(ValueId a, ValueId b);
  ValueId mul(ValueId a, ValueId b);
  ValueId scale(ValueId x);  // times a number
  ValueId unary(OpKind kind, ValueId x) { return op_as(dtype(x), kind, {x}, dims(x)); }
  ValueId cast(ValueId x, DType to);            // x itself when it has that type
  ValueId softmax(ValueId x, bool in_float32);  // in_float32: softmax(dtype=float32) and back, as eager attention does
  ValueId reshape(ValueId x, Dims to);
  ValueId transpose(ValueId x, const std::vector<std::int64_t>& permutation);
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis);
  ValueId slice(ValueId x, std::int64_t axis, std::int64_t start, std::int64_t length);
  std::vector<ValueId> split(ValueId x, const std::vector<std::int64_t>& sizes);  // along the last axis
  ValueId matmul(ValueId a, ValueId b);
  // x [B, S, D] times the transposed table [V, D]: a head tied to its embedding.
  ValueId tied_head(ValueId x, ValueId table);

  // first … first+count-1, int64 [count]; the positions of this run's tokens are the input `position_ids`.
  ValueId positions(std::int64_t first, std::int64_t count);
  // cos and sin [1, tokens, rotary_dim / 2], made once per set of frequencies.
  std::pair<ValueId, ValueId> rotary_tables(std::int64_t rotary_dim, std::string_view which = {});
  // x [B, heads, S, head_dim] with its first rotary_dim dimensions rotated.
  ValueId rotate(ValueId x, std::int64_t rotary_dim, bool interleaved = false, std::string_view which = {});
  // The additive or boolean mask of queries over keys, [1, 1, queries, keys], made once per kind.
  ValueId causal_mask(std::int64_t queries, std::int64_t keys, std::int64_t window, bool additive);

  // A bias by distance and head, with the causal mask in it: [1, heads, queries, keys], made once.
  ValueId alibi_mask(std::int64_t heads, std::int64_t queries, std::int64_t keys);

 private:
  struct RotaryTable {
    std::int64_t dim;
    std::string which;
    ValueId cos, sin;
  };
  struct Mask {
    std::int64_t queries, keys, window;
    bool additive;
    ValueId value;
  };
  ValueId new_value(DType dtype, Dims dims);
  ValueId stored(std::string_view name, DType dtype, Dims dims, ValueRole role);

  std::unordered_map<std::string, ValueId> by_name_;  // filled while reuses_names
  std::vector<std::pair<std::vector<std::int64_t>, ValueId>> constants_;
  std::vector<std::pair<std::int64_t, ValueId>> scalars_;
  std::vector<std::pair<DType, ValueId>> scales_;
  ValueId position_ids_ = kNoValue;
  ValueId alibi_ = kNoValue;
  std::string module_scope_;  // scope of the last node, and its module
  std::int32_t module_ = kNoModule;
  std::vector<RotaryTable> rotary_;
  std::vector<Mask> masks_;
};

}  // namespace forerun
