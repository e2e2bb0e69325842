#include "training/gnn/graph_batch.hpp"

namespace forerun {
namespace {

template <typename Scalar>
void accumulate(const torch::Tensor& values, const torch::Tensor& from, const torch::Tensor& to, torch::Tensor& out) {
  const Scalar* in = values.data_ptr<Scalar>();
  Scalar* sum = out.data_ptr<Scalar>();
  const std::int64_t* sources = from.data_ptr<std::int64_t>();
  const std::int64_t* targets = to.data_ptr<std::int64_t>();
  const std::int64_t width = values.size(1);
  for (std::int64_t e = 0, edges = from.size(0); e < edges; ++e) {
    const Scalar* a = in + sources[e] * width;
    Scalar* b = sum + targets[e] * width;
    for (std::int64_t k = 0; k < width; ++k) b[k] += a[k];
  }
}

torch::Tensor scatter_rows(const torch::Tensor& values, const torch::Tensor& from, const torch::Tensor& to, std::int64_t rows) {
  torch::Tensor out = torch::zeros({rows, values.size(1)}, values.options());
  if (from.size(0) == 0) return out;
  if (values.device().is_cpu()) {
    const torch::Tensor dense = values.contiguous();
    if (values.scalar_type() == torch::kDouble) {
      accumulate<double>(dense, from, to, out);
    } else {
      accumulate<float>(dense, from, to, out);
    }
    return out;
  }
  return out.index_add_(0, to, values.index_select(0, from));
}

class SumOverEdges : public torch::autograd::Function<SumOverEdges> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& values, const torch::Tensor& from,
                               const torch::Tensor& to, std::int64_t rows) {
    context->save_for_backward({from, to});
    context->saved_data["rows"] = values.size(0);
    return scatter_rows(values, from, to, rows);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context, torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor gradient = scatter_rows(gradients[0], saved[1], saved[0], context->saved_data["rows"].toInt());
    return {gradient, torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

GraphBatch GraphBatch::to(torch::Device device) const {
  GraphBatch out = *this;
  for (torch::Tensor* tensor : {&out.nodes, &out.source, &out.target, &out.in_degree, &out.graph_of, &out.globals, &out.weights}) {
    *tensor = tensor->to(device);
  }
  return out;
}

GraphBatch GraphBatch::to(torch::ScalarType type) const {
  GraphBatch out = *this;
  for (torch::Tensor* tensor : {&out.nodes, &out.in_degree, &out.globals, &out.weights}) *tensor = tensor->to(type);
  return out;
}

GraphBatch make_batch(std::span<const BatchItem> items) {
  std::int64_t nodes = 0, edges = 0;
  for (const BatchItem& item : items) {
    nodes += item.graph->nodes;
    edges += static_cast<std::int64_t>(item.graph->sources.columns.size());
  }
  const std::int64_t width = items.front().graph->node_width, global_width = static_cast<std::int64_t>(items.front().graph->globals.size());
  GraphBatch batch;
  batch.graphs = static_cast<std::int64_t>(items.size());
  batch.nodes = torch::empty({nodes, width});
  batch.source = torch::empty({edges}, torch::kLong);
  batch.target = torch::empty({edges}, torch::kLong);
  batch.in_degree = torch::empty({nodes, 1});
  batch.graph_of = torch::empty({nodes}, torch::kLong);
  batch.globals = torch::empty({batch.graphs, global_width});
  batch.weights = torch::ones({nodes, 1});
  std::int64_t node = 0, edge = 0;
  for (std::size_t g = 0; g < items.size(); ++g) {
    const GraphTensors& graph = *items[g].graph;
    std::copy(graph.node_features.begin(), graph.node_features.end(), batch.nodes.data_ptr<float>() + node * width);
    std::copy(graph.globals.begin(), graph.globals.end(), batch.globals.data_ptr<float>() + static_cast<std::int64_t>(g) * global_width);
    std::copy(items[g].weights.begin(), items[g].weights.end(), batch.weights.data_ptr<float>() + node);
    for (std::int32_t i = 0; i < graph.nodes; ++i) {
      const auto sources = graph.sources.row(i);
      batch.in_degree.data_ptr<float>()[node + i] = static_cast<float>(sources.size());
      batch.graph_of.data_ptr<std::int64_t>()[node + i] = static_cast<std::int64_t>(g);
      for (const std::int32_t source : sources) {
        batch.source.data_ptr<std::int64_t>()[edge] = node + source;
        batch.target.data_ptr<std::int64_t>()[edge++] = node + i;
      }
    }
    node += graph.nodes;
  }
  return batch;
}

torch::Tensor sum_over_edges(const torch::Tensor& values, const torch::Tensor& from, const torch::Tensor& to, std::int64_t rows) {
  return SumOverEdges::apply(values, from, to, rows);
}

torch::Tensor sum_pool(const torch::Tensor& values, const GraphBatch& batch) {
  return sum_over_edges(values, torch::arange(values.size(0), batch.graph_of.options()), batch.graph_of, batch.graphs);
}

torch::Tensor weighted_mean_pool(const torch::Tensor& values, const GraphBatch& batch) {
  return sum_pool(values * batch.weights, batch) / sum_pool(batch.weights, batch).clamp_min(1e-12);
}

}  // namespace forerun
