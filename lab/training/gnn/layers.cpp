#include "training/gnn/layers.hpp"

#include <array>
#include <cmath>

namespace forerun {
namespace {

// An input shared by the stack, as if every member had its own.
torch::Tensor stacked(const torch::Tensor& x, const GraphBatch& batch) {
  return x.dim() == 3 ? x : x.unsqueeze(0).expand({batch.stack, -1, -1});
}

class SageLayer : public GraphLayer {
 public:
  SageLayer(std::int64_t stack, std::int64_t in, std::int64_t out)
      : self_(register_module("self", std::make_shared<StackedLinear>(stack, in, out, false))),
        neighbours_(register_module("neighbours", std::make_shared<StackedLinear>(stack, in, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    return self_->forward(x) +
           neighbours_->forward(sum_neighbours(stacked(x, batch), batch) / batch.in_degree.clamp_min(1));
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name,
                     std::int64_t member) const override {
    return writer.step(StepKind::Sage, {input},
                       {writer.tensor(name + ".self", self_->weight_of(member)),
                        writer.tensor(name + ".neighbours", neighbours_->weight_of(member)),
                        writer.tensor(name + ".bias", neighbours_->bias_of(member))});
  }

 private:
  StackedLinearPtr self_, neighbours_;
};

class GcnLayer : public GraphLayer {
 public:
  GcnLayer(std::int64_t stack, std::int64_t in, std::int64_t out)
      : linear_(register_module("linear", std::make_shared<StackedLinear>(stack, in, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    const torch::Tensor scale = (batch.in_degree + 1).rsqrt();
    const torch::Tensor scaled = stacked(x, batch) * scale;
    return linear_->forward(scale * (sum_neighbours(scaled, batch) + scaled));
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name,
                     std::int64_t member) const override {
    return writer.step(StepKind::Gcn, {input},
                       {writer.tensor(name + ".weight", linear_->weight_of(member)),
                        writer.tensor(name + ".bias", linear_->bias_of(member))});
  }

 private:
  StackedLinearPtr linear_;
};

class GatLayer : public GraphLayer {
 public:
  GatLayer(std::int64_t stack, std::int64_t in, std::int64_t out)
      : linear_(register_module("linear", std::make_shared<StackedLinear>(stack, in, out, false))) {
    const double bound = std::sqrt(6.0 / static_cast<double>(out + 1));
    from_ = register_parameter("from", torch::empty({stack, out, 1}).uniform_(-bound, bound));
    to_ = register_parameter("to", torch::empty({stack, out, 1}).uniform_(-bound, bound));
    bias_ = register_parameter("bias", torch::zeros({stack, 1, out}));
  }
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    const torch::Tensor h = linear_->forward(x);
    const std::int64_t width = h.size(2);
    const torch::Tensor flat = h.reshape({-1, width});
    const torch::Tensor out_score = torch::bmm(h, from_).reshape({-1, 1}),
                        in_score = torch::bmm(h, to_).reshape({-1, 1});
    const auto leaky = [](const torch::Tensor& score) { return torch::leaky_relu(score, 0.2); };
    const torch::Tensor own = leaky(out_score + in_score);
    const torch::Tensor score = leaky(out_score.index_select(0, batch.source) + in_score.index_select(0, batch.target));
    const torch::Tensor largest =
        own.detach().squeeze(1).scatter_reduce(0, batch.target, score.detach().squeeze(1), "amax").unsqueeze(1);
    const torch::Tensor own_weight = (own - largest).exp(),
                        weight = (score - largest.index_select(0, batch.target)).exp();
    const torch::Tensor total = own_weight + sum_rows(weight, batch.edges);
    const torch::Tensor sum = flat * own_weight + sum_rows(flat.index_select(0, batch.source) * weight, batch.edges);
    return (sum / total).view_as(h) + bias_;
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name,
                     std::int64_t member) const override {
    return writer.step(
        StepKind::Gat, {input},
        {writer.tensor(name + ".weight", linear_->weight_of(member)), writer.tensor(name + ".from", from_[member].t()),
         writer.tensor(name + ".to", to_[member].t()), writer.tensor(name + ".bias", bias_[member])});
  }

 private:
  StackedLinearPtr linear_;
  torch::Tensor from_, to_, bias_;
};

class GinLayer : public GraphLayer {
 public:
  GinLayer(std::int64_t stack, std::int64_t in, std::int64_t out)
      : first_(register_module("first", std::make_shared<StackedLinear>(stack, in, out))),
        second_(register_module("second", std::make_shared<StackedLinear>(stack, out, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch& batch) override {
    const torch::Tensor all = stacked(x, batch);
    return second_->forward(torch::relu(first_->forward(all + sum_neighbours(all, batch))));
  }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name,
                     std::int64_t member) const override {
    const std::int32_t hidden = writer.step(
        StepKind::Relu, {writer.linear(writer.step(StepKind::Gin, {input}, {}), *first_, name + ".first", member)}, {});
    return writer.linear(hidden, *second_, name + ".second", member);
  }

 private:
  StackedLinearPtr first_, second_;
};

class PlainLayer : public GraphLayer {
 public:
  PlainLayer(std::int64_t stack, std::int64_t in, std::int64_t out)
      : linear_(register_module("linear", std::make_shared<StackedLinear>(stack, in, out))) {}
  torch::Tensor forward(const torch::Tensor& x, const GraphBatch&) override { return linear_->forward(x); }
  std::int32_t write(ProgramWriter& writer, std::int32_t input, const std::string& name,
                     std::int64_t member) const override {
    return writer.linear(input, *linear_, name, member);
  }

 private:
  StackedLinearPtr linear_;
};

}  // namespace

std::string_view name_of(LayerKind kind) {
  constexpr std::array<std::string_view, std::size_t(LayerKind::Count)> kNames = {"sage", "gcn", "gat", "gin", "none"};
  return kNames[std::size_t(kind)];
}

std::shared_ptr<GraphLayer> make_layer(LayerKind kind, std::int64_t stack, std::int64_t in, std::int64_t out) {
  switch (kind) {
    case LayerKind::Gcn: return std::make_shared<GcnLayer>(stack, in, out);
    case LayerKind::Gat: return std::make_shared<GatLayer>(stack, in, out);
    case LayerKind::Gin: return std::make_shared<GinLayer>(stack, in, out);
    case LayerKind::None: return std::make_shared<PlainLayer>(stack, in, out);
    case LayerKind::Sage:
    case LayerKind::Count: break;
  }
  return std::make_shared<SageLayer>(stack, in, out);
}

}  // namespace forerun
