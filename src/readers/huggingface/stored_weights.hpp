// True sizes of weights: a checkpoint's headers applied to an expanded graph.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "graph/graph.hpp"
#include "readers/huggingface/graph_builder.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/huggingface/quantization.hpp"

namespace forerun {

// The safetensors files of a folder, with or without an index; nullopt when there are none. An index without its shards
// adds to `notes` and is nullopt, too.
Result<std::optional<StoredWeights>> find_stored_weights(const Folder& folder, std::vector<std::string>& notes);

// Sets type and bytes of every parameter the checkpoint holds; warns about those it does not hold.
void use_stored_weights(Graph& graph, const StoredWeights& weights);

// Sets type and bytes of linear weights as a quantization_config says, where activations have 16 bits.
void store_as_quantized(Graph& graph, const CheckpointQuantization& quantization, const RunShape& run);

}  // namespace forerun
