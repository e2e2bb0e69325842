// Nemotron by architecture search (Llama-3.3-Nemotron-Super and its kin): Llama whose layers differ; some have no
// attention, and every MLP has a width of its own.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/decoder.hpp"

namespace forerun {

void build_nemotron_nas(const Config& config, GraphBuilder& b) {
  DecoderSpec spec = usual_decoder(config, {.vocabulary = 128256,
                                            .hidden = 8192,
                                            .intermediate = 28672,
                                            .layers = 80,
                                            .heads = 64,
                                            .max_positions = 131072});
  spec.layer.attention.qkv_bias = spec.layer.attention.out_bias = config.flag("attention_bias", false);
  spec.layer.mlp.bias = config.flag("mlp_bias", false);
  if (!config.is_list("block_configs")) {
    config.fail("field 'block_configs' is missing: the layers' shapes are not known");
    return;
  }
  const Json& blocks = config.json()["block_configs"];
  std::string ignored;
  spec.adjust = [&](std::int64_t i, LayerSpec& layer) {
    if (std::size_t(i) >= blocks.size() || !blocks[std::size_t(i)].is_object()) return;
    const Config block(blocks[std::size_t(i)], ignored);
    const Config attention = block.sub("attention"), ffn = block.sub("ffn");
    layer.has_attention = !attention.flag("no_op", false);
    layer.has_mlp = !ffn.flag("no_op", false);
    const std::int64_t group = attention.size("n_heads_in_group", 1);
    layer.attention.kv_heads = std::max<std::int64_t>(layer.attention.heads / group, 1);
    layer.attention.window = attention.count("window_length", 0);
    if (attention.flag("replace_with_linear", false) && layer.has_attention) {
      layer.mixer = [](GraphBuilder& builder, ValueId x, std::int64_t) {
        return builder.linear(x, "linear_attn", builder.last_dim(x), false);
      };
    }
    const double multiple = ffn.real("ffn_mult", 0);
    if (multiple > 0 && multiple <= 64) {
      const auto width = static_cast<std::int64_t>(2.0 * multiple * double(spec.hidden) / 3.0);
      layer.mlp.intermediate = (width + 255) / 256 * 256;
    }
  };
  build_decoder(b, spec);
}

}  // namespace forerun
