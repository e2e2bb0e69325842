// Turns GraphProtos into blocks of a Graph: names become indices, sub-graphs blocks, calls of local functions their
// bodies. Names are looked up from the inside out; a body sees the values of the graphs around it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "readers/onnx/messages.hpp"
#include "readers/onnx/read_context.hpp"
#include "readers/onnx/tensor.hpp"
#include "readers/onnx/type_info.hpp"

namespace forerun::onnx {

class GraphBuilder {
 public:
  GraphBuilder(Graph& graph, ReadContext& context) : graph_(graph), context_(context) {}

  // Functions come first: nodes of the graph call them.
  Status add_function(std::string_view message);
  Status build_main(std::string_view message);
  [[nodiscard]] bool uses_standard_operators() const { return uses_standard_operators_; }
  [[nodiscard]] bool has_metadata() const { return has_metadata_; }  // of any node

 private:
  // A name in a scope; `node` is its producer's place in that scope, -1 for inputs and initialisers.
  struct Definition {
    ValueId value = kNoValue;
    std::int32_t node = -1;
  };
  struct Scope {
    const Scope* parent = nullptr;
    std::int32_t owner = -1;  // the node of the parent scope whose body this is
    std::unordered_map<std::string_view, Definition> names;
    std::unordered_map<std::string_view, ValueId> results;  // of a function: values its caller has made for its outputs
  };
  struct Frame;
  // Where a piece of the file is being read: in which scope, inside which call, how deep.
  struct Place {
    const Scope* scope = nullptr;
    const Frame* frame = nullptr;
    std::int32_t node = -1;  // index of the node within the scope
    int depth = 0;           // graphs and calls around it
    std::int32_t block = 0;
  };
  // An attribute a call hands to its function, with the place to read it in.
  struct Argument {
    std::string_view message;
    Place place;
  };
  struct Frame {
    const FunctionMessage* function = nullptr;
    const Frame* caller = nullptr;
    std::string prefix;  // of names inside, so that expansions stay distinct
    std::unordered_map<std::string_view, Argument> arguments;
  };

  // graph_builder.cpp
  Result<std::int32_t> build_graph(std::string_view message, const Place& outer);
  Status add_initializer(std::string_view message, bool sparse, Scope& scope, const Frame* frame);
  Status add_inputs(const GraphMessage& message, Scope& scope, const Frame* frame, std::int32_t block);
  Status add_outputs(const GraphMessage& message, Scope& scope, const Place& inside);
  Status define_outputs(const std::vector<NodeMessage>& nodes, Scope& scope, const Frame* frame);
  Status add_types(const std::vector<std::string_view>& value_infos, const Scope& scope);
  Status add_nodes(const std::vector<NodeMessage>& nodes, const Place& inside);
  Status add_node(const NodeMessage& message, const Place& place);
  Result<ValueId> new_value(std::string_view name, const Frame* frame);
  [[nodiscard]] static const Definition* find(const Scope* scope, std::string_view name, std::int32_t node);
  [[nodiscard]] std::string describe(const NodeMessage& node) const;

  // attributes.cpp
  Status add_attribute(std::string_view message, std::string_view name, const Place& place, Node& node);
  Status add_tensor(const AttributeMessage& attribute, Node& node);
  Status set_constant(const AttributeMessage& attribute, Node& node);

  // functions.cpp
  [[nodiscard]] const FunctionMessage* find_function(const NodeMessage& node) const;
  Status inline_call(const NodeMessage& call, const FunctionMessage& function, const std::vector<ValueId>& inputs,
                     const std::vector<ValueId>& outputs, const Place& place);
  Status add_identity(ValueId from, ValueId to, std::int32_t block, const Frame& frame);

  Graph& graph_;
  ReadContext& context_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, FunctionMessage> functions_;
  std::unordered_map<const char*, ValueId> initializers_;  // by address in the file: stored once, whatever is expanded
  std::int64_t nodes_ = 0;                                 // of the file so far
  std::int64_t inlined_nodes_ = 0;                         // of expanded functions, calls included
  bool uses_standard_operators_ = false;
  bool has_metadata_ = false;
};

}  // namespace forerun::onnx
