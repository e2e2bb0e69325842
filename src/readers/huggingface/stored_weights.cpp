#include "readers/huggingface/stored_weights.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "readers/printable.hpp"
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

namespace {

constexpr std::string_view kEnd = ".safetensors";
constexpr std::string_view kIndexEnd = ".safetensors.index.json";

// Files of weights in the order they are looked for: model.safetensors before other names, a precision's variant last.
std::vector<std::string> names_of(const Folder& folder, std::string_view end) {
  std::vector<std::string> names;
  for (const FolderFile& file : folder.list_here()) {
    if (file.name.ends_with(end) && !file.name.starts_with("adapter_")) names.push_back(file.name);
  }
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    const auto rank = [&](const std::string& name) {
      if (name == "model" + std::string(end) || name == "diffusion_pytorch_model" + std::string(end)) return 0;
      return std::count(name.begin(), name.end() - std::ptrdiff_t(end.size()), '.') == 0 ? 1 : 2;
    };
    return rank(a) < rank(b);
  });
  return names;
}

// Packed and 8-bit weights have a precision beside them: that of the tensors that are not quantised.
std::optional<Precision> precision_of(const std::vector<StoredTensor>& tensors) {
  double fp32 = 0, fp16 = 0, bf16 = 0;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.dtype == DType::Float32) fp32 += double(tensor.bytes) / 4;
    if (tensor.dtype == DType::Float16) fp16 += double(tensor.bytes) / 2;
    if (tensor.dtype == DType::BFloat16) bf16 += double(tensor.bytes) / 2;
  }
  const double most = std::max({fp32, fp16, bf16});
  if (most == 0) return std::nullopt;
  return most == bf16 ? Precision::Bf16 : most == fp16 ? Precision::Fp16 : Precision::Fp32;
}

bool is_shard(std::string_view name) { return name.find("-of-") != std::string_view::npos; }

}  // namespace

Result<std::optional<StoredWeights>> find_stored_weights(const Folder& folder, std::vector<std::string>& notes) {
  std::vector<std::string> warnings;
  std::vector<StoredTensor> tensors;
  StoredWeights weights;
  const std::vector<std::string> indexes = names_of(folder, kIndexEnd), files = names_of(folder, kEnd);
  const bool has_shards = std::any_of(files.begin(), files.end(), is_shard);
  if (!indexes.empty() && has_shards) {
    FORERUN_TRY(const FileBytes index, folder.open(indexes[0]));
    FORERUN_TRY(tensors, read_safetensors_shards(index.view(), folder.path_of(indexes[0]), folder, warnings));
    weights.where = indexes[0];
  } else if (!files.empty() && !has_shards) {
    FORERUN_TRY(tensors, read_safetensors_file(folder, files[0], warnings));
    weights.where = files[0];
    if (files.size() > 1)
      notes.push_back("weights are those of " + in_quotes(files[0]) +
                      "; the folder has others: " + in_quotes(files[1]));
  } else if (has_shards) {  // without an index every shard belongs to the network
    for (const std::string& file : files) {
      FORERUN_TRY(auto part, read_safetensors_file(folder, file, warnings));
      tensors.insert(tensors.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    }
    weights.where = files[0] + " and the other shards";
  } else {
    if (!indexes.empty())
      notes.push_back("the shards that " + in_quotes(indexes[0]) +
                      " names are not beside it: sizes of weights follow the configuration");
    return std::optional<StoredWeights>();
  }
  weights.precision = precision_of(tensors);
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
