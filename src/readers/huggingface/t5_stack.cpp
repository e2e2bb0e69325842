#include "readers/huggingface/t5_stack.hpp"

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/feed_forward.hpp"
#include "readers/huggingface/shard.hpp"

namespace forerun {
namespace {

// Distance buckets of every pair and their bias per head: [1, heads, queries, keys].
ValueId relative_bias(GraphBuilder& b, const T5Spec& spec, std::int64_t queries, std::int64_t keys, bool causal) {
  const ValueId q = b.reshape(b.positions(causal ? b.run.past : 0, queries), {queries, 1});
  const ValueId k = b.reshape(b.positions(0, keys), {1, keys});
  const Dims pairs = {queries, keys};
  const ValueId distance = b.op_as(DType::Int64, OpKind::Sub, {k, q}, pairs);
  const ValueId near = b.op_as(DType::Bool, OpKind::Less, {distance, b.scalar(spec.buckets / 4)}, pairs);
  const ValueId log = b.unary(OpKind::Log, b.cast(b.unary(OpKind::Abs, distance), DType::Float32));
  const ValueId far = b.cast(b.scale(log), DType::Int64);
  const ValueId bucket = b.op_as(DType::Int64, OpKind::Where, {near, distance, far}, pairs);
  const ValueId table = b.parameter("relative_attention_bias.weight", {spec.buckets, spec.heads});
  const ValueId by_pair = b.embedding(table, bucket);
  ValueId bias = b.reshape(b.transpose(by_pair, {2, 0, 1}), {1, spec.heads, queries, keys});
  return causal ? b.add(bias, b.causal_mask(queries, keys, 0, true)) : bias;
}

// `source` is where keys and values come from: x itself, the encoder's output, or nothing when they are cached.
ValueId t5_attention(GraphBuilder& b, ValueId x, ValueId source, const T5Spec& whole, std::int64_t layer,
                     bool is_decoder, bool is_cross, ValueId& bias) {
  T5Spec spec = whole;
  spec.heads = heads_of_rank(b, whole.heads);
  const Divided divided(b);
  refuse_context(b, "attention with a bias by distance");
  const std::int64_t inner = spec.heads * spec.head_dim;
  const std::int64_t batch = b.run.batch;
  Heads heads;
  heads.q = split_heads(b, b.linear(x, "q", inner, false), spec.heads, spec.head_dim);
  const std::string index = std::to_string(layer);
  if (is_cross && b.run.phase == Phase::Decode) {
    const Dims cached = {batch, spec.heads, b.run.encoder_tokens, spec.head_dim};
    heads.k = b.cache("past_cross_key." + index, b.run.activations, cached);
    heads.v = b.cache("past_cross_value." + index, b.run.activations, cached);
  } else {
    heads.k = split_heads(b, b.linear(source, "k", inner, false), spec.heads, spec.head_dim);
    heads.v = split_heads(b, b.linear(source, "v", inner, false), spec.heads, spec.head_dim);
    const AttentionSpec cache{.heads = spec.heads, .kv_heads = spec.heads, .head_dim = spec.head_dim};
    if (is_decoder && !is_cross) heads = extend_cache(b, heads, cache, layer);
    if (is_cross && b.run.keeps_cache) {
      b.output(heads.k, "cross_key." + index);
      b.output(heads.v, "cross_value." + index);
    }
  }
  if (!is_cross && (bias == kNoValue || spec.bias_in_every_layer)) {
    bias = relative_bias(b, spec, b.dims(heads.q)[2], b.dims(heads.k)[2], is_decoder);
  }
  const AttentionSpec attention{
      .heads = spec.heads, .kv_heads = spec.heads, .head_dim = spec.head_dim, .is_causal = false};
  const ValueId attended = attend(b, heads, attention, is_cross ? kNoValue : bias);
  const ValueId result = b.linear(merge_heads(b, attended), "o", spec.hidden, false);
  note_partial_sum(b, result);
  return result;
}

ValueId t5_feed_forward(GraphBuilder& b, ValueId x, const T5Spec& spec, bool is_sparse) {
  if (is_sparse) {
    const Scope scope(b, "mlp.");
    return mixture(b, x,
                   {.experts = spec.experts,
                    .top_k = 1,
                    .intermediate = spec.intermediate,
                    .gated = spec.gated,
                    .activation = spec.activation,
                    .router = "router.classifier"});
  }
  const Scope scope(b, "DenseReluDense.");
  return mlp(b, x,
             {.intermediate = spec.intermediate,
              .gated = spec.gated,
              .activation = spec.activation,
              .gate = "wi_0",
              .up = spec.gated ? "wi_1" : "wi",
              .down = "wo"});
}

ValueId t5_layers(GraphBuilder& b, ValueId x, ValueId encoded, const T5Spec& spec, bool is_decoder) {
  const Scope stack(b, is_decoder ? "decoder." : "encoder.");
  const std::int64_t count = is_decoder ? spec.decoder_layers : spec.encoder_layers;
  const std::int64_t step = is_decoder ? spec.decoder_sparse_step : spec.encoder_sparse_step;
  ValueId bias = kNoValue, no_bias = kNoValue;
  for (std::int64_t i = 0; i < count; ++i) {
    const Scope block(b, "block." + std::to_string(i) + ".layer.");
    {
      const Scope part(b, "0.");
      const ValueId normed = b.rms_norm(x, "layer_norm");
      const Scope module(b, "SelfAttention.");
      x = b.add(x, t5_attention(b, normed, normed, spec, i, is_decoder, false, bias));
    }
    if (is_decoder) {
      const Scope part(b, "1.");
      const ValueId normed = b.rms_norm(x, "layer_norm");
      const Scope module(b, "EncDecAttention.");
      x = b.add(x, t5_attention(b, normed, encoded, spec, i, true, true, no_bias));
    }
    const Scope part(b, is_decoder ? "2." : "1.");
    const bool is_sparse = spec.experts > 0 && step > 0 && (step == 1 || i % step == 1);
    x = b.add(x, t5_feed_forward(b, b.rms_norm(x, "layer_norm"), spec, is_sparse));
  }
  return b.rms_norm(x, "final_layer_norm");
}

}  // namespace

void read_t5(const Config& config, T5Spec& spec) {
  spec.vocabulary = config.size("vocab_size", spec.vocabulary);
  spec.hidden = config.size({"d_model", "hidden_size"}, spec.hidden);
  spec.head_dim = config.size("d_kv", spec.head_dim);
  spec.heads = config.size({"num_heads", "num_attention_heads"}, spec.heads);
  spec.intermediate = config.size("d_ff", spec.intermediate);
  spec.encoder_layers = config.layers({"num_layers", "num_hidden_layers"}, spec.encoder_layers);
  spec.decoder_layers = config.layers("num_decoder_layers", spec.encoder_layers);
  spec.buckets = config.size("relative_attention_num_buckets", spec.buckets);
  const std::string kind = config.text("feed_forward_proj", spec.gated ? "gated-gelu" : "relu");
  spec.gated = kind.rfind("gated", 0) == 0;
  spec.activation = kind == "gated-gelu" ? "gelu_new"
                    : spec.gated         ? kind.substr(kind.size() > 6 ? 6 : kind.size())
                                         : kind;
  spec.tied_head = config.flag("tie_word_embeddings", spec.tied_head);
}

void build_t5_stack(GraphBuilder& b, const T5Spec& spec) {
  b.graph.transformer = TransformerFacts{.layers = spec.encoder_layers + spec.decoder_layers,
                                         .heads = spec.heads,
                                         .kv_heads = spec.heads,
                                         .head_size = spec.head_dim,
                                         .hidden_size = spec.hidden,
                                         .vocabulary = spec.vocabulary,
                                         .max_positions = 512,
                                         .experts = spec.experts};
  const std::int64_t vocabulary = vocabulary_of_rank(b, spec.vocabulary);
  const auto divided = [&](std::string_view name, Dims dims) {
    const Divided scope(b);
    return b.parameter(name, std::move(dims));
  };
  const ValueId table = divided("shared.weight", {vocabulary, spec.hidden});
  const auto embed = [&](ValueId ids) {
    const ValueId x = b.embedding(table, ids);
    note_partial_sum(b, x);
    return x;
  };
  ValueId encoded = kNoValue;
  if (b.run.phase != Phase::Decode) {
    const ValueId ids = b.input("input_ids", DType::Int64, {b.run.batch, b.run.encoder_tokens});
    encoded = t5_layers(b, embed(ids), kNoValue, spec, false);
  }
  const ValueId ids = b.input("decoder_input_ids", DType::Int64, {b.run.batch, b.run.tokens});
  ValueId x = t5_layers(b, embed(ids), encoded, spec, true);
  if (!b.run.has_head) {
    b.output(x, "last_hidden_state");
  } else if (spec.tied_head) {
    b.output(b.tied_head(b.scale(x), table), "logits");
  } else {
    Dims out = b.dims(x);
    out.back() = vocabulary;
    b.output(b.op(OpKind::MatMul, {x, divided("lm_head.weight", {spec.hidden, vocabulary})}, out), "logits");
  }
  if (b.run.has_head) note_divided_result(b, b.graph.main().outputs.back());
  if (encoded != kNoValue) b.output(encoded, "encoder_last_hidden_state");
}

}  // namespace forerun
