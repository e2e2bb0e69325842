// The networks that ship with the program: configurations of data/networks and the example graphs beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "readers/reader.hpp"

namespace forerun {

struct ShippedNetwork {
  std::string name;          // "llama-3-8b"
  std::string architecture;  // "llama", or "onnx" for an example graph
  std::string task;          // "causal", "encoder", "seq2seq", "vision"
  std::optional<std::int64_t> published_parameters;
  std::string license;
  std::string source;
};

[[nodiscard]] const std::vector<ShippedNetwork>& list_networks();  // sorted by name
[[nodiscard]] bool is_shipped_network(std::string_view name);
// The network called `name`; the error names the nearest ones.
Result<std::unique_ptr<Network>> find_network(std::string_view name);
// Its file's text: the configuration; empty for an example graph. REQUIRES: is_shipped_network(name)
[[nodiscard]] std::string_view network_text(std::string_view name);

}  // namespace forerun
