// Attention in its many spellings, recurrent cells, expert layers: shapes and multiply-accumulates.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

// Scores and their product with the values: batch x heads x queries x keys x (score width + value width).
std::int64_t attention_macs(std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                            std::int64_t score_width, std::int64_t value_width) {
  return checked_mul(checked_mul(checked_mul(batch, heads), checked_mul(queries, keys)),
                     checked_add(score_width, value_width));
}

// Keys one query sees: all of them, or the sliding window.
std::int64_t visible_keys(const RuleContext& c, std::int64_t keys) {
  std::int64_t window = c.int_of("window", 0);
  if (window <= 0) window = c.int_of("local_window_size", 0);
  return window > 0 ? std::min(window, keys) : keys;
}

}  // namespace

// ai.onnx Attention (opset 23): Q, K, V, mask, past_key, past_value; 4-D by heads or 3-D packed.
Status attention_shape(RuleContext& c) {
  const Dims* q = c.shape(0);
  const Dims* k = c.shape(1);
  const Dims* v = c.shape(2);
  if (q == nullptr || k == nullptr || v == nullptr) return ok();
  const Dims* past = c.shape(4);
  const std::int64_t past_length = past != nullptr && past->size() == 4 ? (*past)[2] : 0;
  if (q->size() == 4 && k->size() == 4 && v->size() == 4) {
    c.set(0, c.dtype(0), {(*q)[0], (*q)[1], (*q)[2], (*v)[3]});
    const std::int64_t total = checked_add((*k)[2], past_length);
    c.set(1, c.dtype(1), {(*k)[0], (*k)[1], total, (*k)[3]});
    c.set(2, c.dtype(2), {(*v)[0], (*v)[1], total, (*v)[3]});
    c.set(3, c.dtype(0), {(*q)[0], (*q)[1], (*q)[2], total});
    return ok();
  }
  const std::int64_t q_heads = c.int_of("q_num_heads", 0);
  const std::int64_t kv_heads = c.int_of("kv_num_heads", q_heads);
  if (q->size() != 3 || k->size() != 3 || v->size() != 3) return c.fail("operands must be 3-D or 4-D");
  if (q_heads <= 0 || kv_heads <= 0) return c.fail("3-D operands need q_num_heads and kv_num_heads");
  const std::int64_t total = checked_add((*k)[1], past_length);
  c.set(0, c.dtype(0), {(*q)[0], (*q)[1], checked_mul(q_heads, (*v)[2] / kv_heads)});
  c.set(1, c.dtype(1), {(*k)[0], kv_heads, total, (*k)[2] / kv_heads});
  c.set(2, c.dtype(2), {(*v)[0], kv_heads, total, (*v)[2] / kv_heads});
  c.set(3, c.dtype(0), {(*q)[0], q_heads, (*q)[1], total});
  return ok();
}

void attention_cost(RuleContext& c, OpCost& cost) {
  const Dims* q = c.shape(0);
  const Dims* k = c.shape(1);
  const Dims* v = c.shape(2);
  if (q == nullptr || k == nullptr || v == nullptr) return;
  const Dims* past = c.shape(4);
  const std::int64_t past_length = past != nullptr && past->size() == 4 ? (*past)[2] : 0;
  if (q->size() == 4 && k->size() == 4 && v->size() == 4) {
    const std::int64_t keys = visible_keys(c, checked_add((*k)[2], past_length));
    set_macs(cost, attention_macs((*q)[0], (*q)[1], (*q)[2], keys, (*q)[3], (*v)[3]));
  } else if (q->size() == 3 && k->size() == 3 && v->size() == 3) {
    const std::int64_t q_heads = std::max<std::int64_t>(1, c.int_of("q_num_heads", 1));
    const std::int64_t kv_heads = std::max<std::int64_t>(1, c.int_of("kv_num_heads", q_heads));
    const std::int64_t keys = visible_keys(c, checked_add((*k)[1], past_length));
    set_macs(cost, attention_macs((*q)[0], q_heads, (*q)[1], keys, (*q)[2] / q_heads, (*v)[2] / kv_heads));
  }
}

// com.microsoft Attention: the projection of input, weights [in, q+k+v] and bias, then attention.
Status ms_attention_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* w = c.shape(1);
  if (x == nullptr || x->size() != 3) return ok();
  const auto sizes = c.ints_of("qkv_hidden_sizes");
  std::int64_t value_size = sizes.size() == 3 ? sizes[2] : w != nullptr && w->size() == 2 ? (*w)[1] / 3 : x->back();
  c.set(0, c.dtype(0), {(*x)[0], (*x)[1], value_size});
  const std::int64_t heads = std::max<std::int64_t>(1, c.int_of("num_heads", 1));
  const std::size_t past_at = c.node().kind == OpKind::QAttention ? 8 : 4;
  const Dims* past = c.shape(past_at);
  const std::int64_t past_length = past != nullptr && past->size() == 5 ? (*past)[3] : 0;
  c.set(1, c.dtype(0), {2, (*x)[0], heads, checked_add(past_length, (*x)[1]), value_size / heads});
  return ok();
}

void ms_attention_cost(RuleContext& c, OpCost& cost) {
  const Dims* x = c.shape(0);
  const Dims* w = c.shape(1);
  const Value* y = c.output(0);
  if (x == nullptr || x->size() != 3 || y == nullptr || y->dims.size() != 3) return;
  const std::int64_t rows = checked_mul((*x)[0], (*x)[1]);
  const std::int64_t value_size = y->dims[2];
  std::int64_t projection = 0;
  std::int64_t key_size = value_size;
  if (w != nullptr && w->size() == 2) {
    projection = checked_mul(rows, checked_mul((*w)[0], (*w)[1]));
    key_size = std::max<std::int64_t>(0, ((*w)[1] - value_size) / 2);
  }
  const Dims* past = c.shape(c.node().kind == OpKind::QAttention ? 8 : 4);
  const std::int64_t past_length = past != nullptr && past->size() == 5 ? (*past)[3] : 0;
  const std::int64_t keys = checked_add((*x)[1], past_length);
  set_macs(cost, checked_add(projection, attention_macs((*x)[0], 1, (*x)[1], keys, key_size, value_size)));
}

// com.microsoft MultiHeadAttention: query [B,S,D] (or packed [B,S,H,3,d]), key [B,L,D] or [B,H,L,d], value likewise.
Status multi_head_attention_shape(RuleContext& c) {
  const Dims* q = c.shape(0);
  if (q == nullptr) return ok();
  const std::int64_t heads = std::max<std::int64_t>(1, c.int_of("num_heads", 1));
  const Dims* v = c.shape(2);
  if (q->size() == 5) {
    c.set(0, c.dtype(0), {(*q)[0], (*q)[1], checked_mul((*q)[2], (*q)[4])});
  } else if (q->size() == 3) {
    const std::int64_t width = v == nullptr ? q->back() : v->size() == 4 ? checked_mul((*v)[1], (*v)[3]) : v->back();
    c.set(0, c.dtype(0), {(*q)[0], (*q)[1], width});
    const Dims* k = c.shape(1);
    const Dims* past = c.shape(6);
    std::int64_t keys = k == nullptr ? (*q)[1] : k->size() == 4 ? (*k)[2] : k->size() >= 2 ? (*k)[1] : 0;
    if (past != nullptr && past->size() == 4) keys = checked_add(keys, (*past)[2]);
    c.set(1, c.dtype(0), {(*q)[0], heads, keys, q->back() / heads});
    c.set(2, c.dtype(0), {(*q)[0], heads, keys, width / heads});
  }
  return ok();
}

void multi_head_attention_cost(RuleContext& c, OpCost& cost) {
  const Dims* q = c.shape(0);
  const Value* y = c.output(0);
  if (q == nullptr || y == nullptr || y->dims.size() != 3) return;
  const Dims* k = c.shape(1);
  const Dims* past = c.shape(6);
  std::int64_t keys = k == nullptr ? (*q)[1] : k->size() == 4 ? (*k)[2] : k->size() >= 2 ? (*k)[1] : 0;
  if (past != nullptr && past->size() == 4) keys = checked_add(keys, (*past)[2]);
  const std::int64_t width = q->size() == 5 ? checked_mul((*q)[2], (*q)[4]) : q->back();
  set_macs(cost, attention_macs((*q)[0], 1, (*q)[1], keys, width, y->dims[2]));
}

// com.microsoft GroupQueryAttention: query [B,S,Hq·d] (or packed qkv), key, value, past [B,Hkv,P,d] …
Status group_query_attention_shape(RuleContext& c) {
  const Dims* q = c.shape(0);
  if (q == nullptr || q->size() != 3) return ok();
  const std::int64_t heads = std::max<std::int64_t>(1, c.int_of("num_heads", 1));
  const std::int64_t kv_heads = std::max<std::int64_t>(1, c.int_of("kv_num_heads", heads));
  const bool packed = c.shape(1) == nullptr;
  const std::int64_t width = packed ? q->back() / (heads + 2 * kv_heads) * heads : q->back();
  c.set(0, c.dtype(0), {(*q)[0], (*q)[1], width});
  const Dims* past = c.shape(3);
  const std::int64_t past_length = past != nullptr && past->size() == 4 ? (*past)[2] : 0;
  const std::int64_t keys = checked_add(past_length, (*q)[1]);
  for (std::size_t i = 1; i <= 2; ++i) c.set(i, c.dtype(0), {(*q)[0], kv_heads, keys, width / heads});
  return ok();
}

void group_query_attention_cost(RuleContext& c, OpCost& cost) {
  const Dims* q = c.shape(0);
  const Value* y = c.output(0);
  if (q == nullptr || q->size() != 3 || y == nullptr || y->dims.size() != 3) return;
  const Dims* past = c.shape(3);
  const std::int64_t past_length = past != nullptr && past->size() == 4 ? (*past)[2] : 0;
  const std::int64_t keys = visible_keys(c, checked_add(past_length, (*q)[1]));
  set_macs(cost, attention_macs((*q)[0], 1, (*q)[1], keys, y->dims[2], y->dims[2]));
}

namespace {

struct Recurrence {
  std::int64_t steps, batch, inputs, hidden, directions, gates;
};

std::optional<Recurrence> read_recurrence(const RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* r = c.shape(2);
  if (x == nullptr || x->size() != 3) return std::nullopt;
  const bool batch_first = c.int_of("layout", 0) != 0;
  const std::int64_t hidden = c.int_of("hidden_size", r != nullptr && r->size() == 3 ? r->back() : 0);
  const OpKind kind = c.node().kind;
  const std::int64_t gates = kind == OpKind::RNN ? 1 : kind == OpKind::GRU ? 3 : 4;
  const std::int64_t directions = text_attribute(c.node(), "direction", "forward") == "bidirectional" ? 2 : 1;
  if (hidden <= 0) return std::nullopt;
  return Recurrence{(*x)[batch_first ? 1 : 0], (*x)[batch_first ? 0 : 1], x->back(), hidden, directions, gates};
}

}  // namespace

Status rnn_shape(RuleContext& c) {
  const auto r = read_recurrence(c);
  if (!r) return ok();
  const bool batch_first = c.int_of("layout", 0) != 0;
  const Dims all = batch_first ? Dims{r->batch, r->steps, r->directions, r->hidden}
                               : Dims{r->steps, r->directions, r->batch, r->hidden};
  const Dims last = batch_first ? Dims{r->batch, r->directions, r->hidden} : Dims{r->directions, r->batch, r->hidden};
  c.set(0, c.dtype(0), all);
  c.set(1, c.dtype(0), last);
  c.set(2, c.dtype(0), last);
  return ok();
}

void rnn_cost(RuleContext& c, OpCost& cost) {
  const auto r = read_recurrence(c);
  if (!r) return;
  // The state that the recurrent weights take is narrower than the cell's where it is projected.
  const Dims* recurrent = c.shape(2);
  const bool stated = recurrent != nullptr && recurrent->size() == 3 && c.node().kind == OpKind::LSTM;
  const std::int64_t state = stated && recurrent->back() > 0 ? std::min(recurrent->back(), r->hidden) : r->hidden;
  const std::int64_t cell = checked_mul(checked_mul(r->gates, r->hidden), checked_add(r->inputs, state));
  const std::int64_t runs = checked_mul(checked_mul(r->steps, r->batch), r->directions);
  set_macs(cost, checked_mul(runs, cell));
}

Status embed_layer_norm_shape(RuleContext& c) {
  const Dims* ids = c.shape(0);
  const Dims* words = c.shape(2);
  if (ids == nullptr || words == nullptr || ids->size() != 2 || words->size() != 2) return ok();
  c.set(0, c.dtype(2), {(*ids)[0], (*ids)[1], (*words)[1]});
  c.set(1, DType::Int32, {(*ids)[0]});
  c.set(2, c.dtype(2), {(*ids)[0], (*ids)[1], (*words)[1]});
  return ok();
}

Status moe_shape(RuleContext& c) {
  if (const Dims* x = c.shape(0)) c.set(0, c.dtype(0), *x);
  return ok();
}

// com.microsoft MoE: input, router probabilities, fc1 weights [E, in, inter], …, fc2.
void moe_cost(RuleContext& c, OpCost& cost) {
  const Value* x = c.input(0);
  const Dims* fc1 = c.shape(2);
  if (x == nullptr || fc1 == nullptr || fc1->size() != 3) return;
  const std::int64_t per_element = checked_mul(std::max((*fc1)[1], (*fc1)[2]), 2);
  set_macs(cost, checked_mul(checked_mul(elements_of(*x), per_element), std::max<std::int64_t>(1, c.int_of("k", 1))));
}

// Expert layers of an expanded configuration: x [.., D], gate and up [E, D, 2I], down [E, I, D].
void moe_experts_cost(RuleContext& c, OpCost& cost) {
  const Value* x = c.input(0);
  const Dims* up = c.shape(1);
  const Dims* down = c.shape(2);
  if (x == nullptr || up == nullptr || down == nullptr || up->size() != 3 || down->size() != 3) return;
  if (x->dims.empty() || x->dims.back() <= 0) return;
  const std::int64_t tokens = elements_of(*x) / x->dims.back();
  const std::int64_t each = checked_add(checked_mul((*up)[1], (*up)[2]), checked_mul((*down)[1], (*down)[2]));
  set_macs(cost, checked_mul(checked_mul(tokens, std::max<std::int64_t>(1, c.int_of("top_k", 1))), each));
}

Status relative_bias_shape(RuleContext& c) {
  const Dims* table = c.shape(0);
  const auto* queries = c.ints(1);
  const auto* keys = c.ints(2);
  if (c.node().kind == OpKind::GatedRelativePositionBias) {
    const Dims* q = c.shape(0);
    if (q != nullptr && q->size() == 3) c.set(0, c.dtype(0), {(*q)[0], c.int_of("num_heads", 1), (*q)[1], (*q)[1]});
    return ok();
  }
  if (table == nullptr || table->size() != 2 || queries == nullptr || keys == nullptr) return ok();
  if (queries->empty() || keys->empty() || (*queries)[0] < 0 || (*keys)[0] < 0) return ok();
  c.set(0, c.dtype(0), {1, (*table)[1], (*queries)[0], (*keys)[0]});
  return ok();
}

// BeamSearch and related operators: ids [batch, sequence] in, [batch, returned, max_length] out.
Status generation_shape(RuleContext& c) {
  const Dims* ids = c.shape(0);
  if (ids == nullptr || ids->empty()) return ok();
  const auto scalar = [&c](std::size_t i) -> std::optional<std::int64_t> {
    const auto* value = c.ints(i);
    if (value == nullptr || value->empty() || (*value)[0] < 0) return std::nullopt;
    return (*value)[0];
  };
  const std::int64_t length = scalar(1).value_or(c.int_of("max_length", 64));
  if (c.node().kind == OpKind::GreedySearch || c.node().kind == OpKind::Sampling) {
    c.set(0, DType::Int32, {ids->front(), length});
    return ok();
  }
  const std::int64_t returned = scalar(4).value_or(1);
  c.set(0, DType::Int32, {ids->front(), returned, length});
  c.set(1, DType::Float32, {ids->front(), returned});
  const std::int64_t beams = scalar(3).value_or(1);
  const std::int64_t vocabulary = std::max<std::int64_t>(1, c.int_of("vocab_size", 1));
  c.set(2, DType::Float32, {length, ids->front(), beams, vocabulary});
  return ok();
}

}  // namespace forerun
