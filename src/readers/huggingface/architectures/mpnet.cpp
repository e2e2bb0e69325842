// MPNet: BERT with one relative position bias shared by all layers, added to the scores; eager attention.
#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {

void build_mpnet(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.vocabulary = 30527;
  spec.type_vocabulary = 0;
  spec.positions_from_padding = true;
  spec.attention.heads = 12;
  read_usual_encoder(config, spec);
  spec.type_vocabulary = 0;
  AttentionSpec& attention = spec.attention;
  attention.eager = true;
  attention.softmax_in_float32 = false;
  attention.q = "attention.attn.q";
  attention.k = "attention.attn.k";
  attention.v = "attention.attn.v";
  spec.names.attention_norm = "attention.LayerNorm";
  const std::int64_t buckets = config.size("relative_attention_num_buckets", 32);
  ValueId bias = kNoValue;
  spec.mixer = [&spec, &bias, buckets](GraphBuilder& builder, ValueId x, std::int64_t) {
    const AttentionSpec& own = spec.attention;
    const std::int64_t tokens = builder.run.tokens, width = own.heads * own.head_dim;
    if (bias == kNoValue) {
      const std::string outer = std::exchange(builder.scope, "encoder.");
      const ValueId q = builder.reshape(builder.positions(0, tokens), {tokens, 1});
      const ValueId k = builder.reshape(builder.positions(0, tokens), {1, tokens});
      const ValueId distance = builder.op_as(DType::Int64, OpKind::Sub, {k, q}, {tokens, tokens});
      const ValueId table = builder.parameter("relative_attention_bias.weight", {buckets, own.heads});
      bias = builder.transpose(builder.embedding(table, distance), {2, 0, 1});
      bias = builder.reshape(bias, {1, own.heads, tokens, tokens});
      builder.scope = outer;
    }
    Heads heads;
    heads.q = split_heads(builder, builder.linear(x, own.q, width, true), own.heads, own.head_dim);
    heads.k = split_heads(builder, builder.linear(x, own.k, width, true), own.heads, own.head_dim);
    heads.v = split_heads(builder, builder.linear(x, own.v, width, true), own.heads, own.head_dim);
    return builder.linear(merge_heads(builder, attend(builder, heads, own, bias)), "attention.attn.o", spec.hidden,
                          true);
  };
  build_encoder(b, spec);
}

}  // namespace forerun
