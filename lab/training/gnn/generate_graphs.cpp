#include "training/gnn/generate_graphs.hpp"

#include <functional>
#include <random>

#include "analysis/analyze.hpp"

namespace forerun {
namespace {

class Draft {
 public:
  explicit Draft(std::uint64_t seed) : random_(seed) { graph_.blocks.resize(1); }

  std::int64_t pick(std::initializer_list<std::int64_t> choices) { return choices.begin()[random_() % choices.size()]; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int64_t width(std::int64_t low, std::int64_t high) { return between(low / 8, high / 8) * 8; }

  ValueId input(Dims dims) {
    const ValueId id = value(std::move(dims), false);
    graph_.values[std::size_t(id)].role = ValueRole::Input;
    graph_.main().inputs.push_back(id);
    return id;
  }
  ValueId weight(Dims dims) { return value(std::move(dims), true); }
  ValueId add(OpKind kind, const char* type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    Node node;
    node.kind = kind;
    node.op_type = type;
    node.name = std::string(type) + std::to_string(graph_.main().nodes.size());
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    Value out;
    out.name = "v" + std::to_string(graph_.values.size());
    graph_.values.push_back(std::move(out));
    node.outputs = {static_cast<ValueId>(graph_.values.size()) - 1};
    graph_.main().nodes.push_back(std::move(node));
    return graph_.main().nodes.back().outputs.front();
  }

  ValueId conv(ValueId x, std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
               std::int64_t groups = 1) {
    const std::int64_t pad = kernel / 2;
    return add(OpKind::Conv, "Conv", {x, weight({out, in / groups, kernel, kernel}), weight({out})},
               {{"kernel_shape", Dims{kernel, kernel}},
                {"strides", Dims{stride, stride}},
                {"pads", Dims{pad, pad, pad, pad}},
                {"group", groups}});
  }
  ValueId relu(ValueId x) { return add(OpKind::Relu, "Relu", {x}); }
  ValueId sum(ValueId a, ValueId b) { return add(OpKind::Add, "Add", {a, b}); }
  ValueId pool(ValueId x) {
    return add(OpKind::MaxPool, "MaxPool", {x}, {{"kernel_shape", Dims{2, 2}}, {"strides", Dims{2, 2}}});
  }
  ValueId gate(ValueId x) { return add(OpKind::Mul, "Mul", {x, add(OpKind::Sigmoid, "Sigmoid", {x})}); }
  ValueId dense(ValueId x, std::int64_t in, std::int64_t out) {
    return add(OpKind::Add, "Add", {add(OpKind::MatMul, "MatMul", {x, weight({in, out})}), weight({out})});
  }
  ValueId norm(ValueId x, std::int64_t width) {
    return add(OpKind::LayerNormalization, "LayerNormalization", {x, weight({width}), weight({width})});
  }
  void classify(ValueId x, std::int64_t in) {
    x = add(OpKind::Flatten, "Flatten", {add(OpKind::GlobalAveragePool, "GlobalAveragePool", {x})});
    finish(dense(x, in, pick({10, 100, 1000})));
  }
  void finish(ValueId output) { graph_.main().outputs = {output}; }
  Graph take() { return std::move(graph_); }

 private:
  ValueId value(Dims dims, bool stored) {
    Value made;
    made.name = (stored ? "w" : "x") + std::to_string(graph_.values.size());
    made.dtype = DType::Float32;
    made.has_shape = true;
    made.is_constant = stored;
    if (stored) made.role = ValueRole::Weight;
    made.dims = std::move(dims);
    graph_.values.push_back(std::move(made));
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }

  Graph graph_;
  std::mt19937_64 random_;
};

ValueId image(Draft& d) {
  const std::int64_t side = d.pick({96, 128, 160, 192, 224, 256, 288});
  return d.input({d.pick({1, 2, 4, 8, 16, 32, 64}), 3, side, side});
}

void plain(Draft& d) {
  ValueId x = image(d);
  std::int64_t in = 3;
  for (std::int64_t stage = 0; stage < 5; ++stage) {
    const std::int64_t out = d.width(32 << std::min<std::int64_t>(stage, 3), 96 << std::min<std::int64_t>(stage, 3));
    for (std::int64_t i = d.between(1, 4); i > 0; --i, in = out) x = d.relu(d.conv(x, in, out, d.pick({3, 3, 5}), 1));
    x = d.pool(x);
  }
  d.classify(x, in);
}

void residual(Draft& d) {
  std::int64_t in = d.width(32, 96);
  ValueId x = d.pool(d.relu(d.conv(image(d), 3, in, d.pick({3, 5, 7}), 2)));
  const bool bottleneck = d.between(0, 1) == 1;
  const std::int64_t groups = bottleneck ? d.pick({1, 1, 8}) : 1;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::int64_t base = d.width(32 << stage, 96 << stage), out = bottleneck ? 4 * base : base;
    for (std::int64_t i = 0, blocks = d.between(1, 6); i < blocks; ++i, in = out) {
      const std::int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      ValueId y = bottleneck ? d.conv(d.relu(d.conv(d.relu(d.conv(x, in, base, 1, 1)), base, base, 3, stride, groups)),
                                      base, out, 1, 1)
                             : d.conv(d.relu(d.conv(x, in, base, 3, stride)), base, out, 3, 1);
      x = d.relu(d.sum(y, in == out && stride == 1 ? x : d.conv(x, in, out, 1, stride)));
    }
  }
  d.classify(x, in);
}

void inverted(Draft& d) {
  std::int64_t in = d.width(16, 40);
  ValueId x = d.gate(d.conv(image(d), 3, in, 3, 2));
  for (std::int64_t stage = 0; stage < 6; ++stage) {
    const std::int64_t out = d.width(16 + 24 * stage, 40 + 40 * stage), kernel = d.pick({3, 5, 7}),
                       expand = d.pick({3, 4, 6});
    for (std::int64_t i = 0, blocks = d.between(1, 4); i < blocks; ++i, in = out) {
      const std::int64_t stride = i == 0 && stage < 4 ? 2 : 1, wide = in * expand;
      ValueId y = d.gate(d.conv(x, in, wide, 1, 1));
      y = d.gate(d.conv(y, wide, wide, kernel, stride, wide));
      if (d.between(0, 1) == 1) {
        const std::int64_t narrow = std::max<std::int64_t>(8, in / 4);
        ValueId s = d.add(OpKind::GlobalAveragePool, "GlobalAveragePool", {y});
        s = d.conv(d.relu(d.conv(s, wide, narrow, 1, 1)), narrow, wide, 1, 1);
        y = d.add(OpKind::Mul, "Mul", {y, d.add(OpKind::Sigmoid, "Sigmoid", {s})});
      }
      y = d.conv(y, wide, out, 1, 1);
      x = in == out && stride == 1 ? d.sum(x, y) : y;
    }
  }
  d.classify(x, in);
}

void dense_blocks(Draft& d) {
  std::int64_t in = d.width(32, 96);
  const std::int64_t growth = d.width(8, 48);
  ValueId x = d.pool(d.relu(d.conv(image(d), 3, in, 7, 2)));
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t i = d.between(3, 14); i > 0; --i, in += growth) {
      const ValueId y = d.conv(d.relu(d.conv(x, in, 4 * growth, 1, 1)), 4 * growth, growth, 3, 1);
      x = d.add(OpKind::Concat, "Concat", {x, y}, {{"axis", std::int64_t{1}}});
    }
    if (stage == 3) break;
    x = d.add(OpKind::AveragePool, "AveragePool", {d.conv(x, in, in / 2, 1, 1)},
              {{"kernel_shape", Dims{2, 2}}, {"strides", Dims{2, 2}}});
    in /= 2;
  }
  d.classify(x, in);
}

void transformer(Draft& d) {
  const std::int64_t width = d.width(128, 1024), hidden = width * d.pick({2, 3, 4}),
                     batch = d.pick({1, 2, 4, 8, 16, 32});
  ValueId x = d.input({batch, d.pick({32, 64, 128, 196, 256, 512}), width});
  for (std::int64_t i = d.between(2, 16); i > 0; --i) {
    const ValueId h = d.norm(x, width), q = d.dense(h, width, width), k = d.dense(h, width, width),
                  v = d.dense(h, width, width);
    const ValueId turned = d.add(OpKind::Transpose, "Transpose", {k}, {{"perm", Dims{0, 2, 1}}});
    const ValueId scores =
        d.add(OpKind::Softmax, "Softmax", {d.add(OpKind::MatMul, "MatMul", {q, turned})}, {{"axis", std::int64_t{-1}}});
    x = d.sum(x, d.dense(d.add(OpKind::MatMul, "MatMul", {scores, v}), width, width));
    x = d.sum(x, d.dense(d.add(OpKind::Gelu, "Gelu", {d.dense(d.norm(x, width), width, hidden)}), hidden, width));
  }
  d.finish(d.norm(x, width));
}

void encoder_decoder(Draft& d) {
  const std::int64_t side = d.pick({64, 96, 128, 160, 192}), base = d.width(16, 64), depth = d.between(2, 4);
  ValueId x = d.input({d.pick({1, 2, 4, 8}), 3, side, side});
  std::vector<ValueId> skips;
  std::int64_t in = 3;
  const auto twice = [&d](ValueId v, std::int64_t from, std::int64_t to) {
    return d.relu(d.conv(d.relu(d.conv(v, from, to, 3, 1)), to, to, 3, 1));
  };
  for (std::int64_t i = 0; i < depth; ++i) {
    x = twice(x, in, base << i);
    in = base << i;
    skips.push_back(x);
    x = d.pool(x);
  }
  x = twice(x, in, base << depth);
  for (std::int64_t i = depth - 1; i >= 0; --i) {
    const std::int64_t out = base << i;
    x = d.add(OpKind::ConvTranspose, "ConvTranspose", {x, d.weight({out * 2, out, 2, 2}), d.weight({out})},
              {{"kernel_shape", Dims{2, 2}}, {"strides", Dims{2, 2}}});
    x = twice(d.add(OpKind::Concat, "Concat", {skips[static_cast<std::size_t>(i)], x}, {{"axis", std::int64_t{1}}}),
              2 * out, out);
  }
  d.finish(d.conv(x, base, d.pick({2, 19, 21}), 1, 1));
}

struct Family {
  const char* name;
  void (*draw)(Draft&);
};
constexpr Family kFamilies[] = {
    {"plain", plain},        {"residual", residual},       {"inverted", inverted},
    {"dense", dense_blocks}, {"transformer", transformer}, {"encoder_decoder", encoder_decoder}};

}  // namespace

const std::vector<std::string>& generated_families() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Family& family : kFamilies) out.emplace_back(family.name);
    return out;
  }();
  return names;
}

Result<Graph> generate_graph(std::uint64_t seed, std::uint64_t index) {
  const Family& family = kFamilies[index % std::size(kFamilies)];
  Draft draft(seed * 0x9E3779B97F4A7C15ULL + index);
  family.draw(draft);
  Graph graph = draft.take();
  graph.name = std::string(family.name) + "-" + std::to_string(index);
  graph.format = "generated";
  graph.opset = 20;
  FORERUN_CHECK(verify(graph));
  FORERUN_CHECK(bind_dimensions(graph, Binding{}));
  FORERUN_CHECK(infer_shapes(graph));
  FORERUN_CHECK(count_costs(graph));
  return graph;
}

}  // namespace forerun
