#include "readers/huggingface/vision_tower.hpp"

#include <algorithm>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/feed_forward.hpp"

namespace forerun {

void read_vision(const Config& config, VisionSpec& spec) {
  spec.hidden = config.size("hidden_size", spec.hidden);
  spec.layers = config.layers("num_hidden_layers", spec.layers);
  spec.heads = config.size("num_attention_heads", spec.heads);
  spec.intermediate = config.size("intermediate_size", spec.intermediate);
  spec.channels = config.size("num_channels", spec.channels);
  spec.activation = config.text("hidden_act", spec.activation);
  const auto pair = [&](std::string_view name, std::int64_t fallback) {
    if (config.is_list(name)) {
      const auto values = config.integers(name);
      if (!values.empty() && values[0] > 0) return values[0];
      config.fail("field '" + std::string(name) + "' is not a size");
      return fallback;
    }
    return config.size(name, fallback);
  };
  spec.height = spec.width = pair("image_size", spec.height);
  spec.patch = pair("patch_size", spec.patch);
  if (spec.patch > spec.height) config.fail("patch_size is larger than image_size");
}

void state_vision_facts(GraphBuilder& b, const VisionSpec& spec) {
  b.graph.transformer = TransformerFacts{.layers = spec.layers,
                                         .heads = spec.heads,
                                         .kv_heads = spec.heads,
                                         .head_size = spec.hidden / spec.heads,
                                         .hidden_size = spec.hidden};
}

ValueId vision_tower(GraphBuilder& b, const VisionSpec& spec) {
  const std::int64_t batch = b.run.batch, down = spec.height / spec.patch, across = spec.width / spec.patch;
  const std::int64_t patches = down * across;
  const ValueId pixels = b.input("pixel_values", b.run.activations, {batch, spec.channels, spec.height, spec.width});
  const std::string name(spec.names.patches);
  std::vector<ValueId> inputs = {pixels,
                                 b.parameter(name + ".weight", {spec.hidden, spec.channels, spec.patch, spec.patch})};
  if (spec.patch_bias) inputs.push_back(b.parameter(name + ".bias", {spec.hidden}));
  ValueId x = b.op(OpKind::Conv, std::move(inputs), {batch, spec.hidden, down, across},
                   {{"kernel_shape", std::vector<std::int64_t>{spec.patch, spec.patch}},
                    {"strides", std::vector<std::int64_t>{spec.patch, spec.patch}}});
  x = b.transpose(b.reshape(x, {batch, spec.hidden, patches}), {0, 2, 1});
  const Dims token = {batch, 1, spec.hidden};
  const ValueId class_token =
      b.op(OpKind::Expand, {b.parameter(spec.names.class_token, {1, 1, spec.hidden}), b.constant(token)}, token);
  x = b.concat({class_token, x}, 1);
  x = b.add(x, b.parameter(spec.names.positions, {1, patches + 1, spec.hidden}));
  if (spec.pre_norm) x = b.layer_norm(x, "vision_model.pre_layrnorm");
  AttentionSpec attention;
  attention.heads = attention.kv_heads = spec.heads;
  attention.head_dim = std::max<std::int64_t>(spec.hidden / spec.heads, 1);
  attention.qkv_bias = spec.qkv_bias;
  attention.out_bias = true;
  attention.is_causal = attention.uses_cache = false;
  attention.out = spec.names.out;
  const MlpSpec feed_forward{.intermediate = spec.intermediate,
                             .gated = false,
                             .bias = true,
                             .activation = spec.activation,
                             .up = "mlp.fc1",
                             .down = "mlp.fc2"};
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    const Scope scope(b, std::string(spec.names.layers) + std::to_string(i) + ".");
    const ValueId normed = b.layer_norm(x, spec.names.norm1);
    {
      const Scope module(b, "attention.");
      x = b.add(x, self_attention(b, normed, attention, i));
    }
    x = b.add(x, mlp(b, b.layer_norm(x, spec.names.norm2), feed_forward));
  }
  return x;
}

}  // namespace forerun
