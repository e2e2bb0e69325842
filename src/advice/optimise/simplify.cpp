// Cheaper operators in the place of others: another network, to be trained anew.
#include <algorithm>

#include "advice/optimise/graph_edits.hpp"
#include "advice/optimise/places.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kWindow = 3;

// The pads that keep the output's size with the smaller window; nullopt where there are too few.
std::optional<std::vector<std::int64_t>> smaller_pads(std::span<const std::int64_t> pads,
                                                      std::span<const std::int64_t> window) {
  std::vector<std::int64_t> smaller(pads.begin(), pads.end());
  const std::size_t rank = window.size();
  if (smaller.size() != 2 * rank) return std::nullopt;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t less = std::max<std::int64_t>(0, window[d] - kWindow);
    smaller[d] -= less / 2;
    smaller[d + rank] -= less - less / 2;
    if (smaller[d] < 0 || smaller[d + rank] < 0) return std::nullopt;
  }
  return smaller;
}

bool shrink(Graph& graph, Node& conv, const Places& where) {
  if (conv.kind != OpKind::Conv || conv.inputs.size() < 2 || conv.inputs[1] == kNoValue) return false;
  Value& weight = graph.values[std::size_t(conv.inputs[1])];
  if (!is_weight(weight) || !weight.has_shape || weight.dims.size() < 3 || !where.has_one_use(conv.inputs[1]))
    return false;
  const std::vector<std::int64_t> window(weight.dims.begin() + 2, weight.dims.end());
  if (*std::max_element(window.begin(), window.end()) <= kWindow) return false;
  const auto dilations = ints_attribute(conv, "dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d != 1; })) return false;
  const std::string_view automatic = text_attribute(conv, "auto_pad", "NOTSET");
  if (automatic == "NOTSET") {
    auto pads = smaller_pads(ints_attribute(conv, "pads"), window);
    if (!pads) return false;
    set_attribute(conv, "pads", std::move(*pads));
  }
  std::vector<std::int64_t> smaller = window;
  for (std::int64_t& size : smaller) size = std::min(size, kWindow);
  std::copy(smaller.begin(), smaller.end(), weight.dims.begin() + 2);
  set_attribute(conv, "kernel_shape", std::move(smaller));
  return true;
}

}  // namespace

std::size_t shrink_windows(Graph& graph) {
  const Places where(graph);
  std::size_t places = 0;
  for (Node& node : graph.main().nodes) places += shrink(graph, node, where) ? 1 : 0;
  return places;
}

std::size_t simplify_activations(Graph& graph) {
  constexpr OpKind kCostly[] = {OpKind::Gelu, OpKind::FastGelu,  OpKind::QuickGelu, OpKind::Swish, OpKind::Mish,
                                OpKind::Elu,  OpKind::HardSwish, OpKind::Softplus,  OpKind::Selu,  OpKind::Celu};
  std::size_t places = 0;
  for (Node& node : graph.main().nodes) {
    if (std::find(std::begin(kCostly), std::end(kCostly), node.kind) == std::end(kCostly)) continue;
    node.kind = OpKind::Relu;
    node.op_type = "Relu";
    node.domain.clear();
    node.inputs.resize(1);
    node.attributes.clear();
    ++places;
  }
  return places;
}

}  // namespace forerun
