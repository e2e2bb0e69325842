// One row per operator: its names, class, shape rule and cost rule.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun {

// Kind of work that a kernel of this operator does; predictors group by it.
enum class OpClass : std::uint8_t {
  Free,       // no kernel: views, constants, shape arithmetic
  Conv,       // dense convolutions
  MatMul,     // matrix products
  Attention,  // fused attention
  Recurrent,  // LSTM, GRU, RNN
  Norm,
  Softmax,
  Elementwise,
  Pool,
  Reduce,
  Embedding,  // gathers of rows
  Copy,       // concatenation, transposition, padding, …: bytes move, nothing is computed
  Control,    // If, Loop, Scan: the cost is that of their bodies
  Other,      // trees, sorting, strings, random numbers
  Count,
};
[[nodiscard]] std::string_view name_of(OpClass op_class);

class RuleContext;
using ShapeRule = Status (*)(RuleContext&);        // sets the outputs' types and shapes
using CostRule = void (*)(RuleContext&, OpCost&);  // sets macs and flops; bytes are counted by analysis

using FoldRule = void (*)(RuleContext&);  // sets the outputs' contents when the inputs' are known

struct OpSpec {
  OpKind kind;
  std::string_view name;
  std::string_view domain;  // "" = ai.onnx; "*" = any
  OpClass op_class;
  ShapeRule infer_shape;    // nullptr: only declared shapes are used
  CostRule count_cost;      // nullptr: the cost is not known
  FoldRule fold = nullptr;  // nullptr: contents never follow
};

[[nodiscard]] const OpSpec& spec_of(OpKind kind);
// The operator called `name` in `domain` ("" and "ai.onnx" are the same); Unknown when there is none.
[[nodiscard]] OpKind find_op(std::string_view domain, std::string_view name);

}  // namespace forerun
