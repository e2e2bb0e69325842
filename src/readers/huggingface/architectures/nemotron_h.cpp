// Nemotron-H and Nemotron 3: every layer is one block, a Mamba 2 mixer, an attention, an MLP or a mixture of experts.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/recurrent.hpp"

namespace forerun {
namespace {

enum class BlockKind : std::uint8_t { Mamba, Attention, Mlp, Moe };

std::vector<BlockKind> read_blocks(const Config& config) {
  std::vector<BlockKind> blocks;
  for (const char letter : config.text("hybrid_override_pattern", "")) {
    blocks.push_back(letter == 'M'   ? BlockKind::Mamba
                     : letter == '*' ? BlockKind::Attention
                     : letter == 'E' ? BlockKind::Moe
                                     : BlockKind::Mlp);
  }
  for (const std::string_view field : {"layers_block_type", "layer_types"}) {
    if (!blocks.empty()) break;
    for (const std::string& type : config.texts(field)) {
      blocks.push_back(type == "linear_attention" || type == "mamba"     ? BlockKind::Mamba
                       : type == "full_attention" || type == "attention" ? BlockKind::Attention
                       : type == "moe"                                   ? BlockKind::Moe
                                                                         : BlockKind::Mlp);
    }
  }
  if (blocks.empty()) blocks = {BlockKind::Mamba, BlockKind::Moe, BlockKind::Attention, BlockKind::Mlp};
  if (std::int64_t(blocks.size()) > kMaxLayers) {
    config.fail("more than " + std::to_string(kMaxLayers) + " layers");
    blocks.resize(1);
  }
  return blocks;
}

}  // namespace

void build_nemotron_h(const Config& config, GraphBuilder& b) {
  const std::vector<BlockKind> blocks = read_blocks(config);
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 131072,
                                            .hidden = 4096,
                                            .intermediate = 21504,
                                            .layers = 4,
                                            .heads = 32,
                                            .kv_heads = 8,
                                            .head_dim = 128,
                                            .max_positions = 4096,
                                            .activation = "relu2"});
  spec.layers = static_cast<std::int64_t>(blocks.size());
  AttentionSpec attention = spec.layer.attention;
  attention.rotary_dim = 0;
  attention.window = config.count("sliding_window", 0);
  const std::string activation = config.text("mlp_hidden_act", "relu2");
  const bool bias = config.flag("mlp_bias", false);
  Mamba2Spec mamba;
  mamba.heads = config.size("mamba_num_heads", 128);
  mamba.head_dim = config.size("mamba_head_dim", 64);
  mamba.groups = config.size({"mamba_n_groups", "n_groups"}, 8);
  mamba.state = config.size("ssm_state_size", 128);
  mamba.kernel = config.size({"mamba_d_conv", "conv_kernel"}, 4);
  mamba.chunk = config.size({"mamba_chunk_size", "chunk_size"}, 128);
  mamba.conv_bias = config.flag("use_conv_bias", config.flag("mamba_conv_bias", true));
  mamba.bias = config.flag("use_bias", false);
  if (mamba.heads % mamba.groups != 0) config.fail("mamba_num_heads is not a multiple of n_groups");
  MoeSpec moe;
  moe.experts = config.size("n_routed_experts", 8);
  moe.top_k = config.size("num_experts_per_tok", 2);
  moe.intermediate = config.size("moe_intermediate_size", 7688);
  moe.gated = false;
  moe.sigmoid_scores = moe.score_correction = true;
  moe.activation = activation;
  moe.latent = config.count("moe_latent_size", 0);
  moe.shared_intermediate = config.count("moe_shared_expert_intermediate_size", 7688);
  moe.bias = bias;
  const MlpSpec plain{
      .intermediate = spec.layer.mlp.intermediate, .gated = false, .bias = bias, .activation = activation};
  spec.layer.has_mlp = false;
  spec.names.embed = "model.embeddings";
  spec.names.final_norm = "model.norm_f";
  spec.names.norm1 = "norm";
  spec.names.attention = "mixer.";
  spec.layer.mixer = [=](GraphBuilder& builder, ValueId x, std::int64_t layer) {
    switch (blocks[std::size_t(layer)]) {
      case BlockKind::Mamba: return mamba2(builder, x, mamba, layer);
      case BlockKind::Attention: return self_attention(builder, x, attention, layer);
      case BlockKind::Mlp: return mlp(builder, x, plain);
      case BlockKind::Moe: break;
    }
    return mixture(builder, x, moe);
  };
  build_decoder(b, spec);
}

}  // namespace forerun
