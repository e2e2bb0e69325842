#include "readers/huggingface/graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"
#include "ops/op_table.hpp"

namespace forerun {

Scope::Scope(GraphBuilder& b, std::string_view part) : b_(b), size_(b.scope.size()) { b.scope.append(part); }
Scope::~Scope() { b_.scope.resize(size_); }

GraphBuilder::GraphBuilder(const RunShape& run_shape, std::size_t expected_nodes) : run(run_shape) {
  graph.blocks.resize(1);
  graph.opset = 23;
  graph.values.reserve(expected_nodes * 2);
  graph.main().nodes.reserve(expected_nodes);
}

ValueId GraphBuilder::new_value(DType dtype, Dims dims) {
  Value& value = graph.values.emplace_back();
  value.dtype = dtype;
  value.has_shape = true;
  value.dims = std::move(dims);
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId GraphBuilder::stored(std::string_view name, DType dtype, Dims dims, ValueRole role) {
  if (reuses_names) {
    const auto known = by_name_.find(scope + std::string(name));
    if (known != by_name_.end()) return known->second;
  }
  const ValueId id = new_value(dtype, std::move(dims));
  if (reuses_names) by_name_.emplace(scope + std::string(name), id);
  if (divided_depth > 0 && role == ValueRole::Weight) divided_elements += double(elements_of(graph.values.back()));
  Value& value = graph.values.back();
  value.name.reserve(scope.size() + name.size());
  value.name.append(scope).append(name);
  value.role = role;
  return id;
}

ValueId GraphBuilder::input(std::string name, DType dtype, Dims dims) {
  const ValueId id = new_value(dtype, std::move(dims));
  graph.values.back().name = std::move(name);
  graph.values.back().role = ValueRole::Input;
  graph.main().inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::cache(std::string name, DType dtype, Dims dims) {
  const ValueId id = input(std::move(name), dtype, std::move(dims));
  graph.values.back().role = ValueRole::Cache;
  return id;
}

void GraphBuilder::output(ValueId value, std::string name) {
  if (graph.values[std::size_t(value)].name.empty()) graph.values[std::size_t(value)].name = std::move(name);
  graph.main().outputs.push_back(value);
}

void GraphBuilder::warn(std::string message) {
  if (std::find(graph.warnings.begin(), graph.warnings.end(), message) == graph.warnings.end()) {
    graph.warnings.push_back(std::move(message));
  }
}

void GraphBuilder::refuse(std::string message) {
  if (refusal.empty()) refusal = std::move(message);
}

void GraphBuilder::note_message(Collective collective, ShardAxis axis, double bytes) {
  for (RankMessage& known : graph.messages) {
    if (known.collective == collective && known.axis == axis && known.bytes == bytes) {
      ++known.count;
      return;
    }
  }
  graph.messages.push_back({collective, axis, bytes, 1});
}

GraphBuilder::Stage GraphBuilder::stage_of(std::int64_t count) {
  takes_stage = true;
  if (run.shard.layers <= 0) return {0, count, true, true};
  const std::int64_t first = std::min(run.shard.first_layer, count);
  const std::int64_t last = std::min(count, first + run.shard.layers);
  return {first, last, first == 0, last == count};
}

ValueId GraphBuilder::weight(std::string_view name, Dims dims, const WeightStorage& storage) {
  const std::int64_t outputs = dims.back();
  const std::int64_t inputs = dims.size() >= 2 ? dims[dims.size() - 2] : 1;
  const std::int64_t elements = checked_product(dims);
  const std::size_t before = graph.values.size();
  const ValueId id = stored(name, storage.dtype, std::move(dims), ValueRole::Weight);
  if (graph.values.size() > before && storage.group_bytes > 0 && inputs > 0 && outputs > 0) {
    const std::int64_t matrices = elements / inputs / outputs;
    const std::int64_t groups = storage.group > 0 ? ceil_div(inputs, storage.group) : 1;
    const double extra = double(matrices) * double(outputs) * double(groups) * storage.group_bytes;
    graph.values.back().stored_bytes = checked_add(
        bytes_of(storage.dtype, elements), extra < double(kSizeLimit) ? std::llround(std::ceil(extra)) : kSizeLimit);
  }
  return id;
}

ValueId GraphBuilder::parameter(std::string_view name, Dims dims) {
  return stored(name, run.weights, std::move(dims), ValueRole::Weight);
}

ValueId GraphBuilder::buffer(std::string_view name, DType dtype, Dims dims) {
  return stored(name, dtype, std::move(dims), ValueRole::Constant);
}

ValueId GraphBuilder::constant(const std::vector<std::int64_t>& contents) {
  for (const auto& [known, id] : constants_) {
    if (known == contents) return id;
  }
  const ValueId id = new_value(DType::Int64, {static_cast<std::int64_t>(contents.size())});
  graph.values.back().role = ValueRole::Constant;
  graph.values.back().literal = Literal{contents, {}};
  constants_.emplace_back(contents, id);
  return id;
}

ValueId GraphBuilder::scalar(std::int64_t content) {
  for (const auto& [known, id] : scalars_) {
    if (known == content) return id;
  }
  const ValueId id = new_value(DType::Int64, {});
  graph.values.back().role = ValueRole::Constant;
  graph.values.back().literal = Literal{{content}, {}};
  scalars_.emplace_back(content, id);
  return id;
}

std::vector<ValueId> GraphBuilder::ops(OpKind kind, std::vector<ValueId> inputs,
                                       const std::vector<std::pair<DType, Dims>>& outs,
                                       std::vector<Attribute> attributes) {
  Node& node = graph.main().nodes.emplace_back();
  node.kind = kind;
  node.op_type = spec_of(kind).name;
  node.name = scope;
  if (!node.name.empty()) node.name.pop_back();
  if (node.name != module_scope_) {
    module_scope_ = node.name;
    std::string path = node.name;
    std::replace(path.begin(), path.end(), '.', '/');
    set_module(graph, node, path);
    module_ = node.module;
  }
  node.module = module_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.outputs.reserve(outs.size());
  for (const auto& [type, dims] : outs) node.outputs.push_back(new_value(type, dims));
  return node.outputs;
}

ValueId GraphBuilder::op_as(DType out_type, OpKind kind, std::vector<ValueId> inputs, Dims out,
                            std::vector<Attribute> attributes) {
  return ops(kind, std::move(inputs), {{out_type, std::move(out)}}, std::move(attributes)).front();
}

ValueId GraphBuilder::op(OpKind kind, std::vector<ValueId> inputs, Dims out, std::vector<Attribute> attributes) {
  return op_as(run.activations, kind, std::move(inputs), std::move(out), std::move(attributes));
}

ValueId GraphBuilder::linear(ValueId x, std::string_view name, std::int64_t out_features, bool bias) {
  Dims out = dims(x);
  const std::int64_t in_features = out.back();
  out.back() = out_features;
  const std::string module(name);
  const ValueId product =
      op(OpKind::MatMul, {x, weight(module + ".weight", {in_features, out_features}, run.linear)}, out);
  graph.main().nodes.back().name.append(graph.main().nodes.back().name.empty() ? "" : ".").append(name);
  if (!bias) return product;
  return op(OpKind::Add, {product, parameter(module + ".bias", {out_features})}, std::move(out));
}

ValueId GraphBuilder::embedding(ValueId table, ValueId ids) {
  Dims out = dims(ids);
  out.push_back(last_dim(table));
  return op(OpKind::Gather, {table, ids}, std::move(out), {{"axis", std::int64_t{0}}});
}

ValueId GraphBuilder::layer_norm(ValueId x, std::string_view name, bool has_weight, bool bias) {
  const std::string module(name);
  std::vector<ValueId> inputs = {x};
  if (has_weight) {
    inputs.push_back(parameter(module + ".weight", {last_dim(x)}));
    if (bias) inputs.push_back(parameter(module + ".bias", {last_dim(x)}));
  } else {
    inputs.push_back(buffer(module + ".ones", run.weights, {last_dim(x)}));
  }
  return op(OpKind::LayerNormalization, std::move(inputs), dims(x), {{"axis", std::int64_t{-1}}});
}

ValueId GraphBuilder::rms_norm(ValueId x, std::string_view name, bool has_weight) {
  const std::string module(name);
  const ValueId scale =
      has_weight ? parameter(module + ".weight", {last_dim(x)}) : buffer(module + ".ones", run.weights, {last_dim(x)});
  return op(OpKind::RMSNormalization, {x, scale}, dims(x), {{"axis", std::int64_t{-1}}});
}

ValueId GraphBuilder::activation(ValueId x, std::string_view name) {
  const Dims shape = dims(x);
  if (name == "silu" || name == "swish") return op(OpKind::Swish, {x}, shape);
  if (name == "relu") return op(OpKind::Relu, {x}, shape);
  if (name == "tanh") return op(OpKind::Tanh, {x}, shape);
  if (name == "sigmoid") return op(OpKind::Sigmoid, {x}, shape);
  if (name == "relu2" || name == "relu_squared") {
    const ValueId positive = op(OpKind::Relu, {x}, shape);
    return op(OpKind::Mul, {positive, positive}, shape);
  }
  if (name == "quick_gelu") return op(OpKind::QuickGelu, {x}, shape);
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_python_tanh") {
    // Written out in Python: 0.5 x (1 + tanh(c (x + 0.0447 x^3))), eight kernels.
    ValueId inner = op(OpKind::Pow, {x, scalar(3)}, shape);
    inner = add(x, scale(inner));
    inner = op(OpKind::Tanh, {scale(inner)}, shape);
    inner = op(OpKind::Add, {inner, scalar(1)}, shape);
    return mul(scale(x), inner);
  }
  if (name == "gelu_pytorch_tanh") {
    return op(OpKind::Gelu, {x}, shape, {{"approximate", std::string("tanh")}});
  }
  if (name != "gelu" && name != "gelu_10" && name != "gelu_python") {
    warn("activation '" + std::string(name.substr(0, 40)) + "' is not known: counted as gelu");
  }
  return op(OpKind::Gelu, {x}, shape);
}

ValueId GraphBuilder::add(ValueId a, ValueId b) { return op(OpKind::Add, {a, b}, dims(a)); }
ValueId GraphBuilder::mul(ValueId a, ValueId b) { return op(OpKind::Mul, {a, b}, dims(a)); }

ValueId GraphBuilder::scale(ValueId x) {
  const DType type = dtype(x);
  for (const auto& [known, id] : scales_) {
    if (known == type) return op_as(type, OpKind::Mul, {x, id}, dims(x));
  }
  scales_.emplace_back(type, buffer("scale", type, {}));
  return op_as(type, OpKind::Mul, {x, scales_.back().second}, dims(x));
}

ValueId GraphBuilder::cast(ValueId x, DType to) {
  if (dtype(x) == to) return x;
  return op_as(to, OpKind::Cast, {x}, dims(x), {{"to", std::int64_t(to)}});
}

ValueId GraphBuilder::softmax(ValueId x, bool in_float32) {
  const DType type = dtype(x);
  const DType computed = in_float32 ? DType::Float32 : type;
  return cast(op_as(computed, OpKind::Softmax, {x}, dims(x), {{"axis", std::int64_t{-1}}}), type);
}

ValueId GraphBuilder::reshape(ValueId x, Dims to) {
  const ValueId shape = constant(to);
  return op_as(dtype(x), OpKind::Reshape, {x, shape}, std::move(to));
}

ValueId GraphBuilder::transpose(ValueId x, const std::vector<std::int64_t>& permutation) {
  Dims out;
  out.reserve(permutation.size());
  for (const std::int64_t axis : permutation) out.push_back(dims(x)[std::size_t(axis)]);
  return op_as(dtype(x), OpKind::Transpose, {x}, std::move(out), {{"perm", permutation}});
}

ValueId GraphBuilder::concat(std::vector<ValueId> parts, std::int64_t axis) {
  Dims out = dims(parts.front());
  if (axis < 0) axis += static_cast<std::int64_t>(out.size());
  out[std::size_t(axis)] = 0;
  for (const ValueId part : parts) out[std::size_t(axis)] += dims(part)[std::size_t(axis)];
  const DType type = dtype(parts.front());
  return op_as(type, OpKind::Concat, std::move(parts), std::move(out), {{"axis", axis}});
}

ValueId GraphBuilder::slice(ValueId x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  Dims out = dims(x);
  if (axis < 0) axis += static_cast<std::int64_t>(out.size());
  out[std::size_t(axis)] = length;
  return op_as(dtype(x), OpKind::Slice, {x, constant({start}), constant({start + length}), constant({axis})},
               std::move(out));
}

std::vector<ValueId> GraphBuilder::split(ValueId x, const std::vector<std::int64_t>& sizes) {
  std::vector<std::pair<DType, Dims>> outs;
  outs.reserve(sizes.size());
  for (const std::int64_t size : sizes) {
    outs.emplace_back(dtype(x), dims(x));
    outs.back().second.back() = size;
  }
  return ops(OpKind::Split, {x, constant(sizes)}, outs, {{"axis", std::int64_t{-1}}});
}

ValueId GraphBuilder::matmul(ValueId a, ValueId b) {
  const Dims& left = dims(a);
  const Dims& right = dims(b);
  Dims out = left.size() >= right.size() ? left : right;
  out[out.size() - 2] = left[left.size() - 2];
  out.back() = right.back();
  for (std::size_t i = 0; i + 2 < out.size(); ++i) {  // batch dimensions broadcast
    const std::size_t l = out.size() - left.size(), r = out.size() - right.size();
    out[i] = std::max(i >= l ? left[i - l] : 1, i >= r ? right[i - r] : 1);
  }
  return op(OpKind::MatMul, {a, b}, std::move(out));
}

ValueId GraphBuilder::tied_head(ValueId x, ValueId table) {
  const Dims shape = dims(x);
  const std::int64_t rows = checked_mul(shape[0], shape[1]);
  const std::int64_t vocabulary = dims(table)[0];
  const ValueId flat = reshape(x, {rows, shape[2]});
  const ValueId logits = op(OpKind::Gemm, {flat, table}, {rows, vocabulary}, {{"transB", std::int64_t{1}}});
  return reshape(logits, {shape[0], shape[1], vocabulary});
}

ValueId GraphBuilder::positions(std::int64_t first, std::int64_t count) {
  if (first == run.past && count == run.tokens) {
    if (position_ids_ == kNoValue) position_ids_ = input("position_ids", DType::Int64, {count});
    return position_ids_;
  }
  return op_as(DType::Int64, OpKind::Range, {scalar(first), scalar(first + count), scalar(1)}, {count});
}

std::pair<ValueId, ValueId> GraphBuilder::rotary_tables(std::int64_t rotary_dim, std::string_view which) {
  for (const RotaryTable& table : rotary_) {
    if (table.dim == rotary_dim && table.which == which) return {table.cos, table.sin};
  }
  std::string outer = std::exchange(scope, "rotary_emb.");
  const std::int64_t half = rotary_dim / 2;
  const ValueId frequencies = buffer("inv_freq", DType::Float32, {1, half, 1});
  const ValueId where = reshape(cast(positions(run.past, run.tokens), DType::Float32), {1, 1, run.tokens});
  const ValueId angles = op_as(DType::Float32, OpKind::MatMul, {frequencies, where}, {1, half, run.tokens});
  const ValueId by_token = transpose(angles, {0, 2, 1});
  const ValueId cos = cast(unary(OpKind::Cos, by_token), run.activations);
  const ValueId sin = cast(unary(OpKind::Sin, by_token), run.activations);
  scope = std::move(outer);
  rotary_.push_back({rotary_dim, std::string(which), cos, sin});
  return {cos, sin};
}

ValueId GraphBuilder::rotate(ValueId x, std::int64_t rotary_dim, bool interleaved, std::string_view which) {
  if (rotary_dim < 2) return x;
  const auto [cos, sin] = rotary_tables(rotary_dim, which);
  std::vector<Attribute> attributes;
  if (interleaved) attributes.push_back({"interleaved", std::int64_t{1}});
  if (rotary_dim != last_dim(x)) attributes.push_back({"rotary_embedding_dim", rotary_dim});
  return op_as(dtype(x), OpKind::RotaryEmbedding, {x, cos, sin}, dims(x), std::move(attributes));
}

ValueId GraphBuilder::causal_mask(std::int64_t queries, std::int64_t keys, std::int64_t window, bool additive) {
  for (const Mask& mask : masks_) {
    if (mask.queries == queries && mask.keys == keys && mask.window == window && mask.additive == additive)
      return mask.value;
  }
  std::string outer = std::exchange(scope, "mask.");
  const ValueId q = reshape(positions(std::max<std::int64_t>(keys - queries, 0), queries), {1, 1, queries, 1});
  const ValueId k = reshape(positions(0, keys), {1, 1, 1, keys});
  ValueId allowed = op_as(DType::Bool, OpKind::GreaterOrEqual, {q, k}, {1, 1, queries, keys});
  if (window > 0) {
    const ValueId distance = op_as(DType::Int64, OpKind::Sub, {q, k}, {1, 1, queries, keys});
    const ValueId near = op_as(DType::Bool, OpKind::Less, {distance, scalar(window)}, {1, 1, queries, keys});
    allowed = op_as(DType::Bool, OpKind::And, {allowed, near}, {1, 1, queries, keys});
  }
  if (additive) {
    allowed = op(OpKind::Where, {allowed, buffer("zero", run.activations, {}), buffer("lowest", run.activations, {})},
                 {1, 1, queries, keys});
  }
  scope = std::move(outer);
  masks_.push_back({queries, keys, window, additive, allowed});
  return allowed;
}

ValueId GraphBuilder::alibi_mask(std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  if (alibi_ != kNoValue) return alibi_;
  const ValueId mask = causal_mask(queries, keys, 0, true);
  std::string outer = std::exchange(scope, "alibi.");
  const ValueId where = reshape(cast(positions(0, keys), run.activations), {1, 1, 1, keys});
  const ValueId slopes = buffer("slopes", run.activations, {1, heads, 1, 1});
  const ValueId bias = op(OpKind::Mul, {where, slopes}, {1, heads, 1, keys});
  alibi_ = op(OpKind::Add, {bias, mask}, {1, heads, queries, keys});
  scope = std::move(outer);
  return alibi_;
}

}  // namespace forerun
