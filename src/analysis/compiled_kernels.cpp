#include "analysis/compiled_kernels.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "analysis/fused_groups.hpp"
#include "analysis/kernel_builder.hpp"

namespace forerun {
namespace {

FusedRole role_of(const Kernel& kernel) {
  switch (kernel.kernel_class) {
    case KernelClass::LayerNorm:
    case KernelClass::Softmax:
    case KernelClass::Reduce: return FusedRole::Reduction;
    case KernelClass::Pool: return FusedRole::Window;
    case KernelClass::BatchNorm:
    case KernelClass::Elementwise:
    case KernelClass::Embedding:
    case KernelClass::Copy: return FusedRole::Pointwise;
    default: return FusedRole::Library;
  }
}

// Turns one block's nodes and kernels into steps over buffers. A buffer is what one kernel writes; views share it.
class BlockSteps {
 public:
  BlockSteps(const Graph& graph, std::int32_t index, const std::vector<Kernel>& kernels,
             const std::vector<std::size_t>& own)
      : graph_(graph),
        block_(graph.blocks[std::size_t(index)]),
        links_(graph, block_),
        matches_(match_fusions(graph, block_, links_)),
        match_(match_of_nodes(block_, matches_)),
        kernels_(kernels),
        buffer_of_(graph.values.size(), -1) {
    for (const std::size_t i : own) kernels_of_[kernels[i].node].push_back(i);
  }

  FusionInput run() {
    for (std::size_t i = 0; i < block_.nodes.size(); ++i) {
      const std::int32_t match = match_[i];
      if (match >= 0 && matches_[std::size_t(match)].nodes.back() != NodeId(i)) continue;
      const std::vector<NodeId> alone = {NodeId(i)};
      const std::vector<NodeId>& nodes = match >= 0 ? matches_[std::size_t(match)].nodes : alone;
      const auto own = kernels_of_.find(match >= 0 ? matches_[std::size_t(match)].main : NodeId(i));
      if (own == kernels_of_.end()) {
        view(block_.nodes[i]);
      } else {
        steps_of(nodes, own->second);
      }
    }
    for (const ValueId output : block_.outputs) {
      if (output != kNoValue && buffer_of_[std::size_t(output)] >= 0)
        input_.buffers[std::size_t(buffer_of_[std::size_t(output)])].leaves = true;
    }
    return std::move(input_);
  }

 private:
  void view(const Node& node) {
    std::int32_t buffer = -1;
    for (const ValueId id : node.inputs) {
      if (id != kNoValue && buffer < 0) buffer = buffer_of_[std::size_t(id)];
    }
    for (const ValueId id : node.outputs) {
      if (id != kNoValue) buffer_of_[std::size_t(id)] = buffer;
    }
  }

  // The kernels of one operator follow each other; the first reads the operator's inputs.
  void steps_of(const std::vector<NodeId>& nodes, const std::vector<std::size_t>& kernels) {
    std::vector<BufferRead> reads;
    for (const NodeId id : nodes) {
      for (const ValueId value : block_.nodes[std::size_t(id)].inputs) {
        const std::int32_t buffer = value == kNoValue ? -1 : buffer_of_[std::size_t(value)];
        const bool seen =
            std::any_of(reads.begin(), reads.end(), [&](const BufferRead& read) { return read.buffer == buffer; });
        if (buffer >= 0 && !seen) reads.push_back({buffer, double(elements_of(graph_.values[std::size_t(value)]))});
      }
    }
    std::int32_t last = -1;
    for (const std::size_t i : kernels) {
      const Kernel& kernel = kernels_[i];
      FusionStep step{.kernel = std::int32_t(i), .role = role_of(kernel), .reads = {}};
      if (last < 0) {
        step.reads = reads;
      } else {
        step.reads = {{last, input_.buffers[std::size_t(last)].elements}};
      }
      double known = 0;
      for (BufferRead& read : step.reads) {
        const FusionBuffer& from = input_.buffers[std::size_t(read.buffer)];
        const double size = from.elements > 0 ? from.bytes / from.elements : 0;
        read.elements = std::min(read.elements, from.elements);
        known += read.elements * size;
      }
      step.outside_bytes = std::max(0.0, kernel.read_bytes - known);
      last = std::int32_t(input_.buffers.size());
      step.writes = last;
      input_.buffers.push_back({std::max(1.0, kernel.output_elements), kernel.write_bytes});
      input_.steps.push_back(std::move(step));
    }
    for (const NodeId id : nodes) {
      for (const ValueId output : block_.nodes[std::size_t(id)].outputs) {
        if (output != kNoValue) buffer_of_[std::size_t(output)] = last;
      }
    }
  }

  const Graph& graph_;
  const Block& block_;
  BlockLinks links_;
  std::vector<Match> matches_;
  std::vector<std::int32_t> match_;
  const std::vector<Kernel>& kernels_;
  std::map<NodeId, std::vector<std::size_t>> kernels_of_;
  std::vector<std::int32_t> buffer_of_;
  FusionInput input_;
};

// Inductor's rule for channels-last convolutions (decide_layout_opt of torch 2.11): what the network's convolutions
// would take in that order, by four measured factors.
bool runs_channels_last(const std::vector<Kernel>& kernels) {
  double before = 0, after = 0;
  for (const Kernel& k : kernels) {
    if (!is_convolution(k.kernel_class) && k.kernel_class != KernelClass::DepthwiseConv) continue;
    const double inputs = k.input_channels / std::max(1.0, k.groups);
    const bool grouped = k.groups > 1 && inputs > 1;
    const bool is_small = k.output_channels <= 64 && inputs <= 64;
    const bool shrinks = 2 * k.output_channels <= inputs && k.kernel_area > 1;
    before += k.flops * k.runs;
    after += k.flops * k.runs * (grouped ? 1.358 : is_small ? 0.783 : shrinks ? 0.725 : 0.823);
  }
  return before > 0 && after <= before;
}

Kernel fused_kernel(const std::vector<Kernel>& kernels, const FusedGroup& group) {
  const Kernel* widest = nullptr;
  const Kernel* reduction = nullptr;
  const Kernel* window = nullptr;
  Kernel fused;
  for (const std::int32_t i : group.kernels) {
    const Kernel& k = kernels[std::size_t(i)];
    if (widest == nullptr || k.output_elements > widest->output_elements) widest = &k;
    if (role_of(k) == FusedRole::Reduction) reduction = &k;
    if (role_of(k) == FusedRole::Window) window = &k;
    fused.flops += k.flops;
  }
  const Kernel& main = reduction != nullptr ? *reduction : window != nullptr ? *window : *widest;
  fused.kernel_class = reduction != nullptr || window != nullptr ? main.kernel_class : KernelClass::Elementwise;
  fused.label = reduction == nullptr                          ? window != nullptr ? kFusedPool : kFusedPointwise
                : main.kernel_class == KernelClass::LayerNorm ? kFusedNorm
                : main.kernel_class == KernelClass::Softmax   ? kFusedSoftmax
                                                              : kFusedReduction;
  fused.math = main.math;
  fused.node = kernels[std::size_t(group.kernels.back())].node;
  fused.block = main.block;
  fused.runs = main.runs;
  fused.read_bytes = group.read_bytes;
  fused.write_bytes = group.write_bytes;
  fused.output_elements = widest->output_elements;
  fused.inner = reduction != nullptr || window != nullptr ? main.inner : 0;
  fused.kernel_area = main.kernel_area;
  fused.stride = main.stride;
  fused.spatial = main.spatial;
  return fused;
}

}  // namespace

std::vector<Kernel> compiled_kernels(const Graph& graph, const std::vector<Kernel>& eager) {
  const bool channels_last = runs_channels_last(eager);
  std::map<std::int32_t, std::vector<std::size_t>> of_block;
  for (std::size_t i = 0; i < eager.size(); ++i) of_block[eager[i].block].push_back(i);
  std::vector<Kernel> compiled;
  compiled.reserve(eager.size());
  for (const auto& [block, own] : of_block) {
    for (const FusedGroup& group : fuse(BlockSteps(graph, block, eager, own).run())) {
      const Kernel& first = eager[std::size_t(group.kernels.front())];
      if (role_of(first) != FusedRole::Library) {
        compiled.push_back(fused_kernel(eager, group));
        continue;
      }
      Kernel kernel = first;
      const bool image = kernel.kernel_class == KernelClass::Conv || kernel.kernel_class == KernelClass::DepthwiseConv;
      if (image && channels_last) {
        if (kernel.kernel_area > 1 && kernel.input_channels / std::max(1.0, kernel.groups) > 1) {
          Kernel copy;
          copy.kernel_class = KernelClass::Copy;
          copy.label = kWeightLayout;
          copy.math = Math::Fp32;
          copy.node = kernel.node;
          copy.block = kernel.block;
          copy.runs = kernel.runs;
          copy.read_bytes = copy.write_bytes = copy.weight_bytes = kernel.weight_bytes;
          copy.output_elements = copy.flops = kernel.n * kernel.groups * kernel.k;
          compiled.push_back(copy);
        }
        const bool grouped = kernel.groups > 1 && kernel.groups < kernel.input_channels;
        if (!grouped) kernel.label = kChannelsLastConv;  // cuDNN converts grouped ones there and back
      }
      kernel.host_ops = 0;
      compiled.push_back(kernel);
    }
  }
  return compiled;
}

}  // namespace forerun
