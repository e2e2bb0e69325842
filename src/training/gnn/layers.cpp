#include "training/gnn/layers.hpp"

#include <array>

namespace forerun {
namespace {

using torch::nn::Linear;
using torch::nn::LinearOptions;

class SageLayer : public GraphLayer {
 public:
  SageLayer(std::int64_t in, std::int64_t out)
      : self_(register_module("self", Linear(LinearOptions(in, out).bias(false)))), neighbours_(register_module("neighbours", Linear(in, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    const torch::Tensor mean = sum_over_edges(x, batch.source, batch.target, x.size(0)) / batch.in_degree.clamp_min(1);
    return self_(x) + neighbours_(mean);
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name) const override {
    return writer.step(StepKind::Sage, {input},
                       {writer.tensor(name + ".self", self_->weight), writer.tensor(name + ".neighbours", neighbours_->weight),
                        writer.tensor(name + ".bias", neighbours_->bias)});
  }

 private:
  Linear self_, neighbours_;
};

class GcnLayer : public GraphLayer {
 public:
  GcnLayer(std::int64_t in, std::int64_t out) : linear_(register_module("linear", Linear(in, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    const torch::Tensor scale = (batch.in_degree + 1).rsqrt();
    const torch::Tensor scaled = x * scale;
    return linear_(scale * (sum_over_edges(scaled, batch.source, batch.target, x.size(0)) + scaled));
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name) const override {
    return writer.step(StepKind::Gcn, {input}, {writer.tensor(name + ".weight", linear_->weight), writer.tensor(name + ".bias", linear_->bias)});
  }

 private:
  Linear linear_;
};

class GatLayer : public GraphLayer {
 public:
  GatLayer(std::int64_t in, std::int64_t out) : linear_(register_module("linear", Linear(LinearOptions(in, out).bias(false)))) {
    const double bound = std::sqrt(6.0 / static_cast<double>(out + 1));
    from_ = register_parameter("from", torch::empty({1, out}).uniform_(-bound, bound));
    to_ = register_parameter("to", torch::empty({1, out}).uniform_(-bound, bound));
    bias_ = register_parameter("bias", torch::zeros({1, out}));
  }
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    const torch::Tensor h = linear_(x);
    const torch::Tensor all = torch::arange(x.size(0), batch.source.options());
    const torch::Tensor source = torch::cat({batch.source, all}), target = torch::cat({batch.target, all});
    const torch::Tensor out_score = torch::matmul(h, from_.t()), in_score = torch::matmul(h, to_.t());
    const torch::Tensor score = torch::leaky_relu(out_score.index_select(0, source) + in_score.index_select(0, target), 0.2);
    const torch::Tensor largest = torch::full({x.size(0)}, -1e30, score.options()).scatter_reduce(0, target, score.detach().squeeze(1), "amax");
    const torch::Tensor weight = (score - largest.index_select(0, target).unsqueeze(1)).exp();
    const torch::Tensor edges = torch::arange(source.size(0), source.options());
    const torch::Tensor total = sum_over_edges(weight, edges, target, x.size(0));
    return sum_over_edges(h.index_select(0, source) * weight, edges, target, x.size(0)) / total + bias_;
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name) const override {
    return writer.step(StepKind::Gat, {input},
                       {writer.tensor(name + ".weight", linear_->weight), writer.tensor(name + ".from", from_), writer.tensor(name + ".to", to_),
                        writer.tensor(name + ".bias", bias_)});
  }

 private:
  Linear linear_;
  torch::Tensor from_, to_, bias_;
};

class GinLayer : public GraphLayer {
 public:
  GinLayer(std::int64_t in, std::int64_t out) : first_(register_module("first", Linear(in, out))), second_(register_module("second", Linear(out, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    return second_(torch::relu(first_(x + sum_over_edges(x, batch.source, batch.target, x.size(0)))));
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name) const override {
    const std::int32_t hidden = writer.step(StepKind::Relu, {writer.linear(writer.step(StepKind::Gin, {input}, {}), first_, name + ".first")}, {});
    return writer.linear(hidden, second_, name + ".second");
  }

 private:
  Linear first_, second_;
};

}  // namespace

std::string_view name_of(LayerKind kind) {
  constexpr std::array<std::string_view, std::size_t(LayerKind::Count)> kNames = {"sage", "gcn", "gat", "gin"};
  return kNames[std::size_t(kind)];
}

std::shared_ptr<GraphLayer> make_layer(LayerKind kind, std::int64_t in, std::int64_t out) {
  switch (kind) {
    case LayerKind::Gcn: return std::make_shared<GcnLayer>(in, out);
    case LayerKind::Gat: return std::make_shared<GatLayer>(in, out);
    case LayerKind::Gin: return std::make_shared<GinLayer>(in, out);
    case LayerKind::Sage:
    case LayerKind::Count: break;
  }
  return std::make_shared<SageLayer>(in, out);
}

}  // namespace forerun
