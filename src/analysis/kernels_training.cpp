// The backward pass and the optimiser step, derived from the forward kernels.
#include <algorithm>

#include "analysis/kernel_builder.hpp"

namespace forerun {
namespace {

Kernel backward_of(const Kernel& forward, const char* label) {
  Kernel kernel = forward;
  kernel.stage = Stage::Backward;
  kernel.label = label;
  kernel.host_ops = 1.5;  // the autograd engine's own work
  return kernel;
}

// How activations and their gradients are held.
struct Held {
  Math math = Math::Fp32;
  double bytes = 4;
};

// A sum of gradients over what `outputs` elements were broadcast to.
Kernel sum_of_gradients(const Kernel& forward, double elements, double outputs, Held held) {
  Kernel sum;
  sum.kernel_class = KernelClass::Reduce;
  sum.stage = Stage::Backward;
  sum.label = "bias_gradient";
  sum.math = held.math;
  sum.node = forward.node;
  sum.block = forward.block;
  sum.runs = forward.runs;
  sum.host_ops = 0.5;  // part of its operator's gradient
  sum.flops = elements;
  sum.read_bytes = elements * held.bytes;
  sum.write_bytes = outputs * held.bytes;
  sum.output_elements = outputs;
  sum.inner = elements / std::max(1.0, outputs);
  sum.spatial = forward.spatial;
  return sum;
}

// Adds what two readers of a value left of its gradient.
Kernel addition_of_gradients(const Value& value, NodeId producer, Held held) {
  const double elements = double(elements_of(value));
  Kernel sum;
  sum.kernel_class = KernelClass::Elementwise;
  sum.stage = Stage::Backward;
  sum.label = "accumulate";
  sum.math = held.math;
  sum.node = producer;
  sum.host_ops = 0.7;
  sum.flops = sum.output_elements = elements;
  sum.read_bytes = 2 * elements * held.bytes;
  sum.write_bytes = elements * held.bytes;
  return sum;
}

// Gradients of a product: with respect to its input (m x n)(n x k), its weight (k x m)(m x n) and its bias. That of a
// convolution's bias stands at the bias.
void product_backward(const Kernel& f, bool needs_input, Held held, std::vector<Kernel>& out) {
  const double x_bytes = f.read_bytes - f.weight_bytes;
  const bool conv = f.kernel_class == KernelClass::Conv || f.kernel_class == KernelClass::DepthwiseConv ||
                    f.kernel_class == KernelClass::ConvTranspose;
  if (needs_input) {
    Kernel input = backward_of(f, conv ? "conv_input_gradient" : "input_gradient");
    input.read_bytes = f.write_bytes + f.weight_bytes;
    input.write_bytes = x_bytes;
    std::swap(input.n, input.k);
    out.push_back(input);
  }
  Kernel weight = backward_of(f, conv ? "conv_weight_gradient" : "weight_gradient");
  weight.read_bytes = f.write_bytes + x_bytes;
  weight.write_bytes = f.weight_bytes;
  weight.weight_bytes = 0;
  const double m = f.m;
  weight.m = f.k;
  weight.k = m;
  out.push_back(weight);
  if (f.biased && !conv) out.push_back(sum_of_gradients(f, f.m * f.n, f.n, held));
}

void memory_backward(const Kernel& f, Held held, std::vector<Kernel>& out) {
  const bool gelu = std::string_view(f.label) == "gelu" || std::string_view(f.label) == "Gelu";
  Kernel kernel = backward_of(f, gelu ? "gelu_gradient" : "gradient");
  const double x_bytes = std::max(0.0, f.read_bytes - f.weight_bytes);
  switch (f.kernel_class) {
    case KernelClass::BatchNorm:
      kernel.read_bytes = 4 * f.write_bytes;  // reductions over gradient and input, then both again
      kernel.write_bytes = f.write_bytes;
      kernel.launches = 1;
      kernel.serial_steps = norm_gradient_steps(f, held.bytes < 4);
      break;
    case KernelClass::LayerNorm:
      kernel.read_bytes = 3 * f.write_bytes;
      kernel.write_bytes = f.write_bytes;
      kernel.launches = 3;
      break;
    case KernelClass::Softmax:
      kernel.read_bytes = 2 * f.write_bytes;
      kernel.write_bytes = f.write_bytes;
      break;
    case KernelClass::Pool:
    case KernelClass::Reduce:
      kernel.read_bytes = f.write_bytes;
      kernel.write_bytes = x_bytes;
      break;
    case KernelClass::Embedding:
      kernel.read_bytes = f.write_bytes;
      kernel.write_bytes = f.write_bytes;
      kernel.launches = 4;  // indices are sorted first
      break;
    default:
      kernel.read_bytes = f.write_bytes + x_bytes;
      kernel.write_bytes = x_bytes;
      break;
  }
  out.push_back(kernel);
}

bool passes_gradient_through(const Kernel& kernel) {
  const std::string_view label = kernel.label;
  return label == "Add" || label == "Sub" || label == "Concat" || label == "Sum";
}

// Of the main block: which values gradients flow to, and after which nodes those of several consumers are added up.
class GradientFlow {
 public:
  explicit GradientFlow(const Graph& graph)
      : graph_(graph), flows_(graph.values.size(), false), sums_(graph.main().nodes.size()) {
    const Block& block = graph.main();
    const BlockLinks links(graph, block);
    const std::vector<Match> matches = match_fusions(graph, block, links);
    const std::vector<std::int32_t> group = match_of_nodes(block, matches);
    std::vector<std::pair<ValueId, std::int32_t>> uses;  // a value and the operator that reads it
    for (std::size_t i = 0; i < block.nodes.size(); ++i) {
      const Node& node = block.nodes[i];
      if (!node.needed || node.kind == OpKind::Shape || node.kind == OpKind::Size) continue;
      bool flows = false;
      for (const ValueId input : node.inputs) {
        if (input == kNoValue || !takes_gradient(input)) continue;
        flows = true;
        const ValueId value = links.origin(input);
        const NodeId from = links.producer(value);
        if (node.kind == OpKind::Identity || from < 0 || (group[i] >= 0 && group[std::size_t(from)] == group[i]))
          continue;
        uses.emplace_back(value, group[i] >= 0 ? group[i] : std::int32_t(matches.size() + i));
      }
      for (const ValueId output : node.outputs) {
        if (output != kNoValue && flows) flows_[std::size_t(output)] = true;
      }
    }
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    for (std::size_t i = 1; i < uses.size(); ++i) {
      if (uses[i].first == uses[i - 1].first)
        sums_[std::size_t(links.producer(uses[i].first))].push_back(uses[i].first);
    }
  }

  [[nodiscard]] bool takes_gradient(ValueId id) const {
    const Value& value = graph_.values[std::size_t(id)];
    return is_weight(value) || value.wants_gradient || flows_[std::size_t(id)];
  }
  // The additions of gradients after the backward pass of the node's consumers, one for each consumer but the first.
  [[nodiscard]] const std::vector<ValueId>& sums_at(NodeId node) const { return sums_[std::size_t(node)]; }

 private:
  const Graph& graph_;
  std::vector<bool> flows_;
  std::vector<std::vector<ValueId>> sums_;
};

// Whether a kernel reads an input of the network that training differentiates for.
bool reads_wanted_input(const Kernel& kernel, const Graph& graph) {
  if (kernel.node < 0) return false;
  const Node& node = graph.blocks[std::size_t(kernel.block)].nodes[std::size_t(kernel.node)];
  return !node.inputs.empty() && node.inputs[0] != kNoValue && graph.values[std::size_t(node.inputs[0])].wants_gradient;
}

bool is_broadcast(OpKind kind) { return kind == OpKind::Add || kind == OpKind::Mul; }

// Of x * y, the gradient of either is the result's times the other one, summed over what it was broadcast to; x + y
// passes it on, summed the same way.
void broadcast_backward(const Kernel& f, const Graph& graph, const GradientFlow& flow, Held held,
                        std::vector<Kernel>& out) {
  const Node& node = graph.main().nodes[std::size_t(f.node)];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (input == kNoValue || !flow.takes_gradient(input)) continue;
    if (node.kind == OpKind::Mul) {
      Kernel gradient = backward_of(f, "gradient");
      const ValueId other = node.inputs[i == 0 ? node.inputs.size() - 1 : 0];
      gradient.read_bytes =
          (f.output_elements + (other == kNoValue ? 0.0 : double(elements_of(graph.values[std::size_t(other)])))) *
          held.bytes;
      gradient.write_bytes = f.output_elements * held.bytes;
      gradient.weight_bytes = 0;
      gradient.host_ops = 1;
      out.push_back(gradient);
    }
    const double elements = double(elements_of(graph.values[std::size_t(input)]));
    if (elements < f.output_elements) out.push_back(sum_of_gradients(f, f.output_elements, elements, held));
  }
}

}  // namespace

void append_training(std::vector<Kernel>& kernels, const Graph& graph, const Workload& workload) {
  if (is_autocast(workload.precision)) kernels = with_autocast(kernels);
  const Held held{math_of(KernelClass::Elementwise, workload.precision, DType::Undefined),
                  activation_bytes(workload.precision)};
  const GradientFlow flow(graph);
  const std::vector<Kernel> forward = kernels;
  // The first layer's input is data: it needs no gradient.
  const auto is_weighted = [](const Kernel& k) { return k.weight_bytes > 0 && k.macs > 0; };
  const auto first_product = std::size_t(std::find_if(forward.begin(), forward.end(), is_weighted) - forward.begin());
  auto unsummed = NodeId(graph.main().nodes.size());  // gradients of this node's results and later ones are added up
  for (std::size_t i = forward.size(); i-- > 0;) {    // backward runs in reverse order
    const Kernel& f = forward[i];
    const bool in_main = f.block == 0 && f.node >= 0;
    if (in_main && !graph.main().nodes[std::size_t(f.node)].needed) continue;
    while (in_main && unsummed > f.node) {
      for (const ValueId value : flow.sums_at(--unsummed)) {
        kernels.push_back(addition_of_gradients(graph.values[std::size_t(value)], unsummed, held));
      }
    }
    switch (f.kernel_class) {
      case KernelClass::Conv:
      case KernelClass::DepthwiseConv:
      case KernelClass::ConvTranspose:
      case KernelClass::Linear:
      case KernelClass::Experts:
        product_backward(f, i != first_product || reads_wanted_input(f, graph), held, kernels);
        break;
      case KernelClass::BatchedMatMul:
        for (int side = 0; side < 2; ++side) kernels.push_back(backward_of(f, "matmul_gradient"));
        break;
      case KernelClass::Attention: {
        Kernel kernel = backward_of(f, "attention_gradient");
        kernel.macs *= 2.5;
        kernel.flops *= 2.5;
        kernel.read_bytes = f.read_bytes + 2 * f.write_bytes;
        kernel.write_bytes = f.read_bytes;
        kernels.push_back(kernel);
        break;
      }
      case KernelClass::Recurrent: {
        Kernel kernel = backward_of(f, "recurrent_gradient");
        kernel.macs *= 2;
        kernel.flops *= 2;
        kernel.read_bytes *= 2;
        kernels.push_back(kernel);
        break;
      }
      default: {
        const std::string_view label = f.label;
        if (label == "autocast") {
          Kernel cast = f;
          cast.stage = Stage::Backward;
          std::swap(cast.read_bytes, cast.write_bytes);
          kernels.push_back(cast);
        } else if (label == "bias") {
          kernels.push_back(sum_of_gradients(f, f.output_elements, f.output_elements / std::max(1.0, f.inner), held));
        } else if (in_main && f.kernel_class == KernelClass::Elementwise &&
                   is_broadcast(graph.main().nodes[std::size_t(f.node)].kind)) {
          broadcast_backward(f, graph, flow, held, kernels);
        } else if (!passes_gradient_through(f)) {
          memory_backward(f, held, kernels);
        }
        break;
      }
    }
  }
  if (workload.optimizer == Optimizer::None) return;
  double elements = 0;
  double tensors = 0;
  for (const Value& value : graph.values) {
    if (!is_weight(value)) continue;
    elements += double(elements_of(value));
    tensors += 1;
  }
  if (elements <= 0) return;
  // Passes over parameter-sized arrays of PyTorch's multi-tensor ("foreach") implementations, 4 bytes an element.
  const double passes = workload.optimizer == Optimizer::Sgd ? 8 : workload.optimizer == Optimizer::Adam ? 21 : 23;
  const double steps = workload.optimizer == Optimizer::Sgd ? 3 : workload.optimizer == Optimizer::Adam ? 10 : 11;
  Kernel step;
  step.kernel_class = KernelClass::Optimizer;
  step.stage = Stage::Update;
  step.label = "optimizer_step";
  step.math = Math::Fp32;
  step.read_bytes = elements * 4 * passes * 0.62;
  step.write_bytes = elements * 4 * passes * 0.38;
  step.flops = elements * steps * 1.5;
  step.output_elements = elements;
  step.launches = steps * (1 + tensors / 110.0);  // one launch takes about a hundred tensors
  step.host_ops = steps * 2 + tensors * 1.2;
  kernels.push_back(step);
}

}  // namespace forerun
