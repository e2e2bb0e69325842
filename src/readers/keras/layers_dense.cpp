// Dense layers, embeddings and attention.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

// x [.., in] times a matrix [in, out], plus a bias: as PyTorch's linear layer, one Gemm where x is a matrix.
ValueId linear(Layer& c, ValueId x, std::size_t rank, std::int64_t in, std::int64_t out, const std::string& name,
               bool bias) {
  const ValueId b = bias ? c.weight(name + "bias", {out}) : kNoValue;
  if (rank == 2) {
    std::vector<ValueId> inputs = {x, c.weight(name + "kernel", {out, in})};
    if (bias) inputs.push_back(b);
    return c.w.op(OpKind::Gemm, std::move(inputs), {{"transB", std::int64_t{1}}});
  }
  const ValueId product = c.w.op(OpKind::MatMul, {x, c.weight(name + "kernel", {in, out})});
  return bias ? c.w.op(OpKind::Add, {product, b}) : product;
}

// [batch, length, heads * width] -> [batch, heads, length, width]
ValueId split_heads(Layer& c, ValueId x, std::int64_t heads, std::int64_t width) {
  const ValueId wide = c.w.op(OpKind::Reshape, {x, c.w.constant({0, 0, heads, width})});
  return c.w.op(OpKind::Transpose, {wide}, {{"perm", Dims{0, 2, 1, 3}}});
}

struct AttentionSizes {
  std::int64_t heads = 0, key_heads = 0, key_width = 0, value_width = 0;
};

// What both attention layers share: projections, scaled dot product, output projection.
Status attend(Layer& c, const AttentionSizes& sizes) {
  const Tensor* query = c.tensor("query", 0);
  const Tensor* value = c.tensor("value", 1);
  const Tensor* key = c.tensor("key", 2);
  if (query != nullptr && value == nullptr) value = query;
  if (key == nullptr) key = value;
  if (query == nullptr || query->rank() != 3 || value->rank() != 3 || key->rank() != 3 || query->last() <= 0 ||
      value->last() <= 0 || key->last() <= 0)
    return c.unknown("the shapes of its inputs are not known, or not of rank 3");
  const auto sane = [](std::int64_t size) { return size > 0 && size <= (1 << 24); };
  FORERUN_CHECK(c.expect(sane(sizes.heads) && sane(sizes.key_heads) && sane(sizes.key_width) && sane(sizes.value_width),
                         "its heads have no size"));
  const bool bias = c.flag("use_bias", true);
  const auto project = [&](const Tensor& x, std::int64_t heads, std::int64_t width, const std::string& name) {
    const ValueId flat = linear(c, c.natural(x), 3, x.last(), checked_mul(heads, width), name, bias);
    return split_heads(c, flat, heads, width);
  };
  const ValueId q = project(*query, sizes.heads, sizes.key_width, "query/");
  const ValueId k = project(*key, sizes.key_heads, sizes.key_width, "key/");
  const ValueId v = project(*value, sizes.key_heads, sizes.value_width, "value/");
  std::vector<ValueId> inputs = {q, k, v};
  const Json* causal = c.value("use_causal_mask", 99);
  if (const Tensor* mask = c.tensor("attention_mask", 3); mask != nullptr && mask->has_shape) {
    ValueId id = c.natural(*mask);
    if (mask->rank() == 3) id = c.w.op(OpKind::Unsqueeze, {id, c.w.constant({1})});
    if (mask->rank() == 3 || mask->rank() == 4) inputs.push_back(id);
  }
  const ValueId mixed =
      c.w.op(OpKind::Attention, std::move(inputs),
             {{"is_causal", std::int64_t{causal != nullptr && causal->is_boolean() && causal->get<bool>()}}});
  const ValueId turned = c.w.op(OpKind::Transpose, {mixed}, {{"perm", Dims{0, 2, 1, 3}}});
  const std::int64_t width = checked_mul(sizes.heads, sizes.value_width);
  const ValueId merged = c.w.op(OpKind::Reshape, {turned, c.w.constant({0, 0, width})});
  const Dims wanted = c.ints("output_shape");
  const std::int64_t out = wanted.size() == 1 && wanted[0] > 0 ? wanted[0] : query->last();
  const ValueId y = linear(c, merged, 3, width, out, "attention_output/", bias);
  c.give(c.made(y, {query->shape[0], query->shape[1], out}));
  return ok();
}

// A serialised list or tuple of letters: "abc,cd->abd"; "..." stands for leading dimensions.
std::string equation_of(const Layer& c) { return c.text("equation", ""); }

}  // namespace

Status dense(Layer& c) {
  if (c.inputs.empty() || !c.inputs[0].has_shape || c.inputs[0].rank() < 2 || c.inputs[0].last() <= 0)
    return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  const std::int64_t units = c.integer("units", 0);
  FORERUN_CHECK(c.expect(units > 0, "it has no units"));
  Dims shape = x.shape;
  shape.back() = units;
  const ValueId y = linear(c, c.natural(x), x.rank(), x.last(), units, "", c.flag("use_bias", true));
  c.give(c.activate(c.made(y, std::move(shape)), c.find("activation")));
  return ok();
}

Status einsum_dense(Layer& c) {
  const std::string equation = equation_of(c);
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  if (c.inputs.empty() || !c.inputs[0].has_shape || comma == std::string::npos || arrow == std::string::npos ||
      arrow < comma)
    return c.unknown("the shape of its input is not known");
  const Tensor& x = c.inputs[0];
  std::string from = equation.substr(0, comma), weight = equation.substr(comma + 1, arrow - comma - 1),
              to = equation.substr(arrow + 2);
  if (from.starts_with("...") && to.starts_with("...")) {  // leading dimensions get letters of their own
    from = from.substr(3);
    to = to.substr(3);
    std::string lead;
    for (char letter = 'A'; lead.size() + from.size() < x.rank() && letter <= 'Z'; ++letter) lead += letter;
    from = lead + from;
    to = lead + to;
  }
  if (from.size() != x.rank() || to.size() > 16) return c.unknown("its equation does not fit its input");
  Dims wanted = c.ints("output_shape");
  while (wanted.size() < to.size()) wanted.insert(wanted.begin(), kUnknownDim);
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < to.size(); ++i) sizes[to[i]] = wanted[wanted.size() - to.size() + i];
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (x.shape[i] > 0 || !sizes.contains(from[i])) sizes[from[i]] = x.shape[i];
  }
  Dims kernel, bias, shape;
  for (const char letter : weight) {
    if (!sizes.contains(letter) || sizes[letter] <= 0)
      return c.unknown("its kernel's shape does not follow from its equation");
    kernel.push_back(sizes[letter]);
  }
  for (const char letter : to) shape.push_back(sizes[letter]);
  // Where one dimension is contracted and the others are batch, this is a linear layer.
  ValueId y = c.w.op(OpKind::Einsum, {c.natural(x), c.weight("kernel", kernel)},
                     {{"equation", from + "," + weight + "->" + to}});
  if (const std::string axes = c.text("bias_axes", ""); !axes.empty()) {
    for (const char letter : to) {
      if (axes.find(letter) != std::string::npos) {
        bias.push_back(sizes[letter]);
      } else if (!bias.empty()) {
        bias.push_back(1);
      }
    }
    if (std::all_of(bias.begin(), bias.end(), [](std::int64_t d) { return d > 0; }))
      y = c.w.op(OpKind::Add, {y, c.weight("bias", bias)});
  }
  c.give(c.activate(c.made(y, std::move(shape)), c.find("activation")));
  return ok();
}

Status embedding(Layer& c) {
  const std::int64_t rows = c.integer("input_dim", 0), width = c.integer("output_dim", 0);
  if (c.inputs.empty() || !c.inputs[0].has_shape) return c.unknown("the shape of its input is not known");
  FORERUN_CHECK(c.expect(rows > 0 && width > 0, "it has no size"));
  const Tensor& x = c.inputs[0];
  const ValueId table = c.weight("embeddings", {rows, width});
  ValueId ids = c.natural(x);
  // Keras takes indices in any type and casts them.
  Value& given = c.w.value(ids);
  if (given.role == ValueRole::Input && is_floating(given.dtype) && !c.w.is_read(ids)) given.dtype = DType::Int32;
  if (is_floating(c.w.value(ids).dtype))
    ids = c.w.op(OpKind::Cast, {ids}, {{"to", std::int64_t(DType::Int32)}}, DType::Int32);
  Dims shape = x.shape;
  shape.push_back(width);
  const ValueId y = c.w.op(OpKind::Gather, {table, ids}, {{"axis", std::int64_t{0}}});
  c.give(c.made(y, std::move(shape)));
  return ok();
}

Status multi_head_attention(Layer& c) {
  const std::int64_t heads = c.integer("num_heads", 0), width = c.integer("key_dim", 0);
  return attend(c,
                {.heads = heads, .key_heads = heads, .key_width = width, .value_width = c.integer("value_dim", width)});
}

Status grouped_query_attention(Layer& c) {
  const std::int64_t width = c.integer("head_dim", 0);
  return attend(c, {.heads = c.integer("num_query_heads", 0),
                    .key_heads = c.integer("num_key_value_heads", 0),
                    .key_width = width,
                    .value_width = width});
}

// Scores of queries with keys, softmax, product with the values; the additive kind passes sums through tanh.
Status dot_attention(Layer& c) {
  if (c.inputs.size() < 2 || !c.inputs[0].has_shape || !c.inputs[1].has_shape || c.inputs[0].rank() != 3 ||
      c.inputs[1].rank() != 3 || c.inputs[0].last() <= 0)
    return c.unknown("the shapes of its inputs are not known");
  const Tensor& query = c.inputs[0];
  const Tensor& value = c.inputs[1];
  const Tensor& key = c.inputs.size() > 2 && c.inputs[2].rank() == 3 ? c.inputs[2] : value;
  const ValueId q = c.natural(query), v = c.natural(value), k = c.natural(key);
  ValueId scores = kNoValue;
  if (c.w.op_type == "AdditiveAttention") {
    const ValueId rows = c.w.op(OpKind::Unsqueeze, {q, c.w.constant({2})});
    const ValueId columns = c.w.op(OpKind::Unsqueeze, {k, c.w.constant({1})});
    ValueId sums = c.w.op(OpKind::Tanh, {c.w.op(OpKind::Add, {rows, columns})});
    if (c.flag("use_scale", true)) sums = c.w.op(OpKind::Mul, {sums, c.weight("scale", {query.last()})});
    scores = c.w.op(OpKind::ReduceSum, {sums, c.w.constant({-1})}, {{"keepdims", std::int64_t{0}}});
  } else {
    const ValueId turned = c.w.op(OpKind::Transpose, {k}, {{"perm", Dims{0, 2, 1}}});
    scores = c.w.op(OpKind::MatMul, {q, turned});
    if (c.flag("use_scale", false)) scores = c.w.op(OpKind::Mul, {scores, c.weight("scale", {})});
  }
  const ValueId weights = c.w.op(OpKind::Softmax, {scores}, {{"axis", std::int64_t{-1}}});
  const ValueId y = c.w.op(OpKind::MatMul, {weights, v});
  c.give(c.made(y, {query.shape[0], query.shape[1], value.last()}));
  return ok();
}

Status dot(Layer& c) {
  const Dims axes = c.ints("axes", 2, -1);
  if (c.inputs.size() != 2 || c.inputs[0].rank() < 2 || c.inputs[1].rank() < 2 || c.inputs[0].rank() > 3 ||
      c.inputs[1].rank() > 3)
    return c.unknown("the shapes of its inputs are not known");
  std::string letters[2] = {"bij", "bkl"};
  Dims shape = {c.inputs[0].shape[0]};
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& x = c.inputs[side];
    const std::int64_t axis = axes[side] < 0 ? axes[side] + std::int64_t(x.rank()) : axes[side];
    if (axis < 1 || axis >= std::int64_t(x.rank())) return c.unknown("its axes do not fit its inputs");
    letters[side] = letters[side].substr(0, x.rank());
    letters[side][std::size_t(axis)] = 'z';
    for (std::int64_t i = 1; i < std::int64_t(x.rank()); ++i) {
      if (i != axis) shape.push_back(x.shape[std::size_t(i)]);
    }
  }
  std::string result = "b";
  for (const std::string& side : letters) {
    for (const char letter : side) {
      if (letter != 'b' && letter != 'z') result += letter;
    }
  }
  ValueId y = c.w.op(OpKind::Einsum, {c.natural(c.inputs[0]), c.natural(c.inputs[1])},
                     {{"equation", letters[0] + "," + letters[1] + "->" + result}});
  if (shape.size() == 1) {
    y = c.w.op(OpKind::Unsqueeze, {y, c.w.constant({1})});
    shape.push_back(1);
  }
  c.give(c.made(y, std::move(shape)));
  return ok();
}

}  // namespace forerun::keras
