// DeBERTa v2 and v3: disentangled attention. Content-to-position and position-to-content scores are products with the
// relative embeddings, gathered by distance; there is no SDPA for it.
#include <algorithm>

#include "readers/huggingface/architectures.hpp"
#include "readers/huggingface/encoder.hpp"

namespace forerun {
namespace {

struct Relative {
  bool c2p = false, p2c = false, shares_projections = false;
  std::int64_t span = 0;          // half the rows of the relative embeddings
  ValueId embeddings = kNoValue;  // [1, 2 span, hidden]
  ValueId mask = kNoValue;        // [B, 1, S, S], whole numbers
  ValueId positions = kNoValue;   // [1, S, S]: distance bucket of every pair
};

// [1 or B, S, H D] as [B H, S, D], contiguous.
ValueId by_head(GraphBuilder& b, ValueId x, std::int64_t heads, std::int64_t batch) {
  const Dims shape = b.dims(x);
  const ValueId split = split_heads(b, x, heads, shape[2] / heads);
  const ValueId flat = b.reshape(split, {shape[0] * heads, shape[1], shape[2] / heads});
  if (batch == shape[0]) return flat;
  return b.op(OpKind::Tile, {flat, b.constant({batch, 1, 1})}, {batch * heads, shape[1], shape[2] / heads});
}

ValueId position_scores(GraphBuilder& b, ValueId content, ValueId relative, ValueId positions, std::int64_t span) {
  const Dims shape = b.dims(content);
  const ValueId all = b.matmul(content, b.transpose(relative, {0, 2, 1}));  // [B H, S, 2 span]
  ValueId index = b.op_as(DType::Int64, OpKind::Add, {positions, b.scalar(span)}, b.dims(positions));
  index = b.op_as(DType::Int64, OpKind::Clip, {index, b.scalar(0), b.scalar(2 * span - 1)}, b.dims(positions));
  const Dims pairs = {shape[0], shape[1], shape[1]};
  index = b.op_as(DType::Int64, OpKind::Expand, {index, b.constant(pairs)}, pairs);
  return b.op(OpKind::GatherElements, {all, index}, pairs, {{"axis", std::int64_t{-1}}});
}

ValueId disentangled(GraphBuilder& b, ValueId x, const EncoderSpec& spec, const Relative& relative) {
  const std::int64_t heads = spec.attention.heads, batch = b.run.batch, tokens = b.run.tokens;
  const std::int64_t width = heads * spec.attention.head_dim;
  const auto project = [&](ValueId from, std::string_view name) { return b.linear(from, name, width, true); };
  const ValueId q = by_head(b, project(x, "attention.self.query_proj"), heads, batch);
  const ValueId k = by_head(b, project(x, "attention.self.key_proj"), heads, batch);
  const ValueId v = by_head(b, project(x, "attention.self.value_proj"), heads, batch);
  ValueId scores = b.matmul(q, b.scale(b.transpose(k, {0, 2, 1})));
  if (relative.embeddings != kNoValue && (relative.c2p || relative.p2c)) {
    ValueId bias = kNoValue;
    const ValueId pos_q =
        relative.p2c || relative.shares_projections
            ? by_head(b,
                      project(relative.embeddings, relative.shares_projections ? "attention.self.query_proj"
                                                                               : "attention.self.pos_query_proj"),
                      heads, batch)
            : kNoValue;
    const ValueId pos_k =
        relative.c2p || relative.shares_projections
            ? by_head(b,
                      project(relative.embeddings,
                              relative.shares_projections ? "attention.self.key_proj" : "attention.self.pos_key_proj"),
                      heads, batch)
            : kNoValue;
    if (relative.c2p) {
      bias = b.scale(position_scores(b, q, pos_k, relative.positions, relative.span));
    }
    if (relative.p2c) {
      const ValueId mirrored = b.unary(OpKind::Neg, relative.positions);
      ValueId p2c = position_scores(b, k, pos_q, mirrored, relative.span);
      p2c = b.scale(b.transpose(p2c, {0, 2, 1}));
      bias = bias == kNoValue ? p2c : b.add(bias, p2c);
    }
    scores = b.add(scores, bias);
  }
  scores = b.reshape(scores, {batch, heads, tokens, tokens});
  const ValueId kept = b.unary(OpKind::Not, b.cast(relative.mask, DType::Bool));
  scores = b.op(OpKind::Where, {kept, scores, b.buffer("lowest", b.run.activations, {})}, b.dims(scores));
  const ValueId weights = b.reshape(b.softmax(scores, false), {batch * heads, tokens, tokens});
  const ValueId mixed = b.reshape(b.matmul(weights, v), {batch, heads, tokens, spec.attention.head_dim});
  return b.linear(merge_heads(b, mixed), "attention.output.dense", spec.hidden, true);
}

}  // namespace

void build_deberta_v2(const Config& config, GraphBuilder& b) {
  EncoderSpec spec;
  spec.vocabulary = 128100;
  spec.hidden = 1536;
  spec.layers = 24;
  spec.intermediate = 6144;
  spec.type_vocabulary = 0;
  spec.attention.heads = 24;
  read_usual_encoder(config, spec);
  spec.attention.head_dim = config.size("attention_head_size", spec.attention.head_dim);
  spec.embedding = config.size("embedding_size", spec.hidden);
  spec.has_positions = config.flag("position_biased_input", true);
  const std::int64_t tokens = b.run.tokens;
  b.reuses_names = true;

  Relative relative;
  for (const std::string& type : config.texts("pos_att_type")) {
    relative.c2p |= type.find("c2p") != std::string::npos;
    relative.p2c |= type.find("p2c") != std::string::npos;
  }
  relative.shares_projections = config.flag("share_att_key", false);
  state_encoder_facts(b, spec);
  spec.projects_before_norm = true;
  spec.names.projection = "embeddings.embed_proj";
  ValueId x = encoder_embeddings(b, spec);
  const ValueId given = b.input("attention_mask", DType::Int64, {b.run.batch, 1, 1, tokens});
  relative.mask =
      b.op_as(DType::Int64, OpKind::Mul, {given, b.transpose(given, {0, 1, 3, 2})}, {b.run.batch, 1, tokens, tokens});
  const std::string outer = std::exchange(b.scope, "encoder.");
  if (config.flag("relative_attention", false)) {
    const std::int64_t longest = std::max<std::int64_t>(config.count("max_relative_positions", 0), 0);
    const std::int64_t buckets = config.count("position_buckets", 0);
    relative.span = buckets > 0 ? buckets : longest > 0 ? longest : spec.max_positions;
    ValueId table = b.parameter("rel_embeddings.weight", {relative.span * 2, spec.hidden});
    const auto norms = config.text("norm_rel_ebd", "none");
    // PyTorch projects the table anew in every layer of every pass: rows taken by an input keep it from being a
    // constant.
    table = b.embedding(table, b.input("relative_rows", DType::Int64, {relative.span * 2}));
    if (norms.find("layer_norm") != std::string::npos) table = b.layer_norm(table, "LayerNorm");
    relative.embeddings = b.reshape(table, {1, relative.span * 2, spec.hidden});
    // Distances, then logarithmic buckets: a few element-wise kernels on [S, S].
    const ValueId q = b.reshape(b.positions(0, tokens), {1, tokens, 1});
    const ValueId k = b.reshape(b.positions(0, tokens), {1, 1, tokens});
    const Dims pairs = {1, tokens, tokens};
    ValueId distance = b.op_as(DType::Int64, OpKind::Sub, {q, k}, pairs);
    if (buckets > 0) {
      const ValueId sign = b.unary(OpKind::Sign, distance);
      const ValueId log = b.unary(OpKind::Log, b.cast(b.unary(OpKind::Abs, distance), DType::Float32));
      const ValueId bucket = b.cast(b.unary(OpKind::Ceil, b.scale(log)), DType::Int64);
      distance = b.op_as(DType::Int64, OpKind::Mul, {bucket, sign}, pairs);
    }
    relative.positions = distance;
  }
  b.scope = outer;
  spec.mixer = [&spec, &relative](GraphBuilder& builder, ValueId input, std::int64_t) {
    return disentangled(builder, input, spec, relative);
  };
  const std::int64_t kernel = config.count("conv_kernel_size", 0);
  const ValueId embedded = x;
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    b.output(x, "hidden_states." + std::to_string(i));  // the implementation keeps them all
    x = encoder_layer(b, x, spec, i);
    if (i > 0 || kernel <= 0) continue;
    const Scope scope(b, "encoder.conv.");
    const std::int64_t groups = config.size("conv_groups", 1);
    const ValueId columns = b.transpose(embedded, {0, 2, 1});
    ValueId y = b.op(
        OpKind::Conv,
        {columns, b.parameter("conv.weight", {spec.hidden, std::max<std::int64_t>(spec.hidden / groups, 1), kernel}),
         b.parameter("conv.bias", {spec.hidden})},
        b.dims(columns),
        {{"kernel_shape", std::vector<std::int64_t>{kernel}},
         {"group", groups},
         {"pads", std::vector<std::int64_t>{(kernel - 1) / 2, (kernel - 1) / 2}}});
    y = b.activation(b.transpose(y, {0, 2, 1}), config.text("conv_act", "tanh"));
    x = b.layer_norm(b.add(x, y), "LayerNorm");
  }
  b.output(x, "last_hidden_state");
}

}  // namespace forerun
