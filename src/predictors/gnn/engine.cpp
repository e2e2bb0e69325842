#include "predictors/gnn/engine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace forerun {
namespace {

void fill_rows(Matrix& y, Eigen::Index rows, const Matrix& row) {
  y.resize(rows, row.cols());
  y.rowwise() = row.row(0);
}

Matrix sum_sources(const Matrix& x, const SparseRows& sources) {
  Matrix sum = Matrix::Zero(x.rows(), x.cols());
  for (std::int32_t node = 0; node < sources.rows(); ++node) {
    for (const std::int32_t source : sources.row(node)) sum.row(node) += x.row(source);
  }
  return sum;
}

Matrix mean_sources(const Matrix& x, const SparseRows& sources) {
  Matrix mean = sum_sources(x, sources);
  for (std::int32_t node = 0; node < sources.rows(); ++node) {
    const auto count = sources.row(node).size();
    if (count > 1) mean.row(node) /= static_cast<float>(count);
  }
  return mean;
}

// Σ over sources and the node itself of x_s / sqrt(d_s d_n), d = sources + 1.
Matrix gcn_sum(const Matrix& x, const SparseRows& sources) {
  Eigen::VectorXf scale(x.rows());
  for (std::int32_t node = 0; node < sources.rows(); ++node)
    scale[node] = 1.0F / std::sqrt(static_cast<float>(sources.row(node).size() + 1));
  const Matrix scaled = scale.asDiagonal() * x;
  return scale.asDiagonal() * (sum_sources(scaled, sources) + scaled);
}

float leaky(float x) { return x > 0 ? x : 0.2F * x; }

Matrix gat_sum(const Matrix& h, const Matrix& from, const Matrix& to, const SparseRows& sources) {
  const Eigen::VectorXf out_score = h * from.transpose(), in_score = h * to.transpose();
  Matrix result(h.rows(), h.cols());
  std::vector<float> weights;
  for (std::int32_t node = 0; node < sources.rows(); ++node) {
    const auto row = sources.row(node);
    weights.clear();
    float largest = leaky(out_score[node] + in_score[node]);
    weights.push_back(largest);
    for (const std::int32_t source : row) {
      weights.push_back(leaky(out_score[source] + in_score[node]));
      largest = std::max(largest, weights.back());
    }
    float total = 0;
    for (float& weight : weights) total += weight = std::exp(weight - largest);
    result.row(node) = h.row(node) * (weights[0] / total);
    for (std::size_t i = 0; i < row.size(); ++i) result.row(node) += h.row(row[i]) * (weights[i + 1] / total);
  }
  return result;
}

bool is_multiplied(StepKind kind, std::size_t position) {
  return position == 0
             ? kind == StepKind::Linear || kind == StepKind::Sage || kind == StepKind::Gcn || kind == StepKind::Gat
             : position == 1 && kind == StepKind::Sage;
}

}  // namespace

Result<GnnEngine> GnnEngine::load(const Bundle& bundle) {
  GnnEngine engine;
  FORERUN_TRY(const std::string_view text, bundle.part("program"));
  const auto in_file = [&bundle](const Error& error) {
    return Error{error.kind, bundle.file_name() + ": " + error.message};
  };
  auto program = program_from_json(text);
  if (!program) return in_file(program.error());
  engine.program_ = std::move(*program);
  const auto registers = check_program(engine.program_);
  if (!registers) return in_file(registers.error());
  for (const ProgramTensor& tensor : engine.program_.tensors) {
    FORERUN_TRY(const std::string_view bytes, bundle.section(tensor.name));
    const std::size_t count = static_cast<std::size_t>(tensor.rows) * static_cast<std::size_t>(tensor.columns);
    if (bytes.size() != count * (tensor.half ? 2 : 4)) {
      return bad_input(fmt::format("{}: section '{}' has {} bytes, {} x {} numbers were expected", bundle.file_name(),
                                   tensor.name, bytes.size(), tensor.rows, tensor.columns));
    }
    Matrix matrix(tensor.rows, tensor.columns);
    for (std::size_t i = 0; i < count; ++i) {
      if (tensor.half) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * 2, 2);
        matrix.data()[i] = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits));
      } else {
        std::memcpy(matrix.data() + i, bytes.data() + i * 4, 4);
      }
    }
    if (!matrix.allFinite())
      return bad_input(
          fmt::format("{}: section '{}' holds numbers that are not finite", bundle.file_name(), tensor.name));
    engine.tensors_.push_back(std::move(matrix));
  }
  engine.last_use_.assign(registers->size(), -1);
  for (std::size_t i = 0; i < engine.program_.steps.size(); ++i) {
    const Step& step = engine.program_.steps[i];
    for (const std::int32_t input : step.inputs)
      engine.last_use_[static_cast<std::size_t>(input)] = static_cast<std::int32_t>(i);
    for (std::size_t k = 0; k < step.tensors.size(); ++k) {
      const auto index = static_cast<std::size_t>(step.tensors[k]);
      if (is_multiplied(step.kind, k)) engine.tensors_[index] = engine.tensors_[index].transpose().eval();
    }
  }
  for (const std::int32_t output : engine.program_.outputs)
    engine.last_use_[static_cast<std::size_t>(output)] = INT32_MAX;
  return engine;
}

Status GnnEngine::run_step(const Step& step, const GraphTensors& graph, std::span<const float> node_weights,
                           const std::vector<Matrix>& registers, Matrix& y) const {
  const Matrix& x = registers[static_cast<std::size_t>(step.inputs[0])];
  const auto tensor = [&](std::size_t k) -> const Matrix& {
    return tensors_[static_cast<std::size_t>(step.tensors[k])];
  };
  switch (step.kind) {
    case StepKind::Linear:
      fill_rows(y, x.rows(), tensor(1));
      add_product(x, tensor(0), y);
      break;
    case StepKind::Sage:
      fill_rows(y, x.rows(), tensor(2));
      add_product(x, tensor(0), y);
      add_product(mean_sources(x, graph.sources), tensor(1), y);
      break;
    case StepKind::Gcn:
      y.noalias() = gcn_sum(x, graph.sources) * tensor(0);
      y.rowwise() += tensor(1).row(0);
      break;
    case StepKind::Gat:
      y = gat_sum(x * tensor(0), tensor(1), tensor(2), graph.sources);
      y.rowwise() += tensor(3).row(0);
      break;
    case StepKind::Gin: y = x + sum_sources(x, graph.sources); break;
    case StepKind::Relu: y = x.cwiseMax(0.0F); break;
    case StepKind::Normalize:
      y = x;
      for (Eigen::Index row = 0; row < y.rows(); ++row) y.row(row) /= std::max(1e-12F, y.row(row).norm());
      break;
    case StepKind::Affine:
      y = (x.array().rowwise() * tensor(0).row(0).array()).rowwise() + tensor(1).row(0).array();
      break;
    case StepKind::Add: y = x + registers[static_cast<std::size_t>(step.inputs[1])]; break;
    case StepKind::Concat: {
      Eigen::Index width = 0;
      for (const std::int32_t input : step.inputs) width += registers[static_cast<std::size_t>(input)].cols();
      y.resize(x.rows(), width);
      Eigen::Index at = 0;
      for (const std::int32_t input : step.inputs) {
        const Matrix& part = registers[static_cast<std::size_t>(input)];
        y.middleCols(at, part.cols()) = part;
        at += part.cols();
      }
      break;
    }
    case StepKind::SumPool: y = x.colwise().sum(); break;
    case StepKind::WeightedMean: {
      const Eigen::Map<const Eigen::RowVectorXf> weights(node_weights.data(), graph.nodes);
      y = weights * x / std::max(1e-12F, weights.sum());
      break;
    }
    case StepKind::Broadcast: fill_rows(y, graph.nodes, x); break;
    case StepKind::NegLogSigmoid: y = (x.array().cwiseMax(0.0F) - x.array() + (-x.array().abs()).exp().log1p()); break;
    case StepKind::Limit: y = x.cwiseMax(-kStepLimit).cwiseMin(kStepLimit); break;
    case StepKind::Log1p: y = x.array().cwiseMax(0.0F).log1p(); break;
    case StepKind::Count: return internal_error("a step without a kind");
  }
  return ok();
}

Result<std::vector<Matrix>> GnnEngine::run(const GraphTensors& graph, std::span<const float> node_weights,
                                           const CancelToken& cancel) const {
  if (graph.nodes <= 0) return bad_input("the graph has no node: graph networks need at least one");
  const auto nodes = static_cast<std::size_t>(graph.nodes);
  if (graph.node_width != program_.node_width ||
      graph.globals.size() != static_cast<std::size_t>(program_.global_width) ||
      graph.node_features.size() != nodes * static_cast<std::size_t>(graph.node_width) ||
      node_weights.size() != nodes || graph.sources.rows() != graph.nodes) {
    return internal_error(fmt::format("a graph network of {} node and {} graph features was given {} and {}",
                                      program_.node_width, program_.global_width, graph.node_width,
                                      graph.globals.size()));
  }
  std::vector<Matrix> registers(program_.steps.size() + 2);
  registers[0] = Eigen::Map<const Matrix>(graph.node_features.data(), graph.nodes, graph.node_width);
  registers[1] = Eigen::Map<const Matrix>(graph.globals.data(), 1, program_.global_width);
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    FORERUN_CHECK(cancel.check());
    FORERUN_CHECK(run_step(step, graph, node_weights, registers, registers[i + 2]));
    for (const std::int32_t input : step.inputs) {
      if (last_use_[static_cast<std::size_t>(input)] == static_cast<std::int32_t>(i))
        registers[static_cast<std::size_t>(input)] = Matrix();
    }
  }
  std::vector<Matrix> outputs;
  for (const std::int32_t output : program_.outputs) outputs.push_back(registers[static_cast<std::size_t>(output)]);
  return outputs;
}

}  // namespace forerun
