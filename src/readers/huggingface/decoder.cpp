#include "readers/huggingface/decoder.hpp"

#include <algorithm>

#include "readers/huggingface/shard.hpp"

namespace forerun {
namespace {

ValueId mix(GraphBuilder& b, ValueId x, const DecoderSpec& spec, const LayerSpec& layer, std::int64_t index) {
  const Scope scope(b, spec.names.attention);
  return layer.mixer ? layer.mixer(b, x, index) : self_attention(b, x, layer.attention, index);
}

ValueId feed_forward(GraphBuilder& b, ValueId x, const DecoderSpec& spec, const LayerSpec& layer) {
  const Scope scope(b, layer.moe.experts > 0 ? spec.names.moe : spec.names.mlp);
  return layer.moe.experts > 0 ? mixture(b, x, layer.moe) : mlp(b, x, layer.mlp);
}

}  // namespace

ValueId apply_norm(GraphBuilder& b, ValueId x, std::string_view name, NormKind kind) {
  if (kind == NormKind::Rms) return b.rms_norm(x, name);
  return b.layer_norm(x, name, kind != NormKind::LayerBare, kind == NormKind::Layer);
}

ValueId decoder_layer(GraphBuilder& b, ValueId x, const DecoderSpec& spec, const LayerSpec& layer, std::int64_t index) {
  const DecoderNames& names = spec.names;
  const Scope scope(b, std::string(names.layers) + std::to_string(index) + ".");
  const auto norm = [&](ValueId value, std::string_view name) { return apply_norm(b, value, name, spec.norm); };
  const auto residual = [&](ValueId base, ValueId update) {
    return b.add(base, spec.scales_residual ? b.scale(update) : update);
  };
  switch (spec.residual) {
    case Residual::PreNorm:
      if (layer.has_attention) x = residual(x, mix(b, norm(x, names.norm1), spec, layer, index));
      if (layer.has_mlp) x = residual(x, feed_forward(b, norm(x, names.norm2), spec, layer));
      break;
    case Residual::PostNorm:
      x = norm(residual(x, mix(b, x, spec, layer, index)), names.norm1);
      x = norm(residual(x, feed_forward(b, x, spec, layer)), names.norm2);
      break;
    case Residual::Parallel: {
      const ValueId normed = norm(x, names.norm1);
      const ValueId mixed = mix(b, normed, spec, layer, index);
      x = b.add(b.add(mixed, feed_forward(b, normed, spec, layer)), x);
      break;
    }
    case Residual::ParallelTwoNorms: {
      const ValueId mixed = mix(b, norm(x, names.norm1), spec, layer, index);
      x = b.add(b.add(mixed, feed_forward(b, norm(x, names.norm2), spec, layer)), x);
      break;
    }
    case Residual::Sandwich:
      x = residual(x, norm(mix(b, norm(x, names.norm1), spec, layer, index), names.norm2));
      x = residual(x, norm(feed_forward(b, norm(x, names.norm3), spec, layer), names.norm4));
      break;
    case Residual::NormedOutputs:
      x = residual(x, norm(mix(b, x, spec, layer, index), names.norm2));
      x = residual(x, norm(feed_forward(b, x, spec, layer), names.norm4));
      break;
  }
  return x;
}

void decoder_head(GraphBuilder& b, ValueId x, ValueId table, const DecoderSpec& spec) {
  const std::int64_t embed_dim = table != kNoValue    ? b.dims(table)[1]
                                 : spec.embed_dim > 0 ? spec.embed_dim
                                                      : spec.hidden;
  if (spec.final_norm) x = apply_norm(b, x, spec.names.final_norm, spec.norm);
  if (b.run.task != Task::Causal) {
    b.output(x, "last_hidden_state");
    return;
  }
  if (b.run.last_logits_only && b.run.tokens > 1) x = b.slice(x, 1, b.run.tokens - 1, 1);
  const Divided divided(b);
  const std::int64_t vocabulary = vocabulary_of_rank(b, spec.vocabulary);
  if (embed_dim != spec.hidden) x = b.linear(x, "model.decoder.project_out", embed_dim, false);
  ValueId logits = kNoValue;
  if (spec.tied) {
    logits = b.tied_head(x, table);
    if (spec.head_bias) logits = b.add(logits, b.parameter(std::string(spec.names.head) + ".bias", {vocabulary}));
  } else {
    // The head is left in floating point by the usual weight quantisations.
    Dims out = b.dims(x);
    out.back() = vocabulary;
    const std::string head(spec.names.head);
    logits = b.op(OpKind::MatMul, {x, b.parameter(head + ".weight", {embed_dim, vocabulary})}, out);
    b.graph.main().nodes.back().name = head;
    if (spec.head_bias) logits = b.add(logits, b.parameter(head + ".bias", {vocabulary}));
  }
  note_divided_result(b, logits);
  if (spec.softcaps_logits) logits = b.scale(b.unary(OpKind::Tanh, b.scale(logits)));
  if (spec.scales_logits) logits = b.scale(logits);
  b.output(logits, "logits");
}

void state_facts(GraphBuilder& b, const DecoderSpec& spec) {
  b.graph.transformer = TransformerFacts{.layers = spec.layers,
                                         .heads = spec.layer.attention.heads,
                                         .kv_heads = spec.layer.attention.kv_heads,
                                         .head_size = spec.layer.attention.head_dim,
                                         .hidden_size = spec.hidden,
                                         .vocabulary = spec.vocabulary,
                                         .max_positions = spec.max_positions,
                                         .experts = spec.layer.moe.experts};
}

namespace {

ValueId embedding_table(GraphBuilder& b, const DecoderSpec& spec) {
  const Divided divided(b);
  const std::int64_t embed_dim = spec.embed_dim > 0 ? spec.embed_dim : spec.hidden;
  return b.parameter(std::string(spec.names.embed) + ".weight", {vocabulary_of_rank(b, spec.vocabulary), embed_dim});
}

// Token ids to the first layer's input.
ValueId decoder_input(GraphBuilder& b, const DecoderSpec& spec, ValueId& table) {
  const std::int64_t embed_dim = spec.embed_dim > 0 ? spec.embed_dim : spec.hidden;
  const ValueId ids = b.input("input_ids", DType::Int64, {b.run.batch, b.run.tokens});
  table = embedding_table(b, spec);
  ValueId x = b.embedding(table, ids);
  note_partial_sum(b, x);
  if (embed_dim != spec.hidden) x = b.linear(x, "model.decoder.project_in", spec.hidden, false);
  if (spec.scales_embedding) x = b.scale(x);
  if (spec.position_rows > 0) {
    const ValueId rows = b.parameter(std::string(spec.names.positions) + ".weight", {spec.position_rows, spec.hidden});
    const ValueId where = b.reshape(b.positions(b.run.past, b.run.tokens), {1, b.run.tokens});
    x = b.add(x, b.embedding(rows, where));
  }
  if (spec.embed_norm) x = apply_norm(b, x, "transformer.word_embeddings_layernorm", spec.norm);
  return x;
}

}  // namespace

void build_decoder(GraphBuilder& b, const DecoderSpec& spec) {
  state_facts(b, spec);
  const GraphBuilder::Stage stage = b.stage_of(spec.layers);
  ValueId table = kNoValue;
  ValueId x = kNoValue;
  if (stage.has_input) {
    x = decoder_input(b, spec, table);
  } else {
    x = b.input("hidden_states", b.run.activations, {b.run.batch, b.run.tokens, spec.hidden});
    b.graph.values.back().wants_gradient = b.run.shard.layers > 0;
  }
  for (std::int64_t i = stage.first; i < stage.last; ++i) {
    b.begin_layer();
    if (spec.adjust) {
      LayerSpec layer = spec.layer;
      spec.adjust(i, layer);
      x = decoder_layer(b, x, spec, layer, i);
    } else {
      x = decoder_layer(b, x, spec, spec.layer, i);
    }
  }
  b.end_layers();
  if (!stage.has_output) {
    b.output(x, "hidden_states_out");
    return;
  }
  if (table == kNoValue && spec.tied) table = embedding_table(b, spec);
  decoder_head(b, x, table, spec);
}

DecoderSpec usual_decoder(const Config& config, const DecoderDefaults& defaults) {
  DecoderSpec spec;
  spec.vocabulary = config.size("vocab_size", defaults.vocabulary);
  spec.hidden = config.size("hidden_size", defaults.hidden);
  spec.layers = config.layers("num_hidden_layers", defaults.layers);
  spec.max_positions = config.size("max_position_embeddings", defaults.max_positions);
  spec.tied = config.flag("tie_word_embeddings", defaults.tied);
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = config.size("num_attention_heads", defaults.heads);
  // An absent field takes the default; an explicit null means as many as heads.
  const bool kv_is_null = config.states("num_key_value_heads") && !config.has("num_key_value_heads");
  attention.kv_heads =
      config.size("num_key_value_heads", defaults.kv_heads == 0 || kv_is_null ? attention.heads : defaults.kv_heads);
  const std::int64_t fallback_dim = defaults.head_dim > 0 ? defaults.head_dim : spec.hidden / attention.heads;
  attention.head_dim = config.size("head_dim", fallback_dim);
  if (attention.head_dim < 1) {
    config.fail("hidden_size is smaller than num_attention_heads");
    attention.head_dim = 1;
  }
  attention.rotary_dim = attention.head_dim;
  spec.layer.mlp.intermediate = config.size("intermediate_size", defaults.intermediate);
  spec.layer.mlp.activation = config.text({"hidden_activation", "hidden_act"}, defaults.activation);
  return spec;
}

void apply_layer_types(const Config& config, DecoderSpec& spec, std::int64_t window,
                       std::function<bool(std::int64_t)> slides) {
  if (window <= 0) return;
  const auto previous = spec.adjust;
  spec.adjust = [types = config.texts("layer_types"), window, slides = std::move(slides), previous](std::int64_t i,
                                                                                                    LayerSpec& layer) {
    if (previous) previous(i, layer);
    const bool is_sliding = types.empty()
                                ? slides && slides(i)
                                : std::size_t(i) < types.size() && (types[std::size_t(i)] == "sliding_attention" ||
                                                                    types[std::size_t(i)] == "chunked_attention");
    if (is_sliding) layer.attention.window = window;
  };
}

void apply_dense_start(const Config& config, DecoderSpec& spec, std::int64_t dense_layers) {
  const std::int64_t dense = config.count("first_k_dense_replace", dense_layers);
  std::int64_t step = 1;
  std::vector<std::int64_t> marks;  // 1 for layers with experts
  if (config.is_list("moe_layer_freq"))
    marks = config.integers("moe_layer_freq");
  else
    step = config.size("moe_layer_freq", 1);
  for (const std::string& type : config.texts("mlp_layer_types")) marks.push_back(type == "dense" ? 0 : 1);
  spec.adjust = [dense, step, marks, previous = spec.adjust](std::int64_t i, LayerSpec& layer) {
    if (previous) previous(i, layer);
    const bool has_experts = std::size_t(i) < marks.size() ? marks[std::size_t(i)] != 0 : i >= dense && i % step == 0;
    if (!has_experts) layer.moe.experts = 0;
  };
}

void apply_sparse_layers(const Config& config, DecoderSpec& spec) {
  const std::int64_t step = config.size("decoder_sparse_step", 1);
  spec.adjust = [step, dense = config.integers("mlp_only_layers"), previous = spec.adjust](std::int64_t i,
                                                                                           LayerSpec& layer) {
    if (previous) previous(i, layer);
    if ((i + 1) % step != 0 || std::find(dense.begin(), dense.end(), i) != dense.end()) layer.moe.experts = 0;
  };
}

}  // namespace forerun
