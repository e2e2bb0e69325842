#include "readers/huggingface/encoder.hpp"

#include <algorithm>

#include "readers/huggingface/shard.hpp"

namespace forerun {

void read_usual_encoder(const Config& config, EncoderSpec& spec) {
  spec.vocabulary = config.size("vocab_size", spec.vocabulary);
  spec.hidden = config.size("hidden_size", spec.hidden);
  spec.layers = config.layers("num_hidden_layers", spec.layers);
  spec.intermediate = config.size("intermediate_size", spec.intermediate);
  spec.max_positions = config.size("max_position_embeddings", spec.max_positions);
  spec.type_vocabulary = config.count("type_vocab_size", spec.type_vocabulary);
  spec.activation = config.text("hidden_act", spec.activation);
  AttentionSpec& attention = spec.attention;
  attention.heads = attention.kv_heads = config.size("num_attention_heads", attention.heads);
  attention.head_dim = std::max<std::int64_t>(spec.hidden / attention.heads, 1);
  attention.qkv_bias = attention.out_bias = true;
  attention.is_causal = attention.uses_cache = false;
  attention.q = "attention.self.query";
  attention.k = "attention.self.key";
  attention.v = "attention.self.value";
}

void state_encoder_facts(GraphBuilder& b, const EncoderSpec& spec) {
  b.graph.transformer = TransformerFacts{.layers = spec.layers,
                                         .heads = spec.attention.heads,
                                         .kv_heads = spec.attention.kv_heads,
                                         .head_size = spec.attention.head_dim,
                                         .hidden_size = spec.hidden,
                                         .vocabulary = spec.vocabulary,
                                         .type_vocabulary = spec.type_vocabulary,
                                         .max_positions = spec.max_positions};
}

ValueId encoder_embeddings(GraphBuilder& b, const EncoderSpec& spec) {
  const std::int64_t width = spec.embedding > 0 ? spec.embedding : spec.hidden;
  const std::int64_t batch = b.run.batch, tokens = b.run.tokens;
  const auto table = [&](std::string_view name, std::int64_t rows) {
    return b.parameter(std::string(name) + ".weight", {rows, width});
  };
  const ValueId ids = b.input("input_ids", DType::Int64, {batch, tokens});
  ValueId words = kNoValue;
  {
    const Divided divided(b);
    words = table(spec.names.words, vocabulary_of_rank(b, spec.vocabulary));
  }
  ValueId x = b.embedding(words, ids);
  note_partial_sum(b, x);
  if (spec.type_vocabulary > 0) {
    const ValueId types = b.input("token_type_ids", DType::Int64, {batch, tokens});
    x = b.add(x, b.embedding(table(spec.names.types, spec.type_vocabulary), types));
  }
  if (spec.has_positions) {
    ValueId where = kNoValue;
    if (spec.positions_from_padding) {
      const Dims shape = {batch, tokens};
      const ValueId is_padding = b.op_as(DType::Bool, OpKind::Equal, {ids, b.scalar(1)}, shape);
      const ValueId kept = b.cast(b.op_as(DType::Bool, OpKind::Not, {is_padding}, shape), DType::Int64);
      const ValueId running = b.op_as(DType::Int64, OpKind::CumSum, {kept, b.scalar(1)}, shape);
      where = b.op_as(DType::Int64, OpKind::Mul, {running, kept}, shape);
      where = b.op_as(DType::Int64, OpKind::Add, {where, b.scalar(1)}, shape);
    } else {
      where = b.reshape(b.positions(0, tokens), {1, tokens});
    }
    x = b.add(x, b.embedding(table(spec.names.positions, spec.max_positions), where));
  }
  if (width != spec.hidden && spec.projects_before_norm) x = b.linear(x, spec.names.projection, spec.hidden, false);
  x = b.layer_norm(x, spec.names.embed_norm);
  if (width != spec.hidden && !spec.projects_before_norm) x = b.linear(x, spec.names.projection, spec.hidden, true);
  return x;
}

ValueId encoder_layer(GraphBuilder& b, ValueId x, const EncoderSpec& spec, std::int64_t layer) {
  const Scope scope(
      b, spec.layer_scope ? spec.layer_scope(layer) : std::string(spec.names.layers) + std::to_string(layer) + ".");
  AttentionSpec attention = spec.attention;
  attention.out = spec.names.attention_out;
  const ValueId mixed = spec.mixer ? spec.mixer(b, x, layer) : self_attention(b, x, attention, layer);
  x = b.layer_norm(b.add(mixed, x), spec.names.attention_norm);
  ValueId fed = kNoValue;
  {
    const Divided divided(b);
    const std::int64_t width = width_of_rank(b, spec.intermediate);
    const ValueId inner = b.activation(b.linear(x, spec.names.up, width, true), spec.activation);
    fed = b.linear(inner, spec.names.down, spec.hidden, true);
    note_partial_sum(b, fed);
  }
  return b.layer_norm(b.add(fed, x), spec.names.out_norm);
}

void build_encoder(GraphBuilder& b, const EncoderSpec& spec) {
  state_encoder_facts(b, spec);
  ValueId x = encoder_embeddings(b, spec);
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    b.begin_layer();
    x = encoder_layer(b, x, spec, i);
  }
  b.end_layers();
  b.output(x, "last_hidden_state");
  if (spec.has_pooler) {
    const ValueId first = b.reshape(b.slice(x, 1, 0, 1), {b.run.batch, spec.hidden});
    b.output(b.unary(OpKind::Tanh, b.linear(first, spec.names.pooler, spec.hidden, true)), "pooler_output");
  }
}

}  // namespace forerun
