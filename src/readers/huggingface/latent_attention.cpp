#include "readers/huggingface/latent_attention.hpp"

#include <algorithm>
#include <string>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/shard.hpp"

namespace forerun {
namespace {

// Appends `fresh` [B, S, width] to the cache of this layer along the tokens.
ValueId cached(GraphBuilder& b, ValueId fresh, const std::string& what, std::int64_t layer) {
  if (!b.run.keeps_cache) return fresh;
  std::vector<ValueId> parts;
  const std::string index = "." + std::to_string(layer);
  if (b.run.past > 0) {
    Dims shape = b.dims(fresh);
    shape[1] = b.run.past;
    parts.push_back(b.cache("past_" + what + index, b.run.activations, std::move(shape)));
  }
  parts.push_back(fresh);
  const ValueId all = b.concat(std::move(parts), 1);
  b.output(all, "present_" + what + index);
  return all;
}

// Scores every key with a few small heads and keeps the best; the choice itself is the TopK's output.
void index_keys(GraphBuilder& b, ValueId x, ValueId q_latent, const MlaSpec& spec, std::int64_t layer) {
  const Scope scope(b, "indexer.");
  const std::int64_t heads = spec.index_heads, dim = spec.index_dim;
  ValueId q = split_heads(b, b.linear(q_latent, "wq_b", heads * dim, false), heads, dim);
  ValueId k = b.layer_norm(b.linear(x, "wk", dim, false), "k_norm");
  q = b.rotate(q, std::min(spec.rope_dim, dim));
  k = cached(b, k, "index_key", layer);
  const Dims keys = b.dims(k);
  const ValueId by_head = b.reshape(k, {keys[0], 1, keys[1], dim});
  ValueId scores = b.unary(OpKind::Relu, b.matmul(q, b.transpose(by_head, {0, 1, 3, 2})));  // [B, H, S, keys]
  const ValueId weights = b.linear(x, "weights_proj", heads, false);
  const Dims shape = b.dims(scores);
  const ValueId by_query = b.transpose(b.reshape(weights, {shape[0], shape[2], heads, 1}), {0, 2, 1, 3});
  scores = b.mul(scores, by_query);
  const ValueId total = b.op(OpKind::ReduceSum, {scores, b.constant({1})}, {shape[0], shape[2], shape[3]},
                             {{"keepdims", std::int64_t{0}}});
  const std::int64_t top = std::min(spec.index_top_k, shape[3]);
  const Dims chosen = {shape[0], shape[2], top};
  b.ops(OpKind::TopK, {total, b.constant({top})}, {{b.run.activations, chosen}, {DType::Int64, chosen}},
        {{"axis", std::int64_t{-1}}});
}

}  // namespace

ValueId latent_attention(GraphBuilder& b, ValueId x, const MlaSpec& spec, std::int64_t layer) {
  const std::int64_t heads = heads_of_rank(b, spec.heads), batch = b.run.batch, tokens = b.run.tokens;
  refuse_context(b, "latent attention");
  if (b.run.shard.tensor > 1) b.warn("the latent key-value cache is whole on every tensor-parallel rank");
  const std::int64_t hidden = b.last_dim(x);
  const std::int64_t query_dim = spec.nope_dim + spec.rope_dim;
  const std::int64_t rotary = spec.has_rotary ? spec.rope_dim : 0;
  ValueId q_latent = x;
  if (spec.q_rank > 0) {
    q_latent = b.rms_norm(b.linear(x, "q_a_proj", spec.q_rank, spec.bias), "q_a_layernorm");
  }
  ValueId q = kNoValue;
  {
    const Divided divided(b);
    q = b.linear(q_latent, spec.q_rank > 0 ? "q_b_proj" : "q_proj", heads * query_dim, false);
  }
  q = split_heads(b, q, heads, query_dim);
  const auto q_parts = b.split(q, {spec.nope_dim, spec.rope_dim});
  const ValueId q_rope = b.rotate(q_parts[1], rotary, true);

  const auto kv = b.split(b.linear(x, "kv_a_proj_with_mqa", spec.kv_rank + spec.rope_dim, spec.bias),
                          {spec.kv_rank, spec.rope_dim});
  const ValueId latent = b.rms_norm(kv[0], "kv_a_layernorm");
  const ValueId k_rope = b.reshape(b.rotate(b.reshape(kv[1], {batch, 1, tokens, spec.rope_dim}), rotary, true),
                                   {batch, tokens, spec.rope_dim});
  const ValueId stored = cached(b, b.concat({latent, k_rope}, -1), "key", layer);
  const std::int64_t keys = b.dims(stored)[1];
  if (spec.index_heads > 0 && !spec.index_is_shared) index_keys(b, x, q_latent, spec, layer);
  const std::int64_t window = spec.index_heads > 0 ? spec.index_top_k : 0;

  const Divided divided(b);
  ValueId mixed = kNoValue;
  if (b.run.phase == Phase::Decode) {
    // kv_b_proj in its two halves: keys are folded into the query, values into the output.
    const ValueId up_k = b.weight("kv_b_proj.weight_k", {heads, spec.nope_dim, spec.kv_rank}, b.run.linear);
    const ValueId up_v = b.weight("kv_b_proj.weight_v", {heads, spec.kv_rank, spec.value_dim}, b.run.linear);
    const ValueId q_absorbed = b.matmul(q_parts[0], up_k);
    const ValueId all = b.reshape(stored, {batch, 1, keys, spec.kv_rank + spec.rope_dim});
    const Heads views = {b.concat({q_absorbed, q_rope}, -1), all, b.slice(all, 3, 0, spec.kv_rank)};
    AttentionSpec attention{
        .heads = heads, .kv_heads = 1, .head_dim = spec.kv_rank + spec.rope_dim, .value_dim = spec.kv_rank};
    attention.window = window;
    mixed = merge_heads(b, b.matmul(attend(b, views, attention), up_v));
  } else {
    const ValueId expanded =
        split_heads(b, b.linear(latent, "kv_b_proj", heads * (spec.nope_dim + spec.value_dim), false), heads,
                    spec.nope_dim + spec.value_dim);
    const auto parts = b.split(expanded, {spec.nope_dim, spec.value_dim});
    const Dims wide = {batch, heads, tokens, spec.rope_dim};
    const ValueId shared =
        b.op(OpKind::Expand, {b.reshape(k_rope, {batch, 1, tokens, spec.rope_dim}), b.constant(wide)}, wide);
    const Heads full = {b.concat({q_parts[0], q_rope}, -1), b.concat({parts[0], shared}, -1), parts[1]};
    AttentionSpec attention{.heads = heads, .kv_heads = heads, .head_dim = query_dim, .value_dim = spec.value_dim};
    attention.window = window;
    mixed = merge_heads(b, attend(b, full, attention));
  }
  const ValueId result = b.linear(mixed, "o_proj", hidden, spec.bias);
  note_partial_sum(b, result);
  return result;
}

}  // namespace forerun
