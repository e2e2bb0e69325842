#include "features/sample_graphs.hpp"

#include <string>
#include <utility>
#include <vector>

#include "analysis/analyze.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<Attribute> window(std::int64_t side, std::int64_t stride, std::int64_t pad) {
  return {{"kernel_shape", Ints{side, side}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}};
}
std::int64_t windows_over(std::int64_t length, std::int64_t side, std::int64_t stride, std::int64_t pad) {
  return (length + 2 * pad - side) / stride + 1;
}

struct ConvSpec {
  std::int64_t channels, side = 1, stride = 1, groups = 1;
  bool biased = false;
};

ValueId conv(GraphBuilder& b, ValueId x, const ConvSpec& c) {
  const Dims in = b.dims(x);
  const std::int64_t pad = c.side / 2;
  std::vector<ValueId> inputs = {x, b.parameter("weight", {c.channels, in[1] / c.groups, c.side, c.side})};
  if (c.biased) inputs.push_back(b.parameter("bias", {c.channels}));
  std::vector<Attribute> attributes = window(c.side, c.stride, pad);
  attributes.push_back({"group", c.groups});
  return b.op(
      OpKind::Conv, std::move(inputs),
      {in[0], c.channels, windows_over(in[2], c.side, c.stride, pad), windows_over(in[3], c.side, c.stride, pad)},
      std::move(attributes));
}

ValueId batch_norm(GraphBuilder& b, ValueId x) {
  const Dims channels = {b.dims(x)[1]};
  return b.op(OpKind::BatchNormalization,
              {x, b.parameter("scale", channels), b.parameter("bias", channels),
               b.buffer("mean", DType::Float32, channels), b.buffer("variance", DType::Float32, channels)},
              b.dims(x));
}

ValueId pool(GraphBuilder& b, OpKind kind, ValueId x, std::int64_t side, std::int64_t stride) {
  const Dims in = b.dims(x);
  const std::int64_t pad = side / 2;
  return b.op(kind, {x}, {in[0], in[1], windows_over(in[2], side, stride, pad), windows_over(in[3], side, stride, pad)},
              window(side, stride, pad));
}

ValueId global_pool(GraphBuilder& b, ValueId x) {
  return b.op(OpKind::GlobalAveragePool, {x}, {b.dims(x)[0], b.dims(x)[1], 1, 1});
}

ValueId split_heads(GraphBuilder& b, ValueId x, std::int64_t heads) {
  const Dims in = b.dims(x);
  return b.transpose(b.reshape(x, {in[0], in[1], heads, in[2] / heads}), {0, 2, 1, 3});
}
ValueId merge_heads(GraphBuilder& b, ValueId x) {
  const ValueId by_token = b.transpose(x, {0, 2, 1, 3});
  const Dims in = b.dims(by_token);
  return b.reshape(by_token, {in[0], in[1], in[2] * in[3]});
}

// With what the cache holds already, where the run has one.
ValueId with_cache(GraphBuilder& b, ValueId fresh, const std::string& name) {
  if (!b.run.keeps_cache) return fresh;
  std::vector<ValueId> parts;
  if (b.run.past > 0) {
    Dims held = b.dims(fresh);
    held[2] = b.run.past;
    parts.push_back(b.cache("past_" + name, b.run.activations, held));
  }
  parts.push_back(fresh);
  const ValueId all = b.concat(std::move(parts), 2);
  b.output(all, "present_" + name);
  return all;
}

ValueId gated_layer(GraphBuilder& b, ValueId x) {
  constexpr std::int64_t kHeads = 6, kKeyHeads = 2, kHeadDim = 40, kInner = 688;
  const std::int64_t hidden = b.last_dim(x);
  const ValueId normed = b.rms_norm(x, "input_norm");
  const ValueId q = b.rotate(split_heads(b, b.linear(normed, "q", kHeads * kHeadDim, false), kHeads), kHeadDim);
  ValueId k = b.rotate(split_heads(b, b.linear(normed, "k", kKeyHeads * kHeadDim, false), kKeyHeads), kHeadDim);
  k = with_cache(b, k, "key");
  const ValueId v =
      with_cache(b, split_heads(b, b.linear(normed, "v", kKeyHeads * kHeadDim, false), kKeyHeads), "value");
  std::vector<Attribute> attributes = {
      {"q_num_heads", kHeads}, {"kv_num_heads", kKeyHeads}, {"is_causal", std::int64_t{b.run.tokens > 1}}};
  if (b.run.past > 0) attributes.push_back({"past", b.run.past});
  const ValueId attended = b.op(OpKind::Attention, {q, k, v}, b.dims(q), std::move(attributes));
  x = b.add(x, b.linear(merge_heads(b, attended), "o", hidden, false));
  const ValueId second = b.rms_norm(x, "post_norm");
  const ValueId gate = b.activation(b.linear(second, "gate", kInner, false), "silu");
  return b.add(x, b.linear(b.mul(gate, b.linear(second, "up", kInner, false)), "down", hidden, false));
}

ValueId plain_layer(GraphBuilder& b, ValueId x) {
  constexpr std::int64_t kHeads = 4, kInner = 960;
  const std::int64_t hidden = b.last_dim(x);
  const auto parts = b.split(b.linear(b.layer_norm(x, "norm1"), "qkv", 3 * hidden, true), {hidden, hidden, hidden});
  const ValueId q = split_heads(b, parts[0], kHeads), k = split_heads(b, parts[1], kHeads),
                v = split_heads(b, parts[2], kHeads);
  const ValueId scores = b.scale(b.matmul(q, b.transpose(k, {0, 1, 3, 2})));
  const ValueId mixed = b.matmul(b.softmax(scores, true), v);
  x = b.add(x, b.linear(merge_heads(b, mixed), "proj", hidden, true));
  const ValueId inner = b.activation(b.linear(b.layer_norm(x, "norm2"), "fc1", kInner, true), "gelu");
  return b.add(x, b.linear(inner, "fc2", hidden, true));
}

ValueId routed_layer(GraphBuilder& b, ValueId x) {
  constexpr std::int64_t kExperts = 8, kInner = 320, kChosen = 2;
  const Dims in = b.dims(x);
  Dims routes = in;
  routes.back() = kExperts;
  const ValueId scores = b.softmax(b.linear(x, "router", kExperts, false), true);
  const ValueId out = b.op(OpKind::MoeExperts,
                           {x, b.parameter("gate_up", {kExperts, in[2], 2 * kInner}),
                            b.parameter("down", {kExperts, kInner, in[2]}), scores},
                           in,
                           {{"num_experts", kExperts},
                            {"top_k", kChosen},
                            {"intermediate", kInner},
                            {"gated", std::int64_t{1}},
                            {"experts_touched", 5.5}});
  return b.add(x, out);
}

// As analyze() does for a file. What cannot be done stays in the graph's warnings; a test holds that there are none.
Graph finish(GraphBuilder& b) {
  Graph graph = std::move(b.graph);
  Status done = verify(graph);
  if (done) done = infer_shapes(graph);
  if (done) done = count_costs(graph);
  if (!done) graph.warnings.push_back(done.error().message);
  mark_needed(graph);
  return graph;
}

}  // namespace

Graph sample_convolutions() {
  GraphBuilder b({}, 64);
  b.graph.origin.framework = Framework::PyTorch;
  const auto unit = [&b](ValueId x, const ConvSpec& spec) { return batch_norm(b, conv(b, x, spec)); };
  ValueId x = b.input("image", DType::Float32, {3, 3, 60, 60});
  x = b.unary(OpKind::Relu, unit(x, {.channels = 24, .side = 7, .stride = 2}));
  x = pool(b, OpKind::MaxPool, x, 3, 2);
  const ValueId shortcut = x;
  x = b.unary(OpKind::Clip, unit(x, {.channels = 72}));
  x = b.unary(OpKind::HardSwish, unit(x, {.channels = 72, .side = 3, .groups = 72}));
  ValueId squeezed = b.unary(OpKind::Relu, conv(b, global_pool(b, x), {.channels = 18, .biased = true}));
  squeezed = b.unary(OpKind::Sigmoid, conv(b, squeezed, {.channels = 72, .biased = true}));
  x = b.add(unit(b.mul(x, squeezed), {.channels = 24}), shortcut);
  x = b.unary(OpKind::Relu, unit(x, {.channels = 56, .side = 3, .stride = 2, .groups = 4}));
  x = pool(b, OpKind::AveragePool, x, 3, 1);
  x = b.unary(OpKind::Relu, conv(b, x, {.channels = 96, .side = 3, .biased = true}));
  x = b.op(OpKind::Flatten, {global_pool(b, x)}, {3, 96}, {{"axis", std::int64_t{1}}});
  x = b.op(OpKind::Gemm, {x, b.parameter("head", {100, 96}), b.parameter("head_bias", {100})}, {3, 100},
           {{"transB", std::int64_t{1}}});
  b.output(x, "classes");
  return finish(b);
}

Graph sample_transformer(Phase phase) {
  RunShape run;
  run.phase = phase;
  run.batch = 3;
  run.tokens = phase == Phase::Decode ? 1 : 45;
  run.past = phase == Phase::Decode ? 150 : 0;
  run.keeps_cache = phase != Phase::Forward;
  run.activations = run.weights = run.linear.dtype = phase == Phase::Forward ? DType::Float32 : DType::BFloat16;
  GraphBuilder b(run, 96);
  b.graph.origin.form = GraphForm::WrittenOut;
  b.graph.origin.task = NetworkTask::Language;
  constexpr std::int64_t kVocabulary = 3000, kHidden = 240;
  const ValueId ids = b.input("input_ids", DType::Int64, {run.batch, run.tokens});
  ValueId x = b.embedding(b.parameter("embedding", {kVocabulary, kHidden}), ids);
  x = gated_layer(b, x);
  if (phase != Phase::Forward) x = routed_layer(b, x);
  x = b.linear(b.rms_norm(plain_layer(b, x), "norm"), "head", kVocabulary, false);
  b.output(x, "logits");
  return finish(b);
}

Graph sample_mix() {
  GraphBuilder b({}, 64);
  const auto reduced = [&b](OpKind kind, ValueId x) {
    Dims out = b.dims(x);
    out.back() = 1;
    return b.op(kind, {x, b.constant({-1})}, out);
  };
  const ValueId image = b.input("image", DType::Float32, {2, 30, 22, 22});
  ValueId x = b.op(OpKind::ConvTranspose, {image, b.parameter("up", {30, 18, 2, 2})}, {2, 18, 44, 44}, window(2, 2, 0));
  x = b.op(OpKind::Resize, {x, kNoValue, kNoValue, b.constant({2, 18, 22, 22})}, {2, 18, 22, 22},
           {{"mode", std::string("linear")}});
  x = b.concat({x, b.slice(image, 1, 0, 12)}, 1);
  const Dims channels = {30}, shape = b.dims(x);
  x = b.op(OpKind::GroupNormalization, {x, b.parameter("scale", channels), b.parameter("bias", channels)}, shape,
           {{"num_groups", std::int64_t{5}}});
  x = b.mul(x, b.unary(OpKind::Sigmoid, x));
  x = b.op(OpKind::InstanceNormalization, {x, b.parameter("scale", channels), b.parameter("bias", channels)}, shape);
  const ValueId erf = b.unary(OpKind::Erf, b.op(OpKind::Div, {x, b.buffer("root", DType::Float32, {})}, shape));
  x = b.scale(b.mul(x, b.op(OpKind::Add, {erf, b.buffer("one", DType::Float32, {})}, shape)));
  x = b.op(OpKind::Pad, {x, b.constant({0, 0, 1, 1, 0, 0, 1, 1})}, {2, 30, 24, 24});
  x = pool(b, OpKind::MaxPool, x, 3, 1);
  x = b.transpose(b.reshape(x, {2, 30, 576}), {0, 2, 1});
  x = b.layer_norm(x, "norm");
  const ValueId centred = b.op(OpKind::Sub, {x, reduced(OpKind::ReduceMean, x)}, b.dims(x));
  const ValueId spread =
      b.unary(OpKind::Sqrt, reduced(OpKind::ReduceMean, b.op(OpKind::Pow, {centred, b.scalar(2)}, b.dims(x))));
  x = b.op(OpKind::Div, {centred, spread}, b.dims(x));
  x = b.softmax(b.matmul(x, b.transpose(x, {0, 2, 1})), false);
  x = b.op(OpKind::Gather, {x, b.constant({0, 5, 9, 100, 301})}, {2, 5, 576}, {{"axis", std::int64_t{1}}});
  constexpr std::int64_t kState = 50;
  x = b.op(OpKind::LSTM,
           {x, b.parameter("input_gates", {1, 4 * kState, 576}), b.parameter("state_gates", {1, 4 * kState, kState})},
           {2, 1, 5, kState}, {{"hidden_size", kState}});
  x = b.op(OpKind::CumSum, {b.unary(OpKind::Tanh, x), b.scalar(3)}, b.dims(x));
  b.output(reduced(OpKind::ReduceMax, x), "result");
  return finish(b);
}

}  // namespace forerun
