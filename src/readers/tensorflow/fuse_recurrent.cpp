// A body is a cell when it takes one item of a sequence, multiplies it and the state with one stored matrix each, has
// the cell's number of sigmoids and tanhs, and does nothing but add, multiply and cut besides. Then its loop is
// replaced.
#include "readers/tensorflow/fuse_recurrent.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/checked.hpp"

namespace forerun::tensorflow {
namespace {

struct CellKind {
  OpKind kind;
  const char* name;
  std::int64_t gates;
  int sigmoids, tanhs, states;
};
constexpr std::array kCells = {
    CellKind{OpKind::LSTM, "LSTM", 4, 3, 2, 2},
    CellKind{OpKind::GRU, "GRU", 3, 2, 1, 1},
    CellKind{OpKind::RNN, "RNN", 1, 0, 1, 1},
};

constexpr std::array kCellOperators = {
    OpKind::Add,     OpKind::Sub,      OpKind::Mul,  OpKind::Split,  OpKind::Slice, OpKind::Squeeze, OpKind::Unsqueeze,
    OpKind::Reshape, OpKind::Identity, OpKind::Cast, OpKind::Concat, OpKind::Less,  OpKind::And};

struct Cell {
  const CellKind* kind = nullptr;
  std::int64_t hidden = 0, inputs = 0;
  ValueId sequence = kNoValue;                                     // of the block around: [steps, batch, inputs]
  ValueId input_weights = kNoValue, recurrent_weights = kNoValue;  // the same where one matrix takes both
  std::vector<ValueId> biases;
  std::size_t hidden_state = 0;           // place among the loop's carried values
  std::optional<std::size_t> cell_state;  // of an LSTM
};

class LoopReader {
 public:
  LoopReader(const Graph& graph, const Node& loop, const Block& body)
      : graph_(graph), loop_(loop), body_(body), makers_(graph.values.size(), nullptr) {
    for (const Node& node : body.nodes) {
      for (const ValueId id : node.outputs) {
        if (id != kNoValue) makers_[std::size_t(id)] = &node;
      }
    }
  }

  std::optional<Cell> read() {
    // Inputs of a Loop: trip count, condition, carried values; of its body: iteration, condition, carried values.
    if (loop_.inputs.size() < 3 || loop_.inputs[0] == kNoValue || body_.inputs.size() != loop_.inputs.size() ||
        body_.outputs.size() + 1 < body_.inputs.size())
      return std::nullopt;
    if (!sort_nodes() || products_.empty() || products_.size() > 2 || item_ == nullptr) return std::nullopt;
    Cell cell;
    cell.sequence = item_->inputs[0];
    for (const CellKind& kind : kCells) {
      if (kind.sigmoids == sigmoids_ && kind.tanhs == tanhs_) cell.kind = &kind;
    }
    if (cell.kind == nullptr || !read_products(cell) || !read_states(cell) || !read_biases(cell)) return std::nullopt;
    return has_only_states(cell) ? std::optional(cell) : std::nullopt;
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[std::size_t(id)]; }
  const Node* maker(ValueId id) const { return id == kNoValue ? nullptr : makers_[std::size_t(id)]; }

  bool sort_nodes() {
    for (const Node& node : body_.nodes) {
      switch (node.kind) {
        case OpKind::Sigmoid: ++sigmoids_; break;
        case OpKind::Tanh: ++tanhs_; break;
        case OpKind::MatMul:
        case OpKind::Gemm: products_.push_back(&node); break;
        case OpKind::Gather:
          if (item_ != nullptr || !is_item(node)) return false;
          item_ = &node;
          break;
        default:
          if (std::find(kCellOperators.begin(), kCellOperators.end(), node.kind) == kCellOperators.end()) return false;
      }
    }
    return true;
  }

  // Row `counter` of a sequence that the loop does not change.
  bool is_item(const Node& node) const {
    if (node.inputs.size() != 2 || node.inputs[0] == kNoValue || int_attribute(node, "axis", 0) != 0) return false;
    const Value& sequence = value(node.inputs[0]);
    return maker(node.inputs[0]) == nullptr && carried(node.inputs[0]) == std::nullopt && !is_stored(sequence) &&
           sequence.has_shape && sequence.dims.size() == 3 && carried(origin(node.inputs[1])) != std::nullopt;
  }

  // Through what moves nothing.
  ValueId origin(ValueId id) const {
    for (int hops = 0; hops < 8; ++hops) {
      const Node* made = maker(id);
      if (made == nullptr || made->inputs.empty() ||
          (made->kind != OpKind::Identity && made->kind != OpKind::Cast && made->kind != OpKind::Reshape &&
           made->kind != OpKind::Squeeze && made->kind != OpKind::Unsqueeze))
        break;
      id = made->inputs[0];
    }
    return id;
  }

  // The place of a body's parameter among the carried values.
  std::optional<std::size_t> carried(ValueId id) const {
    for (std::size_t i = 2; i < body_.inputs.size(); ++i) {
      if (body_.inputs[i] == id) return i - 2;
    }
    return std::nullopt;
  }

  bool is_the_item(ValueId id) const { return maker(origin(id)) == item_; }

  // Rows of a stored matrix, which has `gates * hidden` columns; 0 when it is none.
  std::int64_t rows_of(const Node& product, Cell& cell) const {
    if (product.inputs.size() < 2 || product.inputs[0] == kNoValue || product.inputs[1] == kNoValue) return 0;
    const Value& matrix = value(origin(product.inputs[1]));
    if (!is_stored(matrix) || !matrix.has_shape || matrix.dims.size() != 2) return 0;
    const bool is_transposed = int_attribute(product, "transB", 0) != 0;
    const std::int64_t columns = matrix.dims[is_transposed ? 0 : 1];
    if (columns <= 0 || columns % cell.kind->gates != 0) return 0;
    const std::int64_t hidden = columns / cell.kind->gates;
    if (cell.hidden != 0 && cell.hidden != hidden) return 0;
    cell.hidden = hidden;
    return matrix.dims[is_transposed ? 1 : 0];
  }

  bool read_products(Cell& cell) {
    cell.inputs = value(cell.sequence).dims.back();
    for (const Node* product : products_) {
      const std::int64_t rows = rows_of(*product, cell);
      if (rows == 0) return false;
      const ValueId weights = origin(product->inputs[1]);
      const Node* joined = maker(origin(product->inputs[0]));
      if (products_.size() == 1) {  // of the item and the state, one behind the other
        if (joined == nullptr || joined->kind != OpKind::Concat || joined->inputs.size() != 2 ||
            rows != checked_add(cell.inputs, cell.hidden) || !is_the_item(joined->inputs[0]))
          return false;
        const auto state = carried(origin(joined->inputs[1]));
        if (!state) return false;
        cell.hidden_state = *state;
        cell.input_weights = cell.recurrent_weights = weights;
      } else if (is_the_item(product->inputs[0])) {
        if (cell.input_weights != kNoValue || rows != cell.inputs) return false;
        cell.input_weights = weights;
      } else {
        const auto state = carried(origin(product->inputs[0]));
        if (!state || cell.recurrent_weights != kNoValue || rows != cell.hidden) return false;
        cell.hidden_state = *state;
        cell.recurrent_weights = weights;
      }
    }
    return cell.input_weights != kNoValue && cell.recurrent_weights != kNoValue;
  }

  // Of the carried values, floating-point matrices are states; the others count steps.
  bool read_states(Cell& cell) const {
    int states = 0;
    for (std::size_t i = 2; i < body_.inputs.size(); ++i) {
      const Value& one = value(body_.inputs[i]);
      if (!is_floating(one.dtype)) continue;
      if (!one.has_shape || one.dims.size() != 2 || one.dims[1] != cell.hidden) return false;
      ++states;
      if (i - 2 != cell.hidden_state) cell.cell_state = i - 2;
    }
    return states == cell.kind->states && cell.cell_state.has_value() == (states == 2);
  }

  bool read_biases(Cell& cell) const {
    const std::int64_t width = checked_mul(cell.kind->gates, cell.hidden);
    std::int64_t elements = 0;
    const auto look = [&](ValueId id) {
      if (id == kNoValue || maker(id) != nullptr || carried(id)) return true;
      const Value& one = value(id);
      if (id == cell.sequence || id == cell.input_weights || id == cell.recurrent_weights || !is_floating(one.dtype))
        return true;
      if (!is_stored(one) || !one.has_shape) return false;  // something else enters the cell
      if (elements_of(one) <= 1) return true;               // the 1 of "1 - z"
      if (std::find(cell.biases.begin(), cell.biases.end(), id) == cell.biases.end()) {
        cell.biases.push_back(id);
        elements = checked_add(elements, elements_of(one));
      }
      return true;
    };
    for (const Node& node : body_.nodes) {
      if (!std::all_of(node.inputs.begin(), node.inputs.end(), look)) return false;
    }
    return elements == 0 || elements == width || elements == checked_mul(2, width);
  }

  // Whatever the loop stacks is the hidden state.
  bool has_only_states(const Cell& cell) const {
    const ValueId hidden = body_.outputs[cell.hidden_state + 1];
    for (std::size_t i = body_.inputs.size() - 1; i < body_.outputs.size(); ++i) {
      if (origin(body_.outputs[i]) != origin(hidden)) return false;
    }
    return maker(hidden) != nullptr;
  }

  const Graph& graph_;
  const Node& loop_;
  const Block& body_;
  std::vector<const Node*> makers_;  // by value: the node of the body that made it
  std::vector<const Node*> products_;
  const Node* item_ = nullptr;
  int sigmoids_ = 0, tanhs_ = 0;
};

class Replacing {
 public:
  explicit Replacing(Graph& graph) : graph_(graph) {}

  void run() {
    for (std::size_t b = 0; b < graph_.blocks.size(); ++b) {
      for (std::size_t n = 0; n < graph_.blocks[b].nodes.size(); ++n) {
        const Node& loop = graph_.blocks[b].nodes[n];
        if (loop.kind != OpKind::Loop || loop.blocks.size() != 1) continue;
        const std::int32_t body = loop.blocks.front().second;
        const auto cell = LoopReader(graph_, loop, graph_.blocks[std::size_t(body)]).read();
        if (cell && may_replace(loop, graph_.blocks[std::size_t(body)], *cell)) replace(b, n, body, *cell);
      }
    }
  }

 private:
  std::vector<std::int32_t> count_uses() const {
    std::vector<std::int32_t> uses(graph_.values.size(), 0);
    const auto use = [&](ValueId id) {
      if (id != kNoValue) ++uses[std::size_t(id)];
    };
    for (const Block& block : graph_.blocks) {
      for (const Node& node : block.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), use);
      std::for_each(block.outputs.begin(), block.outputs.end(), use);
    }
    return uses;
  }

  // Counters of steps end with the loop.
  bool may_replace(const Node& loop, const Block& body, const Cell& cell) const {
    const std::vector<std::int32_t> uses = count_uses();
    const std::size_t carried = body.inputs.size() - 2;
    for (std::size_t i = 0; i < std::min(carried, loop.outputs.size()); ++i) {
      const ValueId id = loop.outputs[i];
      if (i == cell.hidden_state || (cell.cell_state && i == *cell.cell_state) || id == kNoValue) continue;
      if (uses[std::size_t(id)] > 0) return false;
    }
    return true;
  }

  ValueId stored(ValueId like, Dims dims) {
    Value made = graph_.values[std::size_t(like)];
    made.dims = std::move(dims);
    made.literal.reset();
    graph_.values.push_back(std::move(made));
    return ValueId(graph_.values.size() - 1);
  }
  ValueId computed(DType type, Dims dims) {
    Value made;
    made.dtype = type;
    made.has_shape = true;
    made.dims = std::move(dims);
    graph_.values.push_back(std::move(made));
    return ValueId(graph_.values.size() - 1);
  }
  ValueId axis(std::int64_t at) {
    Value made;
    made.dtype = DType::Int64;
    made.role = ValueRole::Constant;
    made.has_shape = true;
    made.dims = {1};
    made.literal = Literal{{at}, {}};
    graph_.values.push_back(std::move(made));
    return ValueId(graph_.values.size() - 1);
  }
  Node around(const Node& loop, OpKind kind, const char* type, std::vector<ValueId> inputs, ValueId output) const {
    Node made;
    made.kind = kind;
    made.op_type = type;
    made.name = loop.name;
    made.module = loop.module;
    made.inputs = std::move(inputs);
    made.outputs = {output};
    return made;
  }

  // A state that starts as something other than stored zeros.
  ValueId initial_state(const Node& loop, std::size_t place, std::vector<Node>& nodes) {
    const ValueId id = loop.inputs[place + 2];
    if (id == kNoValue || is_stored(graph_.values[std::size_t(id)]) || !graph_.values[std::size_t(id)].has_shape)
      return kNoValue;
    const Value& state = graph_.values[std::size_t(id)];
    Dims dims = state.dims;
    dims.insert(dims.begin(), 1);
    const ValueId whole = computed(state.dtype, std::move(dims));
    nodes.push_back(around(loop, OpKind::Unsqueeze, "Unsqueeze", {id, axis(0)}, whole));
    return whole;
  }

  void replace(std::size_t block, std::size_t at, std::int32_t body, const Cell& cell) {
    const Node loop = graph_.blocks[block].nodes[at];
    const std::size_t carried = graph_.blocks[std::size_t(body)].inputs.size() - 2;
    const Value sequence = graph_.values[std::size_t(cell.sequence)];
    const std::int64_t width = checked_mul(cell.kind->gates, cell.hidden);
    std::vector<Node> made;
    std::vector<ValueId> inputs = {cell.sequence, stored(cell.input_weights, {1, width, cell.inputs}),
                                   stored(cell.recurrent_weights, {1, width, cell.hidden})};
    std::int64_t biases = 0;
    for (const ValueId id : cell.biases) biases = checked_add(biases, elements_of(graph_.values[std::size_t(id)]));
    inputs.push_back(biases == 0 ? kNoValue : stored(cell.biases.front(), {1, biases}));
    inputs.push_back(kNoValue);  // lengths of sequences
    inputs.push_back(initial_state(loop, cell.hidden_state, made));
    if (cell.cell_state) inputs.push_back(initial_state(loop, *cell.cell_state, made));
    while (inputs.back() == kNoValue) inputs.pop_back();

    const std::int64_t steps = sequence.dims[0], batch = sequence.dims[1];
    const ValueId all = computed(sequence.dtype, {steps, 1, batch, cell.hidden});
    Node node = around(loop, cell.kind->kind, cell.kind->name, std::move(inputs), all);
    node.attributes = {
        {"hidden_size", cell.hidden}, {"direction", std::string("forward")}, {"layout", std::int64_t{0}}};
    if (cell.kind->kind == OpKind::GRU) node.attributes.push_back({"linear_before_reset", std::int64_t{1}});
    std::vector<Node> after;
    for (const auto place : {std::optional(cell.hidden_state), cell.cell_state}) {
      if (!place) continue;
      const ValueId last = computed(sequence.dtype, {1, batch, cell.hidden});
      node.outputs.push_back(last);
      after.push_back(around(loop, OpKind::Squeeze, "Squeeze", {last, axis(0)}, loop.outputs[*place]));
    }
    made.push_back(std::move(node));
    for (std::size_t i = carried; i < loop.outputs.size(); ++i)
      after.push_back(around(loop, OpKind::Squeeze, "Squeeze", {all, axis(1)}, loop.outputs[i]));
    for (Node& one : after) made.push_back(std::move(one));

    erase_block(body);
    std::vector<Node>& nodes = graph_.blocks[block].nodes;
    nodes.erase(nodes.begin() + std::ptrdiff_t(at));
    nodes.insert(nodes.begin() + std::ptrdiff_t(at), std::make_move_iterator(made.begin()),
                 std::make_move_iterator(made.end()));
    remove_unread(block, loop);
  }

  void erase_block(std::int32_t gone) {
    for (const ValueId id : graph_.blocks[std::size_t(gone)].inputs)
      graph_.values[std::size_t(id)].role = ValueRole::Computed;
    graph_.blocks.erase(graph_.blocks.begin() + gone);
    for (Block& block : graph_.blocks) {
      for (Node& node : block.nodes) {
        for (auto& [name, body] : node.blocks) body -= body > gone ? 1 : 0;
      }
    }
  }

  // What only the loop read, and squeezes of results that nothing reads.
  void remove_unread(std::size_t block, const Node& loop) {
    std::vector<std::int32_t> uses = count_uses();
    std::vector<Node>& nodes = graph_.blocks[block].nodes;
    std::vector<bool> is_candidate(graph_.values.size(), false);
    for (const std::vector<ValueId>* ids : {&loop.inputs, &loop.outputs}) {
      for (const ValueId id : *ids) {
        if (id != kNoValue) is_candidate[std::size_t(id)] = true;
      }
    }
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const auto unread = [&](ValueId id) { return id == kNoValue || uses[std::size_t(id)] == 0; };
      const auto candidate = [&](ValueId id) { return id != kNoValue && is_candidate[std::size_t(id)]; };
      const Node& node = nodes[i];
      if (!node.blocks.empty() || !std::all_of(node.outputs.begin(), node.outputs.end(), unread) ||
          !std::any_of(node.outputs.begin(), node.outputs.end(), candidate))
        continue;
      for (const ValueId id : node.inputs) {
        if (id == kNoValue) continue;
        --uses[std::size_t(id)];
        is_candidate[std::size_t(id)] = true;
      }
      nodes.erase(nodes.begin() + std::ptrdiff_t(i));
    }
  }

  Graph& graph_;
};

}  // namespace

void fuse_recurrent_loops(Graph& graph) { Replacing(graph).run(); }

}  // namespace forerun::tensorflow
