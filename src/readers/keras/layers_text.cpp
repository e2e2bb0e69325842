// Layers of KerasHub that language models are built of.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

bool is_sequence(const Layer& c) {
  return !c.inputs.empty() && c.inputs[0].has_shape && c.inputs[0].rank() == 3 && c.inputs[0].last() > 0;
}

// A learned table [length, width], cut to the sequence and seen once for each of the batch.
ValueId position_table(Layer& c, ValueId like, std::int64_t steps, std::int64_t length, std::int64_t width,
                       const std::string& name) {
  ValueId table = c.weight(name, {length, width});
  const ValueId shape = c.w.op(OpKind::Shape, {like}, {}, DType::Int64);
  if (steps != length) {
    const ValueId end = c.w.op(OpKind::Slice, {shape, c.w.constant({1}), c.w.constant({2}), c.w.constant({0})});
    table = c.w.op(OpKind::Slice, {table, c.w.constant({0}), end, c.w.constant({0})});
  }
  return c.w.op(OpKind::Expand, {table, shape});
}

// One call of a core layer with settings made here; the path keeps the weights of each apart.
Result<Tensor> call_part(Layer& c, const std::string& class_name, const std::string& name, Json settings,
                         std::vector<Tensor> inputs) {
  settings["name"] = name;
  settings["trainable"] = true;
  std::vector<Argument> arguments;
  for (Tensor& t : inputs)
    arguments.push_back({.name = "", .tensors = {std::move(t)}, .is_list = false, .json = nullptr});
  const Json layer = {{"class_name", class_name}, {"config", std::move(settings)}};
  FORERUN_TRY(std::vector<Tensor> results, c.e.call(layer, std::move(arguments), name));
  if (results.size() != 1)
    return internal_error("layer " + name + " has " + std::to_string(results.size()) + " results");
  return results[0];
}

Json activation_of(const Layer& c, const char* fallback) {
  const Json* given = c.find("activation");
  return given == nullptr ? Json(fallback) : *given;
}

}  // namespace

Status position_embedding(Layer& c) {
  const std::int64_t length = c.integer("sequence_length", 0);
  if (!is_sequence(c)) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(length > 0, "it has no length"));
  const Tensor& x = c.inputs[0];
  c.give(c.made(position_table(c, c.natural(x), x.shape[1], length, x.last(), "position_embeddings"), x.shape));
  return ok();
}

Status token_and_position_embedding(Layer& c) {
  const std::int64_t rows = c.integer("vocabulary_size", 0), length = c.integer("sequence_length", 0),
                     width = c.integer("embedding_dim", 0);
  if (c.inputs.empty() || c.inputs[0].rank() != 2) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(rows > 0 && length > 0 && width > 0, "it has no size"));
  const Tensor& x = c.inputs[0];
  FORERUN_TRY(const Tensor tokens,
              call_part(c, "Embedding", "token_embedding", {{"input_dim", rows}, {"output_dim", width}}, {x}));
  const ValueId table = position_table(c, tokens.id, x.shape[1], length, width, "position_embeddings");
  c.give(c.made(c.w.op(OpKind::Add, {tokens.id, table}), tokens.shape));
  return ok();
}

// Self-attention and a feed-forward pair, each with a residual and a normalisation before or after.
Status transformer_encoder(Layer& c) {
  if (!is_sequence(c)) return c.unknown("the shape of its input is not known");
  const std::int64_t heads = c.integer("num_heads", 0), inner = c.integer("intermediate_dim", 0);
  Tensor x = c.inputs[0];
  const std::int64_t width = x.last();
  FORERUN_CHECK(c.expect(heads > 0 && inner > 0 && width >= heads, "its heads do not fit its input"));
  const bool first = c.flag("normalize_first", false);
  const auto norm = [&](const Tensor& t, const std::string& name) {
    return call_part(c, "LayerNormalization", name, {{"axis", -1}, {"epsilon", c.real("layer_norm_epsilon", 1e-5)}},
                     {t});
  };
  const auto add = [&](const Tensor& a, const Tensor& b) {
    Tensor sum = a;
    sum.id = c.w.op(OpKind::Add, {c.natural(a), c.natural(b)});
    sum.permuted = false;
    return sum;
  };
  Tensor residual = x;
  if (first) {
    FORERUN_TRY(x, norm(x, "self_attention_layer_norm"));
  }
  FORERUN_TRY(x, call_part(c, "MultiHeadAttention", "self_attention_layer",
                           {{"num_heads", heads}, {"key_dim", width / heads}}, {x, x}));
  x = add(residual, x);
  if (!first) {
    FORERUN_TRY(x, norm(x, "self_attention_layer_norm"));
  }
  residual = x;
  if (first) {
    FORERUN_TRY(x, norm(x, "feedforward_layer_norm"));
  }
  FORERUN_TRY(x, call_part(c, "Dense", "feedforward_intermediate_dense",
                           {{"units", inner}, {"activation", activation_of(c, "relu")}}, {x}));
  FORERUN_TRY(x, call_part(c, "Dense", "feedforward_output_dense", {{"units", width}}, {x}));
  x = add(residual, x);
  if (!first) {
    FORERUN_TRY(x, norm(x, "feedforward_layer_norm"));
  }
  c.give(x);
  return ok();
}

}  // namespace forerun::keras
