#include "readers/huggingface/stored_weights.hpp"

#include <cmath>

#include "base/checked.hpp"
#include "base/mapped_file.hpp"
#include "readers/safetensors/safetensors_reader.hpp"

namespace forerun {
namespace {

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix
             ? name.substr(0, name.size() - suffix.size())
             : std::string_view{};
}

bool is_routed(std::string_view name) { return name.find(".experts.") != std::string_view::npos; }

// A linear layer's weight: two-dimensional (or experts), named "….weight" and not an embedding, router or head.
bool is_linear_weight(const Value& value) {
  if (!is_weight(value) || value.dims.size() < 2) return false;
  if (is_routed(value.name)) return value.dims.size() == 3;
  const std::string_view name = value.name;
  for (const std::string_view kept :
       {"embed", "wte.", "wpe.", "lm_head", "shared.weight", "router", "mlp.gate.weight", "conv"}) {
    if (name.find(kept) != std::string_view::npos) return false;
  }
  return value.dims.size() == 2 && !without_suffix(name, ".weight").empty();
}

}  // namespace

void store_as_quantized(Graph& graph, const CheckpointQuantization& quantization, const RunShape& run) {
  // In fp32 the weights are dequantised; int8, int4 and fp8 asked for explicitly replace the checkpoint's own.
  if (bits_of(run.activations) != 16 || run.linear.dtype != run.activations) return;
  const WeightStorage& storage = quantization.storage;
  for (Value& value : graph.values) {
    if (!is_linear_weight(value)) continue;
    std::string_view module = without_suffix(value.name, ".weight");
    if (module.empty()) module = value.name;
    if ((quantization.experts_only && !is_routed(value.name)) || quantization.excludes(module)) continue;
    const std::int64_t inputs = value.dims[value.dims.size() - 2];
    const std::int64_t groups = storage.group > 0 ? ceil_div(inputs, storage.group) : 1;
    value.dtype = storage.dtype;
    const std::int64_t elements = elements_of(value);
    const double extra = inputs > 0 ? double(elements) / double(inputs) * double(groups) * storage.group_bytes : 0;
    value.stored_bytes = checked_add(bytes_of(storage.dtype, elements),
                                     extra < double(kSizeLimit) ? std::llround(std::ceil(extra)) : kSizeLimit);
  }
}

void use_stored_weights(Graph& graph, const StoredWeights& weights) {
  std::int64_t missing = 0, found = 0;
  std::string example;
  for (Value& value : graph.values) {
    if (!is_weight(value)) continue;
    const std::string_view bias = without_suffix(value.name, ".bias");
    std::string_view module = without_suffix(value.name, ".weight");
    if (module.empty()) module = bias.empty() ? std::string_view(value.name) : bias;
    const std::string renamed = weights.rename ? weights.rename(module) : std::string(module);
    const auto it = weights.modules.find(renamed);
    // A base network's names may lack, or a head's may have, one prefix more.
    auto stored = it;
    for (const std::string_view prefix :
         {"model.", "transformer.", "bert.", "roberta.", "distilbert.", "electra.", "deberta."}) {
      if (stored != weights.modules.end()) break;
      if (renamed.rfind(prefix, 0) == 0)
        stored = weights.modules.find(renamed.substr(prefix.size()));
      else
        stored = weights.modules.find(std::string(prefix) + renamed);
    }
    if (stored == weights.modules.end()) {
      ++missing;
      if (example.empty()) example = value.name;
      continue;
    }
    ++found;
    if (!bias.empty()) {
      if (stored->second.bias_bytes > 0) value.stored_bytes = stored->second.bias_bytes;
      continue;
    }
    const std::int64_t elements = elements_of(value);
    if (stored->second.elements == elements && stored->second.dtype != DType::Undefined)
      value.dtype = stored->second.dtype;
    else if (is_routed(value.name) && is_floating(stored->second.dtype))
      value.dtype = stored->second.dtype;
    else if (elements > 0)
      value.dtype = stored->second.bytes * 8 / elements < 7 ? DType::UInt4 : DType::Int8;  // packed
    value.stored_bytes = stored->second.bytes;
  }
  if (found == 0)
    graph.warnings.push_back("none of the weights in " + weights.where +
                             " belong to this architecture: sizes follow the configuration");
  else if (missing > 0) {
    graph.warnings.push_back(std::to_string(missing) + " weights (e.g. '" + example + "') are not in " + weights.where +
                             ": their sizes follow the precision");
  }
}

// The module a tensor belongs to. Tensors of single experts are gathered under the names of stacked ones.
std::string module_of(std::string_view tensor, bool& is_bias) {
  const std::size_t dot = tensor.rfind('.');
  std::string_view module = dot == std::string_view::npos ? tensor : tensor.substr(0, dot);
  const std::string_view leaf = dot == std::string_view::npos ? std::string_view{} : tensor.substr(dot + 1);
  is_bias = leaf == "bias";
  const std::size_t experts = tensor.find(".experts.");
  if (experts == std::string_view::npos) return std::string(module);
  const std::string prefix(tensor.substr(0, experts + 9));
  const std::string_view rest = tensor.substr(experts + 9);
  const bool is_down = rest.find("down") != std::string_view::npos || rest.find(".w2") != std::string_view::npos;
  return prefix + (is_down ? "down_proj" : "gate_up_proj");
}

Result<std::optional<StoredWeights>> find_stored_weights(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::vector<std::string> warnings;
  std::vector<StoredTensor> tensors;
  StoredWeights weights;
  const std::filesystem::path index = folder / "model.safetensors.index.json", single = folder / "model.safetensors";
  if (std::filesystem::is_regular_file(index, ignored)) {
    FORERUN_TRY(const MappedFile mapped, MappedFile::open(index.string()));
    FORERUN_TRY(tensors, read_safetensors_shards(mapped.bytes(), index, warnings));
    weights.where = index.filename().string();
  } else if (std::filesystem::is_regular_file(single, ignored)) {
    FORERUN_TRY(const MappedFile mapped, MappedFile::open(single.string()));
    FORERUN_TRY(tensors, read_safetensors_header(mapped.bytes(), single.string(), warnings));
    weights.where = single.filename().string();
  } else {
    return std::optional<StoredWeights>();
  }
  for (const StoredTensor& tensor : tensors) {
    bool is_bias = false;
    StoredModule& module = weights.modules[module_of(tensor.name, is_bias)];
    if (is_bias) {
      module.bias_bytes = checked_add(module.bias_bytes, tensor.bytes);
      continue;
    }
    module.bytes = checked_add(module.bytes, tensor.bytes);
    // The largest tensor is the weight; scales and zero points are smaller.
    const std::int64_t elements = checked_product(tensor.shape);
    if (elements > module.elements) {
      module.elements = elements;
      module.dtype = tensor.dtype;
    }
  }
  return std::optional<StoredWeights>(std::move(weights));
}

}  // namespace forerun
