// Gemma 4 (text): sliding layers with narrow heads, full layers with wide ones whose values may be their keys; layers
// that share keys and values, an embedding per layer, and experts in parallel with the MLP, each where the
// configuration has them.
#include <algorithm>
#include <map>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {
namespace {

struct Gemma4 {
  DecoderSpec spec;
  std::int64_t per_layer = 0;      // width of the embedding per layer; 0 = none
  std::int64_t shared_layers = 0;  // last layers, which reuse keys and values
  bool doubles_mlp = false;
  MoeSpec moe;
};

ValueId attention_block(GraphBuilder& b, ValueId x, const AttentionSpec& attention, std::int64_t layer, bool is_shared,
                        std::map<bool, Heads>& kept) {
  const std::int64_t hidden = b.last_dim(x), width = attention.heads * attention.head_dim;
  Heads heads;
  heads.q = b.rms_norm(
      split_heads(b, b.linear(x, "q_proj", width, attention.qkv_bias), attention.heads, attention.head_dim), "q_norm");
  heads.q = b.rotate(heads.q, attention.rotary_dim, false, attention.rotary_set);
  const auto known = kept.find(attention.window > 0);
  if (is_shared && known != kept.end()) {
    heads.k = known->second.k;
    heads.v = known->second.v;
  } else {
    const std::int64_t kv_width = attention.kv_heads * attention.head_dim;
    const ValueId k =
        split_heads(b, b.linear(x, "k_proj", kv_width, attention.qkv_bias), attention.kv_heads, attention.head_dim);
    const ValueId v = attention.keys_are_values ? k
                                                : split_heads(b, b.linear(x, "v_proj", kv_width, attention.qkv_bias),
                                                              attention.kv_heads, attention.head_dim);
    heads.k = b.rotate(b.rms_norm(k, "k_norm"), attention.rotary_dim, false, attention.rotary_set);
    heads.v = b.rms_norm(v, "v_norm", false);
    heads = extend_cache(b, heads, attention, layer);
    kept[attention.window > 0] = heads;
  }
  return b.linear(merge_heads(b, attend(b, heads, attention)), "o_proj", hidden, attention.out_bias);
}

ValueId experts_block(GraphBuilder& b, ValueId x, const MoeSpec& moe) {
  const Dims shape = b.dims(x);
  Dims wide = shape, chosen = shape;
  wide.back() = moe.experts;
  chosen.back() = std::min(moe.top_k, moe.experts);
  const ValueId scaled = b.mul(b.rms_norm(x, "router.norm", false), b.parameter("router.scale", {shape.back()}));
  ValueId scores = b.op(OpKind::MatMul, {scaled, b.parameter("router.proj.weight", {shape.back(), moe.experts})}, wide);
  scores = b.mul(b.softmax(scores, true), b.parameter("router.per_expert_scale", {moe.experts}));
  const auto top = b.ops(OpKind::TopK, {scores, b.constant({chosen.back()})},
                         {{b.run.activations, chosen}, {DType::Int64, chosen}}, {{"axis", std::int64_t{-1}}});
  const ValueId normed = b.rms_norm(x, "pre_feedforward_layernorm_2");
  return b.rms_norm(routed_experts(b, normed, moe, top[0]), "post_feedforward_layernorm_2");
}

ValueId gemma4_layer(GraphBuilder& b, ValueId x, ValueId per_layer_input, const Gemma4& network, const LayerSpec& layer,
                     std::int64_t index, std::map<bool, Heads>& kept) {
  const Scope scope(b, "model.layers." + std::to_string(index) + ".");
  const bool is_shared = network.shared_layers > 0 && index >= network.spec.layers - network.shared_layers;
  ValueId mixed = b.rms_norm(x, "input_layernorm");
  {
    const Scope module(b, "self_attn.");
    mixed = attention_block(b, mixed, layer.attention, index, is_shared, kept);
  }
  x = b.add(x, b.rms_norm(mixed, "post_attention_layernorm"));
  ValueId y = b.rms_norm(x, "pre_feedforward_layernorm");
  {
    const Scope module(b, "mlp.");
    MlpSpec feed_forward = layer.mlp;
    if (network.doubles_mlp && is_shared) feed_forward.intermediate *= 2;
    y = mlp(b, y, feed_forward);
  }
  if (network.moe.experts > 0)
    y = b.add(b.rms_norm(y, "post_feedforward_layernorm_1"), experts_block(b, x, network.moe));
  x = b.add(x, b.rms_norm(y, "post_feedforward_layernorm"));
  if (network.per_layer > 0) {
    ValueId gate = b.activation(b.linear(x, "per_layer_input_gate", network.per_layer, false), layer.mlp.activation);
    gate = b.linear(b.mul(gate, per_layer_input), "per_layer_projection", network.spec.hidden, false);
    x = b.add(x, b.rms_norm(gate, "post_per_layer_input_norm"));
  }
  return b.scale(x);
}

}  // namespace

void build_gemma4(const Config& config, GraphBuilder& b) {
  Gemma4 network;
  DecoderSpec& spec = network.spec;
  spec = usual_decoder(config, {.vocabulary = 262144,
                                .hidden = 2304,
                                .intermediate = 9216,
                                .layers = 30,
                                .heads = 8,
                                .kv_heads = 4,
                                .head_dim = 256,
                                .max_positions = 131072,
                                .tied = true,
                                .activation = "gelu_pytorch_tanh"});
  AttentionSpec& attention = spec.layer.attention;
  attention.qkv_bias = attention.out_bias = config.flag("attention_bias", false);
  spec.softcaps_logits = config.has("final_logit_softcapping");
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  const std::int64_t full_dim = config.size("global_head_dim", 512);
  const std::int64_t full_heads =
      keys_are_values ? config.size("num_global_key_value_heads", attention.kv_heads) : attention.kv_heads;
  network.shared_layers = std::min(config.count("num_kv_shared_layers", 0), spec.layers);
  network.doubles_mlp = config.flag("use_double_wide_mlp", false);
  network.per_layer = config.count("hidden_size_per_layer_input", 256);
  if (config.flag("enable_moe_block", false)) {
    network.moe = {.experts = config.size("num_experts", 128),
                   .top_k = config.size("top_k_experts", 8),
                   .intermediate = config.size("moe_intermediate_size", 704),
                   .activation = spec.layer.mlp.activation};
  }
  apply_layer_types(config, spec, config.count("sliding_window", 512),
                    [](std::int64_t layer) { return (layer + 1) % 6 != 0; });
  state_facts(b, spec);
  const ValueId ids = b.input("input_ids", DType::Int64, {b.run.batch, b.run.tokens});
  const ValueId table = b.parameter("model.embed_tokens.weight", {spec.vocabulary, spec.hidden});
  ValueId x = b.scale(b.embedding(table, ids));
  std::vector<ValueId> per_layer_inputs;
  if (network.per_layer > 0 && spec.layers > 0) {
    const std::int64_t rows = config.size("vocab_size_per_layer_input", 262144),
                       width = spec.layers * network.per_layer;
    const Dims split = {b.run.batch, b.run.tokens, spec.layers, network.per_layer};
    const ValueId looked_up =
        b.scale(b.embedding(b.parameter("model.embed_tokens_per_layer.weight", {rows, width}), ids));
    ValueId projected = b.scale(b.linear(x, "model.per_layer_model_projection", width, false));
    projected = b.rms_norm(b.reshape(projected, split), "model.per_layer_projection_norm");
    const ValueId all = b.scale(b.add(projected, b.reshape(looked_up, split)));
    for (std::int64_t i = 0; i < spec.layers; ++i) {
      per_layer_inputs.push_back(b.reshape(b.slice(all, 2, i, 1), {b.run.batch, b.run.tokens, network.per_layer}));
    }
  }
  std::map<bool, Heads> kept;  // by whether the layer slides: keys and values of the last layer that made its own
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    LayerSpec layer = spec.layer;
    if (spec.adjust) spec.adjust(i, layer);
    layer.attention.rotary_set = layer.attention.window > 0 ? "sliding" : "full";
    if (layer.attention.window == 0) {
      layer.attention.head_dim = full_dim;
      layer.attention.kv_heads = full_heads;
      layer.attention.keys_are_values = keys_are_values;
      layer.attention.rotary_dim = full_dim;
    }
    const ValueId own = per_layer_inputs.empty() ? kNoValue : per_layer_inputs[std::size_t(i)];
    x = gemma4_layer(b, x, own, network, layer, i, kept);
  }
  decoder_head(b, x, table, spec);
}

}  // namespace forerun
