// The vision transformer ViT and CLIP share: patches, a class token, positions, layers that norm first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "readers/huggingface/config.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

struct VisionNames {
  std::string_view class_token, patches, positions, layers, norm1, norm2, final_norm = "", out = "o_proj";
};

struct VisionSpec {
  std::int64_t hidden = 768, layers = 12, heads = 12, intermediate = 3072, channels = 3;
  std::int64_t height = 224, width = 224, patch = 16;
  bool patch_bias = true;
  bool qkv_bias = true;
  bool pre_norm = false;  // a norm before the first layer (CLIP)
  std::string activation = "gelu";
  VisionNames names;
};

void read_vision(const Config& config, VisionSpec& spec);  // `spec` holds the defaults
void state_vision_facts(GraphBuilder& b, const VisionSpec& spec);
ValueId vision_tower(GraphBuilder& b, const VisionSpec& spec);  // [B, patches + 1, hidden], without the last norm

}  // namespace forerun
