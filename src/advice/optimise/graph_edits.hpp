// Edits of a network that a proposal may name: graph -> graph. They work on what a reader returns, before analysis.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "graph/graph.hpp"
#include "readers/reader.hpp"

namespace forerun {

struct GraphEdit {
  std::string_view name;
  // Changes the graph and returns in how many places; 0: it has none and is unchanged.
  std::size_t (*apply)(Graph& graph);
};

// Joins matrix products of one input into a single wider product and splits its result: query, key and value; gate and
// up projections. The numbers stay the same.
[[nodiscard]] std::size_t join_products(Graph& graph);
// Folds a batch normalisation into the convolution before it. Inference only.
[[nodiscard]] std::size_t fold_norms(Graph& graph);
// Widens channels that are not a multiple of 8, together with every layer that shares them.
[[nodiscard]] std::size_t align_widths(Graph& graph);
// Replaces windows of convolutions larger than 3x3 by 3x3, at the same output size.
[[nodiscard]] std::size_t shrink_windows(Graph& graph);
// Replaces GELU, Swish, Mish and their like by ReLU.
[[nodiscard]] std::size_t simplify_activations(Graph& graph);

// One of them by its name, "fold-norms"; nullptr: there is none.
[[nodiscard]] const GraphEdit* find_edit(std::string_view name);

// The network with edits applied to every graph it expands to; an edit that finds no place is an error.
[[nodiscard]] std::shared_ptr<const Network> edited(std::shared_ptr<const Network> network,
                                                    std::span<const GraphEdit* const> edits);

}  // namespace forerun
