// Kimi Linear: three layers of delta attention (a gated delta rule with a decay per channel) to one of latent attention
// without rotary embedding; sigmoid-scored experts with shared ones.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/latent_attention.hpp"
#include "readers/huggingface/recurrent.hpp"

namespace forerun {
namespace {

ValueId delta_attention(GraphBuilder& b, ValueId x, std::int64_t heads, std::int64_t dim, std::int64_t kernel,
                        std::int64_t layer) {
  const std::int64_t width = heads * dim, hidden = b.last_dim(x);
  const ValueId joint = b.concat(
      {b.linear(x, "q_proj", width, false), b.linear(x, "k_proj", width, false), b.linear(x, "v_proj", width, false)},
      -1);
  const auto parts = b.split(causal_convolution(b, joint, "conv1d", kernel, false, layer), {width, width, width});
  ValueId decay = b.linear(b.linear(x, "forget_gate.f_a_proj", dim, false), "forget_gate.f_b_proj", width, false);
  decay = b.unary(OpKind::Softplus, b.add(decay, b.parameter("forget_gate.dt_bias", {width})));
  const ValueId rate = b.unary(OpKind::Exp, b.parameter("forget_gate.A_log", {1, heads, 1, 1}));
  const ValueId by_head = b.mul(split_heads(b, decay, heads, dim), rate);
  const ValueId beta = b.unary(OpKind::Sigmoid, b.linear(x, "b_proj", heads, false));
  const ValueId scale = b.reshape(b.transpose(beta, {0, 2, 1}), {b.run.batch, heads, b.run.tokens, 1});
  const ValueId q = split_heads(b, parts[0], heads, dim);
  const ValueId k = b.mul(split_heads(b, parts[1], heads, dim), by_head);
  const ValueId v = b.mul(split_heads(b, parts[2], heads, dim), scale);
  const ValueId y = b.rms_norm(b.transpose(linear_recurrence(b, q, k, v, 64, true, layer), {0, 2, 1, 3}), "o_norm");
  const ValueId gate =
      b.unary(OpKind::Sigmoid, b.linear(b.linear(x, "g_a_proj", dim, false), "g_b_proj", width, false));
  const ValueId gated = b.mul(b.reshape(y, {b.run.batch, b.run.tokens, width}), gate);
  return b.linear(gated, "o_proj", hidden, false);
}

}  // namespace

void build_kimi_linear(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 163840,
                                            .hidden = 2304,
                                            .intermediate = 9216,
                                            .layers = 27,
                                            .heads = 32,
                                            .max_positions = config.size("model_max_length", 1048576)});
  MlaSpec mla;
  mla.heads = spec.layer.attention.heads;
  mla.bias = config.flag("attention_bias", false);
  mla.has_rotary = false;
  mla.kv_rank = config.size("kv_lora_rank", 512);
  mla.q_rank = config.count("q_lora_rank", 0);
  mla.nope_dim = config.size("qk_nope_head_dim", 128);
  mla.rope_dim = config.size("qk_rope_head_dim", 64);
  mla.value_dim = config.size("v_head_dim", 128);
  const Config linear = config.sub("linear_attn_config");
  const std::int64_t heads = linear.size("num_heads", config.size("linear_num_heads", 32));
  const std::int64_t dim = linear.size("head_dim", config.size("linear_head_dim", 128));
  const std::int64_t kernel = linear.size("short_conv_kernel_size", config.size("linear_conv_kernel_dim", 4));
  const auto full = linear.integers("full_attn_layers");  // counted from 1
  const auto types = config.texts("layer_types");
  MoeSpec& moe = spec.layer.moe;
  moe.experts = config.count("num_experts", 256);
  moe.top_k = config.size({"num_experts_per_token", "num_experts_per_tok"}, 8);
  moe.intermediate = config.size("moe_intermediate_size", 1024);
  moe.shared_intermediate = config.count("num_shared_experts", 1) * moe.intermediate;
  moe.latent = config.count("routed_expert_hidden_size", 0);
  moe.sigmoid_scores = moe.score_correction = true;
  if (config.text("hidden_act", "silu") == "situ") spec.layer.mlp.activation = "silu";
  apply_dense_start(config, spec, 1);
  if (config.has("attn_res_block_size") || config.flag("mla_use_output_gate", false)) {
    b.warn("attention residuals and output gates of this configuration are left out");
  }
  spec.adjust = [=, inner = spec.adjust](std::int64_t i, LayerSpec& layer) {
    inner(i, layer);
    bool is_full = (i + 1) % 4 == 0;
    if (!full.empty())
      is_full = std::find(full.begin(), full.end(), i + 1) != full.end();
    else if (std::size_t(i) < types.size())
      is_full = types[std::size_t(i)] == "full_attention";
    else if (types.empty())
      is_full = i % 4 == 0 && i > 0;
    if (is_full)
      layer.mixer = [mla](GraphBuilder& builder, ValueId x, std::int64_t index) {
        return latent_attention(builder, x, mla, index);
      };
    else
      layer.mixer = [heads, dim, kernel](GraphBuilder& builder, ValueId x, std::int64_t index) {
        return delta_attention(builder, x, heads, dim, kernel, index);
      };
  };
  build_decoder(b, spec);
}

}  // namespace forerun
