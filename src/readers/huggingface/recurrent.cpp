#include "readers/huggingface/recurrent.hpp"

#include <algorithm>
#include <string>

#include "base/checked.hpp"
#include "readers/huggingface/attention.hpp"

#include "readers/huggingface/shard.hpp"

namespace forerun {
namespace {

// [B, H, S, D] as [B, H, chunks, chunk, D], padded to whole chunks.
ValueId in_chunks(GraphBuilder& b, ValueId x, std::int64_t chunk) {
  const Dims shape = b.dims(x);
  const std::int64_t chunks = ceil_div(shape[2], chunk), missing = chunks * chunk - shape[2];
  ValueId padded = x;
  if (missing > 0) {
    padded = b.op(OpKind::Pad, {x, b.constant({0, 0, 0, 0, 0, 0, missing, 0})},
                  {shape[0], shape[1], chunks * chunk, shape[3]});
  }
  return b.reshape(padded, {shape[0], shape[1], chunks, chunk, shape[3]});
}

ValueId transposed(GraphBuilder& b, ValueId x) {
  return b.dims(x).size() == 5 ? b.transpose(x, {0, 1, 2, 4, 3}) : b.transpose(x, {0, 1, 3, 2});
}

}  // namespace

ValueId linear_recurrence(GraphBuilder& b, ValueId q, ValueId k, ValueId v, std::int64_t chunk, bool has_delta_rule,
                          std::int64_t layer) {
  const Dims keys = b.dims(k), values = b.dims(v);
  const std::string index = std::to_string(layer);
  const Dims state_shape = {keys[0], values[1], keys[3], values[3]};
  if (b.run.phase == Phase::Decode) {
    const ValueId past = b.cache("past_state." + index, DType::Float32, state_shape);
    ValueId state = b.scale(past);
    ValueId fresh = v;
    if (has_delta_rule) fresh = b.op(OpKind::Sub, {v, b.matmul(k, state)}, values);
    const ValueId update = b.matmul(transposed(b, k), fresh);
    state = b.op_as(DType::Float32, OpKind::Add, {state, update}, state_shape);
    b.output(state, "present_state." + index);
    return b.matmul(q, state);
  }
  const std::int64_t size = std::min(chunk, keys[2]);
  const ValueId qc = in_chunks(b, q, size), kc = in_chunks(b, k, size);
  ValueId vc = in_chunks(b, v, size);
  ValueId scores = b.matmul(qc, transposed(b, kc));
  scores = b.scale(scores);  // decay within the chunk
  ValueId corrected = kNoValue;
  if (has_delta_rule) {
    const ValueId overlap = b.scale(b.matmul(kc, transposed(b, kc)));
    vc = b.matmul(overlap, vc);
    corrected = b.matmul(overlap, kc);
  }
  const ValueId states = b.scale(b.matmul(transposed(b, kc), vc));  // [B, H, chunks, key, value]
  ValueId y = b.matmul(scores, vc);
  if (has_delta_rule) y = b.op(OpKind::Sub, {y, b.matmul(corrected, states)}, b.dims(y));
  y = b.add(y, b.matmul(qc, states));
  const Dims whole = b.dims(y);
  y = b.reshape(y, {whole[0], whole[1], whole[2] * whole[3], whole[4]});
  if (whole[2] * whole[3] != values[2]) y = b.slice(y, 2, 0, values[2]);
  if (b.run.keeps_cache) {
    const ValueId last = b.reshape(b.slice(states, 2, whole[2] - 1, 1), state_shape);
    b.output(b.cast(last, DType::Float32), "present_state." + index);
  }
  return y;
}

ValueId causal_convolution(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t kernel, bool bias,
                           std::int64_t layer) {
  const Dims shape = b.dims(x);
  const std::int64_t channels = shape[2];
  const std::string index = std::to_string(layer), module(name);
  ValueId columns = b.transpose(x, {0, 2, 1});
  std::int64_t before = kernel - 1;
  if (b.run.phase == Phase::Decode && kernel > 1) {
    const ValueId past = b.cache("past_conv." + index, b.run.activations, {shape[0], channels, kernel - 1});
    columns = b.concat({past, columns}, 2);
    before = 0;
  }
  if (b.run.keeps_cache) b.output(columns, "present_conv." + index);
  std::vector<ValueId> inputs = {columns, b.parameter(module + ".weight", {channels, 1, kernel})};
  if (bias) inputs.push_back(b.parameter(module + ".bias", {channels}));
  const ValueId y = b.op(OpKind::Conv, std::move(inputs), {shape[0], channels, shape[1]},
                         {{"kernel_shape", std::vector<std::int64_t>{kernel}},
                          {"group", channels},
                          {"pads", std::vector<std::int64_t>{before, 0}}});
  return b.transpose(b.activation(y, "silu"), {0, 2, 1});
}

ValueId gated_delta_net(GraphBuilder& b, ValueId x, const DeltaNetSpec& whole, std::int64_t layer) {
  DeltaNetSpec spec = whole;
  spec.key_heads = heads_of_rank(b, whole.key_heads);
  spec.value_heads = heads_of_rank(b, whole.value_heads);
  const Divided divided(b);
  refuse_context(b, "a recurrent layer");
  const std::int64_t hidden = b.last_dim(x), keys = spec.key_heads * spec.key_dim,
                     values = spec.value_heads * spec.value_dim;
  const std::int64_t batch = b.run.batch, tokens = b.run.tokens;
  ValueId mixed = kNoValue, z = kNoValue, beta = kNoValue, alpha = kNoValue;
  if (spec.fused_projections) {
    const auto parts = b.split(b.linear(x, "in_proj_qkvz", 2 * keys + 2 * values, false), {2 * keys + values, values});
    mixed = parts[0];
    z = parts[1];
    const auto gates =
        b.split(b.linear(x, "in_proj_ba", 2 * spec.value_heads, false), {spec.value_heads, spec.value_heads});
    beta = gates[0];
    alpha = gates[1];
  } else {
    mixed = b.linear(x, "in_proj_qkv", 2 * keys + values, false);
    z = b.linear(x, "in_proj_z", values, false);
    beta = b.linear(x, "in_proj_b", spec.value_heads, false);
    alpha = b.linear(x, "in_proj_a", spec.value_heads, false);
  }
  mixed = causal_convolution(b, mixed, "conv1d", spec.kernel, false, layer);
  const auto parts = b.split(mixed, {keys, keys, values});
  // Gates: beta = sigmoid(b), decay = -exp(A_log) softplus(a + dt_bias).
  beta = b.unary(OpKind::Sigmoid, beta);
  const ValueId rate = b.unary(OpKind::Softplus, b.add(alpha, b.parameter("dt_bias", {spec.value_heads})));
  const ValueId decay = b.mul(rate, b.unary(OpKind::Exp, b.parameter("A_log", {spec.value_heads})));
  const auto expand = [&](ValueId part) {  // key heads are shared by several value heads
    const ValueId heads = split_heads(b, part, spec.key_heads, spec.key_dim);
    if (spec.key_heads == spec.value_heads) return heads;
    const Dims wide = {batch, spec.value_heads, tokens, spec.key_dim};
    const std::int64_t times = std::max<std::int64_t>(spec.value_heads / spec.key_heads, 1);
    return b.op(OpKind::Tile, {heads, b.constant({1, times, 1, 1})}, wide);
  };
  const auto gate = [&](ValueId g) {
    return b.reshape(b.transpose(g, {0, 2, 1}), {batch, spec.value_heads, tokens, 1});
  };
  const ValueId q = expand(parts[0]);
  const ValueId k = b.mul(expand(parts[1]), gate(decay));
  const ValueId v = b.mul(split_heads(b, parts[2], spec.value_heads, spec.value_dim), gate(beta));
  const ValueId y = linear_recurrence(b, q, k, v, 64, true, layer);
  const ValueId by_token = b.transpose(y, {0, 2, 1, 3});
  const ValueId normed = b.rms_norm(by_token, "norm");
  const ValueId gates = b.activation(b.reshape(z, {batch, tokens, spec.value_heads, spec.value_dim}), "silu");
  const ValueId result = b.linear(b.reshape(b.mul(normed, gates), {batch, tokens, values}), "out_proj", hidden, false);
  note_partial_sum(b, result);
  return result;
}

ValueId mamba2(GraphBuilder& b, ValueId x, const Mamba2Spec& whole, std::int64_t layer) {
  Mamba2Spec spec = whole;
  spec.heads = heads_of_rank(b, whole.heads);
  if (whole.groups % b.run.shard.tensor == 0) spec.groups = whole.groups / b.run.shard.tensor;
  const Divided divided(b);
  refuse_context(b, "a recurrent layer");
  const std::int64_t hidden = b.last_dim(x), inner = spec.heads * spec.head_dim, shared = spec.groups * spec.state;
  const std::int64_t batch = b.run.batch, tokens = b.run.tokens, convolved = inner + 2 * shared;
  const auto parts =
      b.split(b.linear(x, "in_proj", inner + convolved + spec.heads, spec.bias), {inner, convolved, spec.heads});
  const ValueId mixed = causal_convolution(b, parts[1], "conv1d", spec.kernel, spec.conv_bias, layer);
  const auto streams = b.split(mixed, {inner, shared, shared});
  const ValueId step = b.unary(OpKind::Softplus, b.add(parts[2], b.parameter("dt_bias", {spec.heads})));
  const ValueId decay = b.mul(step, b.unary(OpKind::Exp, b.parameter("A_log", {spec.heads})));
  const auto expand = [&](ValueId part) {  // groups share B and C
    const ValueId heads = split_heads(b, part, spec.groups, spec.state);
    if (spec.groups == spec.heads) return heads;
    const std::int64_t times = std::max<std::int64_t>(spec.heads / spec.groups, 1);
    return b.op(OpKind::Tile, {heads, b.constant({1, times, 1, 1})}, {batch, spec.heads, tokens, spec.state});
  };
  const ValueId gate = b.reshape(b.transpose(decay, {0, 2, 1}), {batch, spec.heads, tokens, 1});
  const ValueId v = split_heads(b, streams[0], spec.heads, spec.head_dim);
  const ValueId k = b.mul(expand(streams[1]), gate);
  ValueId y = linear_recurrence(b, expand(streams[2]), k, v, spec.chunk, false, layer);
  const ValueId skip = b.reshape(b.parameter("D", {spec.heads}), {1, spec.heads, 1, 1});
  y = merge_heads(b, b.add(y, b.mul(v, skip)));
  y = b.rms_norm(b.mul(y, b.activation(parts[0], "silu")), "norm");
  const ValueId result = b.linear(y, "out_proj", hidden, spec.bias);
  note_partial_sum(b, result);
  return result;
}

}  // namespace forerun
