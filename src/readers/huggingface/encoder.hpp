// The encoder BERT and its relatives are variants of: embeddings with a norm, layers that norm after each residual.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/config.hpp"
#include "readers/huggingface/feed_forward.hpp"

namespace forerun {

struct EncoderNames {
  std::string_view words = "embeddings.word_embeddings", positions = "embeddings.position_embeddings",
                   types = "embeddings.token_type_embeddings", embed_norm = "embeddings.LayerNorm",
                   projection = "embeddings_project", layers = "encoder.layer.",
                   attention_out = "attention.output.dense", attention_norm = "attention.output.LayerNorm",
                   up = "intermediate.dense", down = "output.dense", out_norm = "output.LayerNorm",
                   pooler = "pooler.dense";
};

struct EncoderSpec {
  std::int64_t layers = 12, hidden = 768, intermediate = 3072, vocabulary = 30522, max_positions = 512,
               type_vocabulary = 2;
  std::int64_t embedding = 0;           // width of the embeddings where they are projected to `hidden`; 0 = hidden
  bool projects_before_norm = false;    // and without bias (DeBERTa)
  bool positions_from_padding = false;  // RoBERTa counts positions over the tokens that are not padding
  bool has_positions = true;
  bool has_pooler = true;
  std::string activation = "gelu";
  AttentionSpec attention;
  // Replaces the attention's core: gets q, k, v projected as [B, S, hidden]; returns [B, S, hidden].
  std::function<ValueId(GraphBuilder&, ValueId x, std::int64_t layer)> mixer;
  std::function<std::string(std::int64_t layer)> layer_scope;  // where layers share weights
  EncoderNames names;
};

// The fields BERT-like configurations have, under their usual names; `spec` holds the defaults.
void read_usual_encoder(const Config& config, EncoderSpec& spec);
void build_encoder(GraphBuilder& b, const EncoderSpec& spec);
ValueId encoder_embeddings(GraphBuilder& b, const EncoderSpec& spec);
ValueId encoder_layer(GraphBuilder& b, ValueId x, const EncoderSpec& spec, std::int64_t layer);
void state_encoder_facts(GraphBuilder& b, const EncoderSpec& spec);

}  // namespace forerun
