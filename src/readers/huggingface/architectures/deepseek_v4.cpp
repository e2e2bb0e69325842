// DeepSeek V4: one key-value head of 512 whose keys are its values, kept for a short window and, on most layers,
// compressed (4 to 1 with an indexer that picks entries, or 128 to 1); several residual streams mixed by small
// projections; experts in every layer.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {
namespace {

struct V4Spec {
  std::int64_t heads, head_dim, q_rank, rope_dim, window, out_groups, out_rank;
  std::int64_t index_heads, index_dim, index_top_k, streams;
};

// Appends `fresh` [B, n, width] to `kept` cached entries of this layer.
ValueId append(GraphBuilder& b, ValueId fresh, std::int64_t kept, const std::string& what, std::int64_t layer) {
  if (!b.run.keeps_cache) return fresh;
  Dims shape = b.dims(fresh);
  shape[1] = kept;
  const std::string index = "." + std::to_string(layer);
  std::vector<ValueId> parts;
  if (kept > 0) parts.push_back(b.cache("past_" + what + index, b.run.activations, std::move(shape)));
  parts.push_back(fresh);
  const ValueId all = b.concat(std::move(parts), 1);
  b.output(all, "present_" + what + index);
  return all;
}

// Entries of `ratio` tokens each, weighted by a gate and normed; overlapping windows make two halves. [B, entries,
// width]
ValueId compress(GraphBuilder& b, ValueId x, std::int64_t ratio, std::int64_t width, bool overlaps,
                 const std::string& what, std::int64_t layer) {
  const std::int64_t parts = overlaps ? 2 : 1, tokens = b.run.tokens, batch = b.run.batch;
  const ValueId kv = b.linear(x, "kv_proj", parts * width, false);
  const ValueId gate = b.linear(x, "gate_proj", parts * width, false);
  const ValueId bias = b.parameter("position_bias", {ratio, parts * width});
  const std::int64_t fresh = tokens / ratio, kept = b.run.past / ratio;
  ValueId entries = kNoValue;
  if (fresh > 0) {
    const Dims windows = {batch, fresh, ratio, parts * width};
    const ValueId kv_windows = b.reshape(b.slice(kv, 1, 0, fresh * ratio), windows);
    const ValueId scores = b.add(b.reshape(b.slice(gate, 1, 0, fresh * ratio), windows), bias);
    const ValueId weighted = b.mul(kv_windows, b.softmax(scores, false));
    entries = b.op(OpKind::ReduceSum, {weighted, b.constant({2})}, {batch, fresh, parts * width},
                   {{"keepdims", std::int64_t{0}}});
    if (overlaps) {
      const auto halves = b.split(entries, {width, width});
      entries = b.add(halves[0], halves[1]);
    }
  } else {  // a single token waits until its window is full: it is weighted and held
    const Dims one = {batch, tokens, parts * width};
    const ValueId first = b.slice(bias, 0, 0, 1);
    entries = b.mul(kv, b.unary(OpKind::Sigmoid, b.op(OpKind::Add, {gate, first}, one)));
    if (overlaps) entries = b.split(entries, {width, width})[0];
    entries = b.slice(entries, 1, 0, 1);
  }
  return append(b, b.rms_norm(entries, "kv_norm"), kept, what, layer);
}

ValueId v4_attention(GraphBuilder& b, ValueId x, const V4Spec& spec, std::int64_t ratio, std::int64_t layer) {
  const std::int64_t batch = b.run.batch, tokens = b.run.tokens, hidden = b.last_dim(x),
                     width = spec.heads * spec.head_dim;
  const ValueId latent = b.rms_norm(b.linear(x, "q_a_proj", spec.q_rank, false), "q_a_norm");
  ValueId q = split_heads(b, b.linear(latent, "q_b_proj", width, false), spec.heads, spec.head_dim);
  q = b.rotate(b.rms_norm(q, "q_b_norm", false), spec.rope_dim, true);
  ValueId kv = b.rms_norm(b.linear(x, "kv_proj", spec.head_dim, false), "kv_norm");
  kv = b.reshape(b.rotate(b.reshape(kv, {batch, 1, tokens, spec.head_dim}), spec.rope_dim, true),
                 {batch, tokens, spec.head_dim});
  kv = append(b, kv, std::min(b.run.past, spec.window - 1), "key", layer);
  const std::int64_t near = b.dims(kv)[1];
  std::int64_t seen = std::min(near, spec.window);
  if (ratio > 0) {
    const Scope scope(b, "compressor.");
    const bool has_index = ratio < 64;
    ValueId far = compress(b, x, ratio, spec.head_dim, has_index, "compressed", layer);
    std::int64_t entries = b.dims(far)[1];
    if (has_index) {
      const Scope inner(b, "indexer.");
      const ValueId keys = compress(b, x, ratio, spec.index_dim, true, "index", layer);
      const ValueId queries = split_heads(b, b.linear(latent, "q_b_proj", spec.index_heads * spec.index_dim, false),
                                          spec.index_heads, spec.index_dim);
      const std::int64_t count = b.dims(keys)[1];
      const ValueId by_head = b.reshape(keys, {batch, 1, count, spec.index_dim});
      ValueId scores = b.unary(OpKind::Relu, b.matmul(queries, b.transpose(by_head, {0, 1, 3, 2})));
      const ValueId weights = b.linear(x, "scorer.weights_proj", spec.index_heads, false);
      scores = b.mul(scores, b.transpose(b.reshape(weights, {batch, tokens, spec.index_heads, 1}), {0, 2, 1, 3}));
      const ValueId total =
          b.op(OpKind::ReduceSum, {scores, b.constant({1})}, {batch, tokens, count}, {{"keepdims", std::int64_t{0}}});
      const Dims chosen = {batch, tokens, std::min(spec.index_top_k, count)};
      b.ops(OpKind::TopK, {total, b.constant({chosen[2]})}, {{b.run.activations, chosen}, {DType::Int64, chosen}},
            {{"axis", std::int64_t{-1}}});
      entries = std::min(entries, spec.index_top_k);
    }
    kv = b.concat({kv, far}, 1);
    seen += entries;
  }
  const std::int64_t keys = b.dims(kv)[1];
  const ValueId shared = b.reshape(kv, {batch, 1, keys, spec.head_dim});
  AttentionSpec attention{.heads = spec.heads, .kv_heads = 1, .head_dim = spec.head_dim};
  attention.window = seen < keys ? seen : 0;
  ValueId y = attend(b, {q, shared, shared}, attention);
  // Sinks take their share of the softmax: one logit per head.
  y = b.mul(y, b.unary(OpKind::Sigmoid, b.reshape(b.parameter("sinks", {spec.heads}), {1, spec.heads, 1, 1})));
  // The output projection works on groups of heads, then mixes the groups.
  const std::int64_t group_width = width / spec.out_groups;
  const ValueId grouped = b.reshape(merge_heads(b, y), {batch * tokens, spec.out_groups, group_width});
  const ValueId by_group = b.transpose(grouped, {1, 0, 2});
  const ValueId projected =
      b.matmul(by_group, b.weight("o_a_proj.weight", {spec.out_groups, group_width, spec.out_rank}, b.run.linear));
  const ValueId flat = b.reshape(b.transpose(projected, {1, 0, 2}), {batch, tokens, spec.out_groups * spec.out_rank});
  return b.linear(flat, "o_b_proj", hidden, false);
}

struct Streams {
  ValueId all;        // [B, S, N, D]
  ValueId collapsed;  // [B, S, D]
  ValueId post, comb;
};

// Weights that collapse the streams into a block's input and spread its output over them again.
Streams connect(GraphBuilder& b, ValueId all, std::string_view name, std::int64_t streams) {
  const Dims shape = b.dims(all);
  const std::int64_t count = (2 + streams) * streams, width = streams * shape[3];
  const std::string module(name);
  const ValueId flat = b.rms_norm(b.reshape(all, {shape[0], shape[1], width}), module + ".input_norm", false);
  ValueId weights =
      b.op(OpKind::MatMul, {flat, b.parameter(module + ".fn", {width, count})}, {shape[0], shape[1], count});
  weights = b.add(weights, b.parameter(module + ".base", {count}));
  const auto parts = b.split(weights, {streams, streams, streams * streams});
  const ValueId scales = b.parameter(module + ".scale", {3});
  const ValueId pre = b.unary(OpKind::Sigmoid, b.mul(parts[0], b.slice(scales, 0, 0, 1)));
  const ValueId post = b.unary(OpKind::Sigmoid, parts[1]);
  const ValueId comb = b.softmax(b.reshape(parts[2], {shape[0], shape[1], streams, streams}), false);
  const ValueId collapsed = b.matmul(b.reshape(pre, {shape[0], shape[1], 1, streams}), all);
  return {all, b.reshape(collapsed, {shape[0], shape[1], shape[3]}), post, comb};
}

ValueId spread(GraphBuilder& b, const Streams& streams, ValueId y) {
  const Dims shape = b.dims(streams.all);
  const ValueId out = b.matmul(b.reshape(streams.post, {shape[0], shape[1], shape[2], 1}),
                               b.reshape(y, {shape[0], shape[1], 1, shape[3]}));
  return b.add(out, b.matmul(b.transpose(streams.comb, {0, 1, 3, 2}), streams.all));
}

}  // namespace

void build_deepseek_v4(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 129280,
                                            .hidden = 4096,
                                            .intermediate = 2048,
                                            .layers = 43,
                                            .heads = 64,
                                            .kv_heads = 1,
                                            .head_dim = 512,
                                            .max_positions = 1048576});
  V4Spec v4;
  v4.heads = spec.layer.attention.heads;
  v4.head_dim = spec.layer.attention.head_dim;
  v4.q_rank = config.size("q_lora_rank", 1024);
  v4.rope_dim = std::min(config.size("qk_rope_head_dim", 64), v4.head_dim);
  v4.window = config.size("sliding_window", 128);
  v4.out_groups = config.size("o_groups", 8);
  v4.out_rank = config.size("o_lora_rank", 1024);
  v4.index_heads = config.size("index_n_heads", 64);
  v4.index_dim = config.size("index_head_dim", 128);
  v4.index_top_k = config.size("index_topk", 512);
  v4.streams = std::min<std::int64_t>(config.size("hc_mult", 4), 64);
  if ((v4.heads * v4.head_dim) % v4.out_groups != 0) {
    config.fail("the heads do not divide into o_groups");
    return;
  }
  MoeSpec moe;
  moe.experts = config.size("n_routed_experts", 256);
  moe.top_k = config.size("num_experts_per_tok", 6);
  moe.intermediate = config.size("moe_intermediate_size", 2048);
  moe.shared_intermediate = config.count("n_shared_experts", 1) * moe.intermediate;
  moe.sigmoid_scores = moe.score_correction = true;
  const auto ratios = config.integers("compress_ratios");
  const auto types = config.texts("layer_types");
  const auto ratio_of = [&](std::int64_t i) -> std::int64_t {
    if (std::size_t(i) < ratios.size()) return std::max<std::int64_t>(ratios[std::size_t(i)], 0);
    if (std::size_t(i) < types.size()) {
      return types[std::size_t(i)] == "sliding_attention"             ? 0
             : types[std::size_t(i)] == "compressed_sparse_attention" ? 4
                                                                      : 128;
    }
    return i > 2 && i % 2 == 1 ? 4 : 128;
  };
  spec.layer.moe = moe;
  state_facts(b, spec);
  const std::int64_t batch = b.run.batch, tokens = b.run.tokens, width = v4.streams * spec.hidden;
  const ValueId ids = b.input("input_ids", DType::Int64, {batch, tokens});
  const ValueId table = b.parameter("model.embed_tokens.weight", {spec.vocabulary, spec.hidden});
  const Dims wide = {batch, tokens, v4.streams, spec.hidden};
  ValueId x = b.op(OpKind::Expand,
                   {b.reshape(b.embedding(table, ids), {batch, tokens, 1, spec.hidden}), b.constant(wide)}, wide);
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    const Scope scope(b, "model.layers." + std::to_string(i) + ".");
    const Streams into = connect(b, x, "attn_hc", v4.streams);
    const ValueId normed = b.rms_norm(into.collapsed, "input_layernorm");
    {
      const Scope module(b, "self_attn.");
      x = spread(b, into, v4_attention(b, normed, v4, ratio_of(i), i));
    }
    const Streams mixed = connect(b, x, "ffn_hc", v4.streams);
    const ValueId second = b.rms_norm(mixed.collapsed, "post_attention_layernorm");
    const Scope module(b, "mlp.");
    x = spread(b, mixed, mixture(b, second, moe));
  }
  // The streams are collapsed once more before the last norm.
  const ValueId flat = b.rms_norm(b.reshape(x, {batch, tokens, width}), "model.hc_head.input_norm", false);
  ValueId weights = b.op(OpKind::MatMul, {flat, b.parameter("model.hc_head.hc_fn", {width, v4.streams})},
                         {batch, tokens, v4.streams});
  weights = b.add(b.mul(weights, b.parameter("model.hc_head.hc_scale", {1})),
                  b.parameter("model.hc_head.hc_base", {v4.streams}));
  const ValueId collapsed = b.matmul(b.reshape(b.unary(OpKind::Sigmoid, weights), {batch, tokens, 1, v4.streams}), x);
  decoder_head(b, b.reshape(collapsed, {batch, tokens, spec.hidden}), table, spec);
}

}  // namespace forerun
