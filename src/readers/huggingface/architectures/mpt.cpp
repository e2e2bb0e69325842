// MPT: ALiBi, fused projection, layer norms without bias, tied head, eager attention.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_mpt(const Config& config, GraphBuilder& b) {
  DecoderSpec spec;
  spec.vocabulary = config.size("vocab_size", 50368);
  spec.hidden = config.size("d_model", 2048);
  spec.layers = config.layers("n_layers", 24);
  spec.max_positions = config.size("max_seq_len", 2048);
  spec.tied = config.flag("tie_word_embeddings", true);
  spec.norm = NormKind::LayerNoBias;
  const Config attention_fields = config.sub("attn_config");
  AttentionSpec& attention = spec.layer.attention;
  attention.heads = attention.kv_heads = config.size("n_heads", 16);
  attention.head_dim = spec.hidden / attention.heads;
  attention.fused_qkv = true;
  attention.has_alibi = attention_fields.flag("alibi", true);
  attention.eager = attention.has_alibi;
  if (!attention.has_alibi) spec.position_rows = spec.max_positions;
  attention.clips_qkv = attention_fields.has("clip_qkv");
  attention.qkv = "Wqkv";
  attention.out = "out_proj";
  spec.layer.mlp = {.intermediate = spec.hidden * config.size("expansion_ratio", 4),
                    .gated = false,
                    .activation = "gelu",
                    .up = "up_proj",
                    .down = "down_proj"};
  spec.names = {.embed = "transformer.wte",
                .positions = "transformer.wpe",
                .layers = "transformer.blocks.",
                .final_norm = "transformer.norm_f",
                .attention = "attn.",
                .mlp = "ffn.",
                .norm1 = "norm_1",
                .norm2 = "norm_2"};
  build_decoder(b, spec);
}

}  // namespace forerun
