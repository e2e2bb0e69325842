#include "readers/huggingface/attention.hpp"

#include <algorithm>
#include <string>

#include "readers/huggingface/shard.hpp"

namespace forerun {
namespace {

Heads project(GraphBuilder& b, ValueId x, const AttentionSpec& spec, ValueId& gate) {
  const std::int64_t value_dim = spec.value_dim > 0 ? spec.value_dim : spec.head_dim;
  const std::int64_t q_size = spec.heads * spec.head_dim;
  const std::int64_t k_size = spec.kv_heads * spec.head_dim;
  const std::int64_t v_size = spec.kv_heads * value_dim;
  Heads heads;
  if (spec.fused_qkv) {
    const ValueId joint = b.linear(x, spec.qkv, q_size + k_size + v_size, spec.qkv_bias);
    const ValueId source = spec.clips_qkv ? b.unary(OpKind::Clip, joint) : joint;
    const auto parts = b.split(source, {q_size, k_size, v_size});
    heads = {parts[0], parts[1], parts[2]};
  } else {
    heads.q = b.linear(x, spec.q, spec.gated_output ? q_size * 2 : q_size, spec.qkv_bias);
    if (spec.gated_output) {
      const auto parts = b.split(heads.q, {q_size, q_size});
      heads.q = parts[0];
      gate = parts[1];
    }
    heads.k = b.linear(x, spec.k, k_size, spec.qkv_bias && !spec.key_has_no_bias);
    heads.v = spec.keys_are_values ? heads.k : b.linear(x, spec.v, v_size, spec.qkv_bias);
    if (spec.clips_qkv) {
      for (ValueId* part : {&heads.q, &heads.k, &heads.v}) *part = b.unary(OpKind::Clip, *part);
    }
  }
  if (spec.qk_norm == QkNorm::FullRms) {
    heads.q = b.rms_norm(heads.q, spec.q_norm);
    heads.k = b.rms_norm(heads.k, spec.k_norm);
  }
  heads.q = split_heads(b, heads.q, spec.heads, spec.head_dim);
  heads.k = split_heads(b, heads.k, spec.kv_heads, spec.head_dim);
  heads.v = spec.keys_are_values ? heads.k : split_heads(b, heads.v, spec.kv_heads, value_dim);
  return heads;
}

ValueId normalize(GraphBuilder& b, ValueId x, const AttentionSpec& spec, std::string_view name, std::int64_t heads) {
  switch (spec.qk_norm) {
    case QkNorm::HeadRms: return b.rms_norm(x, name);
    case QkNorm::HeadRmsBare: return b.rms_norm(x, name, false);
    case QkNorm::HeadLayer: return b.layer_norm(x, name, true, spec.norm_bias);
    case QkNorm::PerHeadLayer: {  // a weight of its own for every head
      const ValueId normed = b.layer_norm(x, name, false);
      return b.mul(normed, b.parameter(std::string(name) + ".weight", {heads, 1, b.last_dim(x)}));
    }
    case QkNorm::None:
    case QkNorm::FullRms: break;
  }
  return x;
}

ValueId repeat_heads(GraphBuilder& b, ValueId x, std::int64_t times) {
  if (times <= 1) return x;
  const Dims shape = b.dims(x);
  const ValueId grouped = b.reshape(x, {shape[0], shape[1], 1, shape[2], shape[3]});
  const Dims wide = {shape[0], shape[1], times, shape[2], shape[3]};
  const ValueId repeated = b.op_as(b.dtype(x), OpKind::Expand, {grouped, b.constant(wide)}, wide);
  return b.reshape(repeated, {shape[0], shape[1] * times, shape[2], shape[3]});
}

ValueId attend_eager(GraphBuilder& b, const Heads& heads, const AttentionSpec& spec, ValueId bias) {
  const ValueId k = repeat_heads(b, heads.k, spec.heads / std::max<std::int64_t>(spec.kv_heads, 1));
  const ValueId v = repeat_heads(b, heads.v, spec.heads / std::max<std::int64_t>(spec.kv_heads, 1));
  ValueId scores = b.scale(b.matmul(heads.q, b.transpose(k, {0, 1, 3, 2})));
  if (spec.softcaps) scores = b.scale(b.unary(OpKind::Tanh, b.scale(scores)));
  const Dims shape = b.dims(scores);
  if (bias != kNoValue)
    scores = b.add(scores, bias);
  else if (spec.is_causal)
    scores = b.add(scores, b.causal_mask(shape[2], shape[3], spec.window, true));
  if (spec.has_sinks) {
    const ValueId sinks = b.reshape(b.parameter("sinks", {spec.heads}), {1, spec.heads, 1, 1});
    const Dims column = {shape[0], shape[1], shape[2], 1};
    scores = b.concat({scores, b.op(OpKind::Expand, {sinks, b.constant(column)}, column)}, -1);
    scores = b.op(OpKind::Sub, {scores, b.op(OpKind::ReduceMax, {scores, b.constant({-1})}, column)}, b.dims(scores));
  }
  ValueId weights = b.softmax(scores, spec.softmax_in_float32 && !spec.has_sinks);
  if (spec.has_sinks) weights = b.slice(weights, -1, 0, shape[3]);
  return b.matmul(weights, v);
}

}  // namespace

ValueId split_heads(GraphBuilder& b, ValueId x, std::int64_t heads, std::int64_t dim) {
  const Dims& shape = b.dims(x);
  const ValueId by_head = b.reshape(x, {shape[0], shape[1], heads, dim});
  return b.transpose(by_head, {0, 2, 1, 3});
}

ValueId merge_heads(GraphBuilder& b, ValueId x) {
  const ValueId by_token = b.transpose(x, {0, 2, 1, 3});
  const Dims& shape = b.dims(by_token);
  return b.reshape(by_token, {shape[0], shape[1], shape[2] * shape[3]});
}

Heads extend_cache(GraphBuilder& b, Heads heads, const AttentionSpec& spec, std::int64_t layer) {
  if (!spec.uses_cache || !b.run.keeps_cache) return heads;
  // A sliding layer keeps the last window-1 tokens.
  const std::int64_t past = spec.window > 0 ? std::min(b.run.past, spec.window - 1) : b.run.past;
  const std::string index = std::to_string(layer);
  const auto extend = [&](ValueId fresh, const char* what) {
    std::vector<ValueId> parts;
    if (past > 0) {
      Dims shape = b.dims(fresh);
      shape[2] = past;
      parts.push_back(b.cache(std::string("past_").append(what) + "." + index, b.run.activations, std::move(shape)));
    }
    parts.push_back(fresh);
    const ValueId all = b.concat(std::move(parts), 2);
    b.output(all, std::string("present_").append(what) + "." + index);
    return all;
  };
  heads.k = extend(heads.k, "key");
  heads.v = extend(heads.v, "value");
  return heads;
}

ValueId attend(GraphBuilder& b, const Heads& heads, const AttentionSpec& spec, ValueId bias) {
  if ((spec.eager && !b.run.force_sdpa) || b.run.force_eager) return attend_eager(b, heads, spec, bias);
  Dims out = b.dims(heads.q);
  const std::int64_t queries = out[2];
  const std::int64_t keys = b.dims(heads.k)[2];
  out[3] = b.dims(heads.v)[3];
  const bool is_causal = spec.is_causal && queries > 1 && bias == kNoValue;
  std::vector<ValueId> inputs = {heads.q, heads.k, heads.v};
  std::vector<Attribute> attributes = {{"q_num_heads", spec.heads}, {"kv_num_heads", spec.kv_heads}};
  // A window shorter than the keys needs an explicit mask.
  const bool windowed = spec.window > 0 && spec.window < keys && queries > 1;
  if (bias != kNoValue)
    inputs.push_back(bias);
  else if (windowed)
    inputs.push_back(b.causal_mask(queries, keys, spec.window, false));
  attributes.push_back({"is_causal", std::int64_t{is_causal}});
  if (windowed) attributes.push_back({"window", spec.window});
  if (keys > queries && spec.is_causal) attributes.push_back({"past", keys - queries});
  return b.op(OpKind::Attention, std::move(inputs), std::move(out), std::move(attributes));
}

ValueId self_attention(GraphBuilder& b, ValueId x, const AttentionSpec& whole, std::int64_t layer) {
  const AttentionSpec spec = share_of(b, whole);
  const Divided divided(b);
  const std::int64_t hidden = b.last_dim(x);
  ValueId gate = kNoValue;
  Heads heads = project(b, x, spec, gate);
  if (spec.v_norm) heads.v = b.rms_norm(heads.v, "v_norm", false);
  if (!spec.norm_after_rotary) {
    heads.q = normalize(b, heads.q, spec, spec.q_norm, spec.heads);
    heads.k = normalize(b, heads.k, spec, spec.k_norm, spec.kv_heads);
  }
  heads.q = b.rotate(heads.q, spec.rotary_dim, spec.rotary_interleaved, spec.rotary_set);
  heads.k = b.rotate(heads.k, spec.rotary_dim, spec.rotary_interleaved, spec.rotary_set);
  if (spec.norm_after_rotary) {
    heads.q = normalize(b, heads.q, spec, spec.q_norm, spec.heads);
    heads.k = normalize(b, heads.k, spec, spec.k_norm, spec.kv_heads);
  }
  heads = gather_context(b, extend_cache(b, heads, spec, layer));
  ValueId bias = kNoValue;
  if (spec.has_alibi) bias = b.alibi_mask(spec.heads, b.dims(heads.q)[2], b.dims(heads.k)[2]);
  ValueId attended = attend(b, heads, spec, bias);
  if (spec.head_gate) {
    const ValueId gates = b.unary(OpKind::Sigmoid, b.linear(x, "g_proj", spec.heads, false));
    const Dims shape = b.dims(attended);
    attended = b.mul(attended, b.reshape(b.transpose(gates, {0, 2, 1}), {shape[0], shape[1], shape[2], 1}));
  }
  ValueId mixed = merge_heads(b, attended);
  if (spec.gated_output) mixed = b.mul(mixed, b.unary(OpKind::Sigmoid, gate));
  const ValueId result = b.linear(mixed, spec.out, hidden, spec.out_bias);
  note_partial_sum(b, result);
  return result;
}

ValueId cross_attention(GraphBuilder& b, ValueId x, ValueId source, const AttentionSpec& whole, std::int64_t layer) {
  const AttentionSpec spec = share_of(b, whole);
  const Divided divided(b);
  refuse_context(b, "cross-attention");
  const std::int64_t inner = spec.heads * spec.head_dim;
  const std::string index = std::to_string(layer);
  Heads heads;
  heads.q = split_heads(b, b.linear(x, spec.q, inner, spec.qkv_bias), spec.heads, spec.head_dim);
  if (b.run.phase == Phase::Decode) {
    const Dims cached = {b.run.batch, spec.heads, b.run.encoder_tokens, spec.head_dim};
    heads.k = b.cache("past_cross_key." + index, b.run.activations, cached);
    heads.v = b.cache("past_cross_value." + index, b.run.activations, cached);
  } else {
    heads.k = split_heads(b, b.linear(source, spec.k, inner, spec.qkv_bias && !spec.key_has_no_bias), spec.heads,
                          spec.head_dim);
    heads.v = split_heads(b, b.linear(source, spec.v, inner, spec.qkv_bias), spec.heads, spec.head_dim);
    if (b.run.keeps_cache) {
      b.output(heads.k, "cross_key." + index);
      b.output(heads.v, "cross_value." + index);
    }
  }
  AttentionSpec over_source = spec;
  over_source.is_causal = false;
  const ValueId mixed = merge_heads(b, attend(b, heads, over_source));
  const ValueId result = b.linear(mixed, spec.out, b.last_dim(x), spec.out_bias);
  note_partial_sum(b, result);
  return result;
}

}  // namespace forerun
