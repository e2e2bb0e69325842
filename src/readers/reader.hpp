// The readers' interface: a file becomes a Network, a Network expands into a Graph for a binding of its free
// dimensions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "graph/graph.hpp"
#include "records/workload.hpp"

namespace forerun {

// A network as read, kept in memory without its weights. Immutable and safe to share between threads.
class Network {
 public:
  virtual ~Network() = default;
  // The graph to analyse. Files with a graph of their own return it with its free dimensions still named (analysis
  // binds them); configurations are expanded for the binding. The result has passed verify().
  [[nodiscard]] virtual Result<Graph> expand(const Binding& binding) const = 0;
  // True when the file holds the graph: expand() takes nothing from the binding but numbers for open_inputs().
  [[nodiscard]] virtual bool is_fixed_graph() const { return true; }
  // A graph of nothing but inputs, when the graph can be written only for numbers of their free dimensions: expand()
  // then expects all of them in the binding, by name. nullptr when it needs none.
  [[nodiscard]] virtual const Graph* open_inputs() const { return nullptr; }
  // What a configuration says its weights are in; nullopt when it does not say.
  [[nodiscard]] virtual std::optional<Precision> own_precision() const { return std::nullopt; }
};

// Reads MODEL: a file of a known format or a folder. The format is found from the content first, the name second.
// `stands_alone`: nothing beside the file may be looked at (an upload); tensors an ONNX file keeps elsewhere then count
// by the sizes its header states.
Result<std::unique_ptr<Network>> read_network(const std::string& path, bool stands_alone = false);
// The same from memory; `name` opens every message and names a graph that has no name of its own.
Result<std::unique_ptr<Network>> read_network_bytes(std::string_view bytes, const std::string& name);

}  // namespace forerun
