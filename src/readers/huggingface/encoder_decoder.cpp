#include "readers/huggingface/encoder_decoder.hpp"

#include <algorithm>

#include "readers/huggingface/feed_forward.hpp"

namespace forerun {
namespace {

AttentionSpec attention_of(const EncoderDecoderSpec& spec, std::int64_t heads, bool is_decoder) {
  AttentionSpec attention;
  attention.heads = attention.kv_heads = heads;
  attention.head_dim = std::max<std::int64_t>(spec.hidden / heads, 1);
  attention.qkv_bias = attention.out_bias = true;
  attention.key_has_no_bias = spec.key_has_no_bias;
  attention.is_causal = attention.uses_cache = is_decoder;
  attention.out = "out_proj";
  return attention;
}

ValueId position_table(GraphBuilder& b, const EncoderDecoderSpec& spec, std::int64_t rows) {
  return spec.positions_are_trained ? b.parameter("embed_positions.weight", {rows, spec.hidden})
                                    : b.buffer("embed_positions.weight", b.run.weights, {rows, spec.hidden});
}

ValueId add_positions(GraphBuilder& b, ValueId x, const EncoderDecoderSpec& spec, std::int64_t rows,
                      std::int64_t first) {
  const std::int64_t tokens = b.dims(x)[1];
  const ValueId where = b.reshape(b.positions(first, tokens), {1, tokens});
  return b.add(x, b.embedding(position_table(b, spec, rows), where));
}

ValueId layers(GraphBuilder& b, ValueId x, ValueId encoded, const EncoderDecoderSpec& spec, bool is_decoder) {
  const SequenceSpec& sequence = is_decoder ? spec.decoder : spec.encoder;
  const AttentionSpec attention = attention_of(spec, sequence.heads, is_decoder);
  const auto block = [&](ValueId in, std::string_view norm, auto&& body) {
    if (spec.pre_norm) return b.add(in, body(b.layer_norm(in, norm)));
    return b.layer_norm(b.add(in, body(in)), norm);
  };
  for (std::int64_t i = 0; i < sequence.layers; ++i) {
    const Scope scope(b, "layers." + std::to_string(i) + ".");
    x = block(x, "self_attn_layer_norm", [&](ValueId in) {
      const Scope module(b, "self_attn.");
      return self_attention(b, in, attention, i);
    });
    if (is_decoder) {
      x = block(x, "encoder_attn_layer_norm", [&](ValueId in) {
        const Scope module(b, "encoder_attn.");
        return cross_attention(b, in, encoded, attention, i);
      });
    }
    x = block(x, "final_layer_norm", [&](ValueId in) {
      return mlp(b, in,
                 {.intermediate = sequence.intermediate,
                  .gated = false,
                  .bias = true,
                  .activation = spec.activation,
                  .up = "fc1",
                  .down = "fc2"});
    });
  }
  return spec.final_norm ? b.layer_norm(x, "layer_norm") : x;
}

ValueId convolve(GraphBuilder& b, ValueId x, std::string_view name, std::int64_t channels, std::int64_t stride) {
  const Dims in = b.dims(x);
  const std::string module(name);
  return b.op(OpKind::Conv,
              {x, b.parameter(module + ".weight", {channels, in[1], 3}), b.parameter(module + ".bias", {channels})},
              {in[0], channels, (in[2] - 1) / stride + 1},
              {{"kernel_shape", std::vector<std::int64_t>{3}},
               {"strides", std::vector<std::int64_t>{stride}},
               {"pads", std::vector<std::int64_t>{1, 1}}});
}

ValueId encode(GraphBuilder& b, ValueId table, const EncoderDecoderSpec& spec) {
  const Scope scope(b, "model.encoder.");
  ValueId x = kNoValue;
  if (spec.mel_bins > 0) {
    const ValueId mel =
        b.input("input_features", b.run.activations, {b.run.batch, spec.mel_bins, 2 * spec.source_positions});
    x = b.activation(convolve(b, mel, "conv1", spec.hidden, 1), "gelu");
    x = b.activation(convolve(b, x, "conv2", spec.hidden, 2), "gelu");
    x = b.transpose(x, {0, 2, 1});
    const ValueId rows =
        b.reshape(position_table(b, spec, spec.source_positions), {1, spec.source_positions, spec.hidden});
    x = b.add(x, rows);
  } else {
    x = b.embedding(table, b.input("input_ids", DType::Int64, {b.run.batch, b.run.encoder_tokens}));
    if (spec.scales_embedding) x = b.scale(x);
    x = add_positions(b, x, spec, spec.encoder_position_rows, 0);
  }
  if (spec.embed_norm) x = b.layer_norm(x, "layernorm_embedding");
  return layers(b, x, kNoValue, spec, false);
}

}  // namespace

void read_encoder_decoder(const Config& config, EncoderDecoderSpec& spec) {
  spec.vocabulary = config.size("vocab_size", spec.vocabulary);
  spec.hidden = config.size({"d_model", "hidden_size"}, spec.hidden);
  spec.max_positions = config.size("max_position_embeddings", spec.max_positions);
  for (SequenceSpec* part : {&spec.encoder, &spec.decoder}) {
    const bool is_encoder = part == &spec.encoder;
    part->layers = config.layers(is_encoder ? "encoder_layers" : "decoder_layers", part->layers);
    part->heads = config.size(is_encoder ? "encoder_attention_heads" : "decoder_attention_heads", part->heads);
    part->intermediate = config.size(is_encoder ? "encoder_ffn_dim" : "decoder_ffn_dim", part->intermediate);
  }
  spec.activation = config.text("activation_function", spec.activation);
  spec.scales_embedding = config.flag("scale_embedding", spec.scales_embedding);
  spec.tied_head = config.flag("tie_word_embeddings", spec.tied_head);
}

void build_encoder_decoder(GraphBuilder& b, const EncoderDecoderSpec& spec) {
  b.graph.transformer = TransformerFacts{.layers = spec.encoder.layers + spec.decoder.layers,
                                         .heads = spec.encoder.heads,
                                         .kv_heads = spec.encoder.heads,
                                         .head_size = spec.hidden / spec.encoder.heads,
                                         .hidden_size = spec.hidden,
                                         .vocabulary = spec.vocabulary,
                                         .max_positions = spec.max_positions};
  const ValueId table = b.parameter(std::string(spec.shared_name) + ".weight", {spec.vocabulary, spec.hidden});
  const ValueId encoded = b.run.phase == Phase::Decode ? kNoValue : encode(b, table, spec);
  ValueId x = kNoValue;
  {
    const Scope scope(b, "model.decoder.");
    x = b.embedding(table, b.input("decoder_input_ids", DType::Int64, {b.run.batch, b.run.tokens}));
    if (spec.scales_embedding) x = b.scale(x);
    x = add_positions(b, x, spec, spec.decoder_position_rows, b.run.past);
    if (spec.embed_norm) x = b.layer_norm(x, "layernorm_embedding");
    x = layers(b, x, encoded, spec, true);
  }
  if (!b.run.has_head) {
    b.output(x, "last_hidden_state");
  } else {
    ValueId logits = kNoValue;
    if (spec.tied_head)
      logits = b.tied_head(x, table);
    else {
      Dims out = b.dims(x);
      out.back() = spec.vocabulary;
      logits = b.op(OpKind::MatMul, {x, b.parameter("lm_head.weight", {spec.hidden, spec.vocabulary})}, out);
    }
    if (spec.head_bias) logits = b.add(logits, b.buffer("final_logits_bias", b.run.weights, {1, spec.vocabulary}));
    b.output(logits, "logits");
  }
  if (encoded != kNoValue) b.output(encoded, "encoder_last_hidden_state");
}

}  // namespace forerun
