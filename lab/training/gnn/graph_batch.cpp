#include "training/gnn/graph_batch.hpp"

namespace forerun {
namespace {

template <typename Scalar>
void accumulate(const torch::Tensor& values, const SumRows& rows, torch::Tensor& out) {
  const Scalar* in = values.data_ptr<Scalar>();
  Scalar* sum = out.data_ptr<Scalar>();
  const std::int64_t* offsets = rows.offsets.data_ptr<std::int64_t>();
  const std::int64_t* columns = rows.columns.data_ptr<std::int64_t>();
  const std::int64_t width = values.size(1);
  for (std::int64_t r = 0, count = rows.rows(); r < count; ++r) {
    Scalar* b = sum + r * width;
    for (std::int64_t e = offsets[r]; e < offsets[r + 1]; ++e) {
      const Scalar* a = in + columns[e] * width;
      for (std::int64_t k = 0; k < width; ++k) b[k] += a[k];
    }
  }
}

torch::Tensor apply_rows(const torch::Tensor& values, const SumRows& rows) {
  const torch::Tensor dense = values.contiguous();
  if (!values.device().is_cpu()) {  // one pass over the sources, nothing stored in between
    return std::get<0>(at::_embedding_bag_forward_only(dense, rows.columns, rows.offsets, false, 0, false, {}, true));
  }
  torch::Tensor out = torch::zeros({rows.rows(), values.size(1)}, values.options());
  if (values.scalar_type() == torch::kDouble) {
    accumulate<double>(dense, rows, out);
  } else {
    accumulate<float>(dense, rows, out);
  }
  return out;
}

class SumFunction : public torch::autograd::Function<SumFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& values,
                               const torch::Tensor& offsets, const torch::Tensor& columns,
                               const torch::Tensor& back_offsets, const torch::Tensor& back_columns) {
    context->save_for_backward({back_offsets, back_columns});
    return apply_rows(values, {offsets, columns});
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    return {apply_rows(gradients[0], {saved[0], saved[1]}), torch::Tensor(), torch::Tensor(), torch::Tensor(),
            torch::Tensor()};
  }
};

SumRows rows_of(const std::vector<std::int64_t>& offsets, const std::vector<std::int64_t>& columns) {
  return {torch::tensor(offsets, torch::kLong), torch::tensor(columns, torch::kLong)};
}

// Numbers repeated `count` times, moved on by `step` each time.
torch::Tensor repeated_with(const torch::Tensor& numbers, std::int64_t count, std::int64_t step) {
  return (numbers.unsqueeze(0) + torch::arange(count, numbers.options()).unsqueeze(1) * step).reshape({-1});
}

// Rows of one network for `count` of them; each has `width` values to choose from.
SumRows repeated_rows(const SumRows& rows, std::int64_t count, std::int64_t width) {
  const std::int64_t columns = rows.columns.size(0);
  const torch::Tensor starts = repeated_with(rows.offsets.narrow(0, 0, rows.rows()), count, columns);
  return {torch::cat({starts, torch::full({1}, count * columns, starts.options())}),
          repeated_with(rows.columns, count, width)};
}

std::vector<std::int64_t> counting(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i;
  return numbers;
}

template <typename Visit>
void visit_tensors(GraphBatch& batch, Visit visit) {
  for (torch::Tensor* tensor :
       {&batch.nodes, &batch.globals, &batch.weights, &batch.in_degree, &batch.graph_of, &batch.source, &batch.target})
    visit(*tensor);
  for (SumPair* pair : {&batch.neighbours, &batch.members, &batch.edges}) {
    for (SumRows* rows : {&pair->forward, &pair->backward}) visit(rows->offsets), visit(rows->columns);
  }
}

}  // namespace

GraphBatch GraphBatch::repeated(std::int64_t count) const {
  if (count == 1) return *this;
  GraphBatch out = *this;
  out.stack = count;
  const std::int64_t n = node_count(), e = source.size(0);
  out.neighbours = {repeated_rows(neighbours.forward, count, n), repeated_rows(neighbours.backward, count, n)};
  out.members = {repeated_rows(members.forward, count, n), repeated_rows(members.backward, count, graphs)};
  out.edges = {repeated_rows(edges.forward, count, e), repeated_rows(edges.backward, count, n)};
  out.source = out.neighbours.forward.columns;
  out.target = out.edges.backward.columns;
  return out;
}

GraphBatch GraphBatch::to(torch::Device device) const {
  GraphBatch out = *this;
  visit_tensors(out, [&](torch::Tensor& tensor) { tensor = tensor.to(device); });
  return out;
}

GraphBatch GraphBatch::to(torch::ScalarType type) const {
  GraphBatch out = *this;
  for (torch::Tensor* tensor : {&out.nodes, &out.in_degree, &out.globals, &out.weights}) *tensor = tensor->to(type);
  return out;
}

GraphBatch make_batch(std::span<const BatchItem> items) {
  std::int64_t nodes = 0;
  for (const BatchItem& item : items) nodes += item.graph->nodes;
  const std::int64_t width = items.front().graph->node_width,
                     global_width = static_cast<std::int64_t>(items.front().graph->globals.size());
  GraphBatch batch;
  batch.graphs = static_cast<std::int64_t>(items.size());
  batch.nodes = torch::empty({nodes, width});
  batch.in_degree = torch::empty({nodes, 1});
  batch.globals = torch::empty({batch.graphs, global_width});
  batch.weights = torch::ones({nodes, 1});
  std::vector<std::int64_t> offsets = {0}, source, target, starts, graph_of;
  std::int64_t node = 0;
  for (std::size_t g = 0; g < items.size(); ++g) {
    const GraphTensors& graph = *items[g].graph;
    std::copy(graph.node_features.begin(), graph.node_features.end(), batch.nodes.data_ptr<float>() + node * width);
    std::copy(graph.globals.begin(), graph.globals.end(),
              batch.globals.data_ptr<float>() + static_cast<std::int64_t>(g) * global_width);
    std::copy(items[g].weights.begin(), items[g].weights.end(), batch.weights.data_ptr<float>() + node);
    starts.push_back(node);
    for (std::int32_t i = 0; i < graph.nodes; ++i) {
      const auto sources = graph.sources.row(i);
      batch.in_degree.data_ptr<float>()[node + i] = static_cast<float>(sources.size());
      graph_of.push_back(static_cast<std::int64_t>(g));
      for (const std::int32_t from : sources) {
        source.push_back(node + from);
        target.push_back(node + i);
      }
      offsets.push_back(static_cast<std::int64_t>(source.size()));
    }
    node += graph.nodes;
  }
  starts.push_back(nodes);
  const auto edges = static_cast<std::int64_t>(source.size());
  // the transpose: targets of each source, in ascending order
  std::vector<std::int64_t> back_offsets(static_cast<std::size_t>(nodes) + 1, 0), back_columns(source.size());
  for (const std::int64_t from : source) ++back_offsets[static_cast<std::size_t>(from) + 1];
  for (std::size_t i = 1; i < back_offsets.size(); ++i) back_offsets[i] += back_offsets[i - 1];
  std::vector<std::int64_t> next(back_offsets.begin(), back_offsets.end() - 1);
  for (std::size_t e = 0; e < source.size(); ++e)
    back_columns[static_cast<std::size_t>(next[static_cast<std::size_t>(source[e])]++)] = target[e];
  batch.graph_of = torch::tensor(graph_of, torch::kLong);
  batch.neighbours = {rows_of(offsets, source), rows_of(back_offsets, back_columns)};
  batch.members = {rows_of(starts, counting(nodes)), rows_of(counting(nodes + 1), graph_of)};
  batch.edges = {rows_of(offsets, counting(edges)), rows_of(counting(edges + 1), target)};
  batch.source = batch.neighbours.forward.columns;
  batch.target = batch.edges.backward.columns;
  return batch;
}

torch::Tensor sum_rows(const torch::Tensor& values, const SumPair& pair) {
  return SumFunction::apply(values, pair.forward.offsets, pair.forward.columns, pair.backward.offsets,
                            pair.backward.columns);
}

torch::Tensor sum_neighbours(const torch::Tensor& values, const GraphBatch& batch) {
  return sum_rows(values.reshape({-1, values.size(2)}), batch.neighbours).view_as(values);
}

torch::Tensor sum_pool(const torch::Tensor& values, const GraphBatch& batch) {
  return sum_rows(values.reshape({-1, values.size(2)}), batch.members)
      .view({batch.stack, batch.graphs, values.size(2)});
}

torch::Tensor weighted_mean_pool(const torch::Tensor& values, const GraphBatch& batch) {
  const torch::Tensor weights = batch.weights.unsqueeze(0).expand({batch.stack, -1, -1});
  return sum_pool(values * weights, batch) / sum_pool(weights, batch).clamp_min(1e-12);
}

torch::Tensor spread_to_nodes(const torch::Tensor& rows, const GraphBatch& batch) {
  const SumPair pair{batch.members.backward, batch.members.forward};
  return sum_rows(rows.reshape({-1, rows.size(2)}), pair).view({batch.stack, batch.node_count(), rows.size(2)});
}

}  // namespace forerun
