// safetensors: names, types and shapes of weights from a file's header, or from the shards an index names. The weights
// themselves are never touched. Format: 8 bytes little-endian header length, JSON header, data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "readers/format.hpp"

namespace forerun {

struct StoredTensor {
  std::string name;
  DType dtype = DType::Undefined;
  Dims shape;
  std::int64_t bytes = 0;
};

bool is_safetensors(const Source& source);
Result<std::unique_ptr<Network>> read_safetensors_source(const Source& source);

bool is_safetensors_index(const Source& source);
Result<std::unique_ptr<Network>> read_safetensors_index_source(const Source& source);

// The header of one file; `what` names it in errors. A file shorter than its tensors is noted in `warnings`.
Result<std::vector<StoredTensor>> read_safetensors_header(std::string_view bytes, const std::string& what,
                                                          std::vector<std::string>& warnings);
// The header of a file of a folder, of which nothing else is opened.
Result<std::vector<StoredTensor>> read_safetensors_file(const Folder& folder, const std::string& name,
                                                        std::vector<std::string>& warnings);
// Every tensor of the shards named by an index, which lie beside it.
Result<std::vector<StoredTensor>> read_safetensors_shards(std::string_view index, const std::string& what,
                                                          const Folder& folder, std::vector<std::string>& warnings);

// A graph that holds parameters and nothing that computes; it says so in its warnings.
[[nodiscard]] Graph graph_of_weights(const std::vector<StoredTensor>& tensors, std::string name, std::string format);

}  // namespace forerun
