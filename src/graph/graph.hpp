// The graph every reader produces and every pass works on. Plain data; nodes and values refer to each other by index.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "graph/dtype.hpp"
#include "graph/op_kind.hpp"
#include "graph/rank_message.hpp"
#include "graph/transformer_facts.hpp"

namespace forerun {

using Dims = std::vector<std::int64_t>;  // a dimension is >= 0, or kUnknownDim
inline constexpr std::int64_t kUnknownDim = -1;

using ValueId = std::int32_t;  // index into Graph::values
using NodeId = std::int32_t;   // index into Block::nodes
inline constexpr std::int32_t kNoModule = -1;
inline constexpr ValueId kNoValue = -1;  // an optional input or output that is left out

// Contents of a small constant (shape arithmetic needs them). Integers and booleans are kept as integers.
struct Literal {
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  bool operator==(const Literal&) const = default;
};
inline constexpr std::int64_t kMaxLiteralElements = 4096;

enum class ValueForm : std::uint8_t { Tensor, Sequence, Optional, Map, Sparse };

// What a value is to the network. Readers set it.
enum class ValueRole : std::uint8_t {
  Computed,  // a node's output
  Input,     // given by the caller in every run
  Cache,     // state carried from run to run (keys, values, recurrent states): an input that the network also returns
  Weight,    // stored in the file and counted as a parameter: floating-point or quantised
  Constant,  // stored in the file, not a parameter: indices, shapes, buffers
};

struct Value {
  std::string name;
  DType dtype = DType::Undefined;
  ValueForm form = ValueForm::Tensor;
  bool has_shape = false;
  ValueRole role = ValueRole::Computed;
  bool has_folded_norm = false;  // a weight into which the exporter folded a batch normalisation
  bool wants_gradient = false;   // an input that training differentiates for, as it does for weights
  bool is_constant = false;      // follows from stored values alone: computed once, not an activation (set by analysis)
  Dims dims;                     // meaningful only when has_shape
  std::vector<std::string> dim_names;  // names of free dimensions, by position; empty when there are none
  std::optional<Literal> literal;
  std::optional<std::vector<Dims>> elements;  // of a sequence: each element's shape, when all are known
  std::int64_t stored_bytes =
      -1;  // exact size in the file where it differs from dims x dtype (block-quantised weights)
};

using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                    std::vector<std::string>>;
struct Attribute {
  std::string name;
  AttributeValue value;
};

// What one node costs; filled by analysis::count_costs. Definitions: CONTRACT of the report ("macs", "flops", …).
struct OpCost {
  std::int64_t macs = 0;
  std::int64_t flops = 0;
  std::int64_t parameters = 0;    // of initializers first used by this node
  std::int64_t weight_bytes = 0;  // bytes of initializers this node reads
  std::int64_t bytes_read = 0;    // weights included
  std::int64_t bytes_written = 0;
  bool known = false;
};

struct Node {
  OpKind kind = OpKind::Unknown;
  std::string op_type;  // as the file calls it, e.g. "Conv"
  std::string domain;   // "" for the standard operators
  std::string name;
  std::int32_t module = kNoModule;  // index into Graph::modules
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attribute> attributes;
  std::vector<std::pair<std::string, std::int32_t>> blocks;  // attribute name -> index into Graph::blocks
  OpCost cost;
  bool needed = true;  // whether a result of the network depends on it; other nodes run but have no gradient (set by
                       // analysis, in the main block)
};

// A list of nodes in execution order. Block 0 is the network; the others are bodies of If, Loop, Scan, …. A body uses
// values of its outer blocks directly: the value table is one for all blocks.
struct Block {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;  // without initializers
  std::vector<ValueId> outputs;
  std::int64_t runs = 1;  // how often it is executed in one pass; 0 for the branch of an If that is not counted
};

enum class Framework : std::uint8_t { Unknown, PyTorch, TensorFlow, PaddlePaddle, Count };

// How a graph came to be.
enum class GraphForm : std::uint8_t {
  Recorded,    // the file holds the graph: traced, scripted or saved by a framework
  WrittenOut,  // the reader wrote it out from a configuration, for one binding, as Hugging Face's code runs it
  WeightsOnly  // the file holds tensors and no graph: nothing can run
};

enum class NetworkTask : std::uint8_t { Unknown, Vision, Language, Count };

// Where a graph comes from. Later stages decide by these fields, never by names.
struct Origin {
  Framework framework = Framework::Unknown;
  std::string exporter;  // program and version as the file says; a configuration's model_type
  GraphForm form = GraphForm::Recorded;
  NetworkTask task = NetworkTask::Unknown;
  bool has_call_paths = false;  // recorded with nested module calls, whose callers hold their arguments (Node::module)
};

struct Graph {
  std::string name;
  std::string format;  // the file's format as shown to users; nothing is decided by it
  Origin origin;
  std::int64_t opset = 0;  // version of the standard operators; 0 when the format has none
  std::vector<Value> values;
  std::vector<Block> blocks;         // never empty; blocks[0] is the network
  std::vector<std::string> modules;  // call paths of modules, parts separated by '/'; a path may stand more than once
  std::vector<std::string> warnings;
  std::vector<RankMessage> messages;  // of a graph written out for one rank: those of one forward pass
  std::vector<NodeId> layer_starts;   // first node of each layer of the main block, and the one after the last layer;
                                      // empty where the reader knows no layers
  std::optional<TransformerFacts> transformer;  // what a transformer's configuration states
  std::optional<WrittenRun> written_run;        // only where origin.form is WrittenOut
  std::vector<std::string> bound_dims;          // names of dimensions that the reader bound while it wrote the graph

  [[nodiscard]] Block& main() { return blocks.front(); }
  [[nodiscard]] const Block& main() const { return blocks.front(); }
};

// Attribute access. An attribute of another type than asked for counts as absent.
[[nodiscard]] const Attribute* find_attribute(const Node& node, std::string_view name);
[[nodiscard]] std::int64_t int_attribute(const Node& node, std::string_view name, std::int64_t fallback);
[[nodiscard]] double real_attribute(const Node& node, std::string_view name, double fallback);
[[nodiscard]] std::string_view text_attribute(const Node& node, std::string_view name, std::string_view fallback);
[[nodiscard]] std::span<const std::int64_t> ints_attribute(const Node& node, std::string_view name);

// Notes the module a node ran in. Nodes of one module mostly follow each other: they share its path.
void set_module(Graph& graph, Node& node, std::string_view path);
// "" where it is not known.
[[nodiscard]] std::string_view module_of(const Graph& graph, const Node& node);

// Stored in the file: a weight or a constant.
[[nodiscard]] inline bool is_stored(const Value& value) {
  return value.role == ValueRole::Weight || value.role == ValueRole::Constant;
}
[[nodiscard]] inline bool is_weight(const Value& value) { return value.role == ValueRole::Weight; }

// Elements and bytes of a value; 0 when its shape is unknown. Saturate at kSizeLimit.
[[nodiscard]] std::int64_t elements_of(const Value& value);
[[nodiscard]] std::int64_t bytes_of(const Value& value);

// Sorts every block into execution order (stable where it already is) and checks that indices are valid, that every
// value has one producer, that there is no cycle, that roles fit the blocks' inputs and that stored values have the
// contents they say. Errors name the node. Attributes that contradict themselves become warnings. See docs/ir.md.
Status verify(Graph& graph);

}  // namespace forerun
