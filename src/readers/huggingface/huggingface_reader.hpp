// Hugging Face configurations: config.json, a folder with one, or a shipped one, expanded into a graph per request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/format.hpp"
#include "readers/json_text.hpp"

namespace forerun {

bool is_huggingface(const Source& source);
Result<std::unique_ptr<Network>> read_huggingface_source(const Source& source);

bool is_adapter(const Source& source);  // a folder with a LoRA or another adapter and no network
Result<std::unique_ptr<Network>> read_adapter_source(const Source& source);

// What a checkpoint really stores, by module name ("model.layers.0.mlp.up_proj", without ".weight").
struct StoredModule {
  DType dtype = DType::Undefined;  // of the weight itself
  std::int64_t elements = 0;       // as the tensors are stored
  std::int64_t bytes = 0;          // of all tensors of the module but its bias: scales and zero points included
  std::int64_t bias_bytes = 0;
};
struct StoredWeights {
  std::string where;                   // named in warnings
  std::optional<Precision> precision;  // of most of the checkpoint's floating-point weights, where it is known
  std::map<std::string, StoredModule, std::less<>> modules;
  std::function<std::string(std::string_view)> rename;  // our module name -> the checkpoint's; empty = the same
};

// A configuration as parsed, with weights where they are at hand. `name` is the network's; `notes` become warnings.
Result<std::unique_ptr<Network>> make_huggingface_network(Json config, std::string name, std::string format,
                                                          std::optional<StoredWeights> weights = std::nullopt,
                                                          std::vector<std::string> notes = {});

}  // namespace forerun
