// Shape inference with constant folding, through the bodies of control flow.
#include "analysis/infer_shapes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/analyze.hpp"
#include "base/checked.hpp"
#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxWarnings = 20;

class Inference {
 public:
  Inference(Graph& graph, const InferenceHooks& hooks) : graph_(graph), hooks_(hooks) {}

  void run() {
    for (Value& value : graph_.values) {
      if (is_stored(value)) value.is_constant = true;
    }
    for (Block& one : graph_.blocks) {
      for (Node& node : one.nodes) {
        if (is_whole(node)) continue;
        warn(node.op_type + " '" + node.name + "': lacks an operand or a result");
        node.kind = OpKind::Unknown;
      }
    }
    infer_block(0);
    for (const auto& [text, alike] : alike_) {
      if (alike.more == 0) continue;
      graph_.warnings[alike.place] += " (and of " + std::to_string(alike.more) + " more " + alike.op_type +
                                      (alike.more == 1 ? " node)" : " nodes)");
    }
    if (suppressed_ > 0) graph_.warnings.push_back("… and " + std::to_string(suppressed_) + " more");
  }

 private:
  Value& value(ValueId id) { return graph_.values[std::size_t(id)]; }
  Block& block(std::int32_t index) { return graph_.blocks[std::size_t(index)]; }

  void warn(std::string message) {
    if (!seen_.insert(message).second) return;
    if (seen_.size() > kMaxWarnings) {
      ++suppressed_;
    } else {
      graph_.warnings.push_back(std::move(message));
    }
  }

  // A fault shared by many nodes is reported once, with the first node's name and a count. `what`: the message without
  // the node's name; `key`: messages with the same key are joined.
  void warn_alike(const Node& node, const std::string& what, const std::string& key) {
    const auto [known, is_new] = alike_.try_emplace(node.op_type + key);
    if (!is_new && !known->second.nodes.insert(&node).second) return;  // a body that was inferred before
    if (is_new) {
      const std::size_t count = graph_.warnings.size();
      warn(node.op_type + (node.name.empty() ? "" : " '" + node.name + "'") + ": " + what);
      if (graph_.warnings.size() == count) {
        alike_.erase(known);
      } else {
        known->second = {count, 0, node.op_type, {&node}};
      }
    } else {
      ++known->second.more;
    }
  }

  void infer_block(std::int32_t index) {
    // Indices, not references: bodies are inferred in between.
    for (std::size_t i = 0; i < block(index).nodes.size(); ++i) infer_node(block(index).nodes[i]);
  }

  // Later passes rely on the required operands of a kind; a node without them becomes Unknown.
  static bool is_whole(const Node& node) {
    std::size_t operands = 1;
    const OpClass op_class = spec_of(node.kind).op_class;
    switch (node.kind) {
      case OpKind::Conv:
      case OpKind::ConvTranspose:
      case OpKind::MatMul:
      case OpKind::Gemm:
      case OpKind::Add:
      case OpKind::Sub:
      case OpKind::Mul:
      case OpKind::Div:
      case OpKind::Pow: operands = 2; break;
      case OpKind::Identity:
      case OpKind::Dropout:
      case OpKind::Flatten:
      case OpKind::Reshape:
      case OpKind::Squeeze:
      case OpKind::Unsqueeze: break;
      default:
        if (op_class == OpClass::Free || op_class == OpClass::Control || op_class == OpClass::Other) return true;
    }
    const auto present = [](const std::vector<ValueId>& values, std::size_t count) {
      return values.size() >= count && std::all_of(values.begin(), values.begin() + std::ptrdiff_t(count),
                                                   [](ValueId id) { return id != kNoValue; });
    };
    const bool any_result = op_class == OpClass::Recurrent || node.kind == OpKind::Split;
    return present(node.inputs, operands) && (any_result || present(node.outputs, 1));
  }

  void infer_node(Node& node) {
    const OpSpec& spec = spec_of(node.kind);
    if (!node.blocks.empty() && !infer_control(node)) {
      for (const auto& [name, body] : node.blocks) infer_block(body);  // bodies of other operators: as declared
    }
    if (hooks_.before) hooks_.before(node);
    RuleContext context(graph_, node);
    bool fits = true;
    if (spec.infer_shape != nullptr) {
      const bool has_declared = keep_declared(node);
      if (const Status status = spec.infer_shape(context); !status) {
        warn_of_failure(node, status.error().message, has_declared);
        fits = false;
      }
    }
    if (spec.fold != nullptr && fits) spec.fold(context);  // contents follow only from operands that fit
    mark_constants(node);
    if (hooks_.after) hooks_.after(node);
    check_outputs(node, spec);
  }

  // Keeps the first result's declared shape in declared_; false where it has none or an incomplete one.
  bool keep_declared(const Node& node) {
    if (node.outputs.empty() || node.outputs[0] == kNoValue) return false;
    const Value& result = value(node.outputs[0]);
    if (!result.has_shape) return false;
    declared_.assign(result.dims.begin(), result.dims.end());
    return std::all_of(declared_.begin(), declared_.end(), [](std::int64_t d) { return d >= 0; });
  }

  // Where a rule fails, the shape that the file declares stands, and inference goes on from it.
  void warn_of_failure(const Node& node, std::string what, bool has_declared) {
    const std::string prefix = node.op_type + (node.name.empty() ? "" : " '" + node.name + "'") + ": ";
    if (what.starts_with(prefix)) what.erase(0, prefix.size());
    if (has_declared && value(node.outputs[0]).dims == declared_ && what.find("assumed") == std::string::npos) {
      what += "; its declared shape " + text_of(declared_) + " is assumed";
    }
    if (hooks_.failed) hooks_.failed(node, what);
    warn_alike(node, what, what);
  }

  // Outputs that follow from constants alone are computed once, before the network runs.
  void mark_constants(const Node& node) {
    const bool source = node.kind == OpKind::Constant;
    const bool random = spec_of(node.kind).op_class == OpClass::Other || !node.blocks.empty();
    bool constant = source || (!node.inputs.empty() && !random && node.kind != OpKind::Unknown);
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && !value(input).is_constant) constant = false;
    }
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      Value& result = value(output);
      result.is_constant = constant || (result.literal.has_value() && result.has_shape);
    }
  }

  void check_outputs(const Node& node, const OpSpec& spec) {
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      Value& result = value(output);
      if (result.has_shape &&
          std::any_of(result.dims.begin(), result.dims.end(), [](std::int64_t d) { return d < 0; })) {
        result.has_shape = false;
      }
      if (result.has_shape || result.form != ValueForm::Tensor || result.dtype == DType::String) continue;
      if (node.kind == OpKind::Unknown) {
        warn("operator " + (node.domain.empty() ? "" : node.domain + "::") + node.op_type +
             " is unknown: its shape and cost are not counted");
      } else if (spec.op_class == OpClass::Control || known_inputs(node)) {
        warn_alike(node, "the shape of '" + result.name + "' is known only at run time", "known only at run time");
      }
    }
  }

  bool known_inputs(const Node& node) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id == kNoValue || value(id).has_shape || value(id).form != ValueForm::Tensor;
    });
  }

  // Copies type and shape, not contents.
  void assign(ValueId to, const Value& from) {
    if (to == kNoValue) return;
    Value& target = value(to);
    if (from.dtype != DType::Undefined) target.dtype = from.dtype;
    target.form = from.form;
    if (from.has_shape) {
      target.has_shape = true;
      target.dims = from.dims;
    }
  }

  bool infer_control(Node& node) {
    switch (node.kind) {
      case OpKind::If: infer_if(node); return true;
      case OpKind::Loop: infer_loop(node); return true;
      case OpKind::Scan: infer_scan(node); return true;
      case OpKind::SequenceMap: infer_sequence_map(node); return true;
      default: return false;
    }
  }

  static std::int32_t body_of(const Node& node, std::string_view name) {
    for (const auto& [attribute, index] : node.blocks) {
      if (attribute == name) return index;
    }
    return node.blocks.front().second;
  }

  void infer_if(Node& node) {
    const std::int32_t yes = body_of(node, "then_branch");
    const std::int32_t no = body_of(node, "else_branch");
    infer_block(yes);
    if (no != yes) infer_block(no);
    const Literal* condition = nullptr;
    if (!node.inputs.empty() && node.inputs[0] != kNoValue && value(node.inputs[0]).literal) {
      condition = &*value(node.inputs[0]).literal;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto result = [&](std::int32_t body) -> const Value* {
        const auto& outputs = block(body).outputs;
        return i < outputs.size() && outputs[i] != kNoValue ? &value(outputs[i]) : nullptr;
      };
      const Value* first = result(yes);
      const Value* second = result(no);
      const bool known = condition != nullptr && condition->ints.size() == 1;
      if (known && condition->ints[0] == 0) std::swap(first, second);
      // Unknown condition: the larger result, which is what memory must hold.
      if (!known && first != nullptr && second != nullptr &&
          (!first->has_shape || (second->has_shape && elements_of(*second) > elements_of(*first)))) {
        std::swap(first, second);
      }
      if (first != nullptr) assign(node.outputs[i], *first);
    }
  }

  void set_trips(Node& node, std::int32_t body, std::optional<std::int64_t> trips) {
    if (!trips) warn(node.op_type + " '" + node.name + "': the trip count is known only at run time; counted once");
    block(body).runs = std::clamp<std::int64_t>(trips.value_or(1), 0, kSizeLimit);
  }

  void infer_loop(Node& node) {
    const std::int32_t body = body_of(node, "body");
    const std::vector<ValueId> inputs = block(body).inputs;
    std::optional<std::int64_t> trips;
    if (!node.inputs.empty() && node.inputs[0] != kNoValue) {
      const auto& literal = value(node.inputs[0]).literal;
      if (literal && literal->ints.size() == 1 && literal->ints[0] >= 0) trips = literal->ints[0];
    }
    // A Loop whose bound is "forever" ends by its condition.
    if (trips && *trips > (std::int64_t{1} << 40)) trips.reset();
    set_trips(node, body, trips);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i < 2) {
        Value& special = value(inputs[i]);
        special.dtype = i == 0 ? DType::Int64 : DType::Bool;
        if (!special.has_shape) special.dims.clear();
        special.has_shape = true;
        if (i == 0 && trips == 1) special.literal = Literal{{0}, {}};  // the only iteration's number
      } else if (i < node.inputs.size() && node.inputs[i] != kNoValue) {
        assign(inputs[i], value(node.inputs[i]));
        if (trips == 1) value(inputs[i]).elements = value(node.inputs[i]).elements;
      }
    }
    infer_block(body);
    const std::vector<ValueId> outputs = block(body).outputs;
    const std::size_t carried = inputs.size() >= 2 ? inputs.size() - 2 : 0;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue || i + 1 >= outputs.size() || outputs[i + 1] == kNoValue) continue;
      const Value from = value(outputs[i + 1]);
      assign(node.outputs[i], from);
      if (trips == 1) value(node.outputs[i]).elements = from.elements;
      if (i >= carried) stack(node.outputs[i], from, trips.value_or(1), 0);
    }
  }

  // Gives `to` the shape of one step's `from` with the steps as a new axis.
  void stack(ValueId to, const Value& from, std::int64_t steps, std::int64_t axis) {
    if (!from.has_shape) return;
    Value& target = value(to);
    target.dims = from.dims;
    const auto place = std::clamp<std::int64_t>(axis < 0 ? axis + std::int64_t(from.dims.size()) + 1 : axis, 0,
                                                std::int64_t(from.dims.size()));
    target.dims.insert(target.dims.begin() + place, steps);
    target.has_shape = true;
  }

  void infer_scan(Node& node) {
    const std::int32_t body = body_of(node, "body");
    const std::vector<ValueId> inputs = block(body).inputs;
    const auto scans = std::size_t(
        std::clamp<std::int64_t>(int_attribute(node, "num_scan_inputs", 1), 0, std::int64_t(inputs.size())));
    const std::size_t states = inputs.size() - scans;
    // Scan-8 has a sequence_lens input first and a batch axis before the sequence axis.
    const bool batched = graph_.opset != 0 && graph_.opset < 9;
    const std::size_t offset = batched ? 1 : 0;
    const auto axes = ints_attribute(node, "scan_input_axes");
    std::optional<std::int64_t> trips;
    for (std::size_t i = 0; i < inputs.size() && i + offset < node.inputs.size(); ++i) {
      const ValueId from = node.inputs[i + offset];
      if (from == kNoValue) continue;
      Value slice = value(from);
      slice.literal.reset();
      if (batched && slice.has_shape && !slice.dims.empty()) slice.dims.erase(slice.dims.begin());
      if (i >= states && slice.has_shape && !slice.dims.empty()) {
        const std::size_t scan = i - states;
        const auto axis = normalize_axis(scan < axes.size() ? axes[scan] : 0, slice.dims.size()).value_or(0);
        trips = slice.dims[std::size_t(axis)];
        slice.dims.erase(slice.dims.begin() + axis);
      }
      assign(inputs[i], slice);
    }
    set_trips(node, body, trips);
    infer_block(body);
    const std::vector<ValueId> outputs = block(body).outputs;
    const auto out_axes = ints_attribute(node, "scan_output_axes");
    std::int64_t batch = 1;
    if (batched && node.inputs.size() > 1 && node.inputs[1] != kNoValue && !value(node.inputs[1]).dims.empty()) {
      batch = value(node.inputs[1]).dims.front();
    }
    for (std::size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue || outputs[i] == kNoValue) continue;
      const Value from = value(outputs[i]);
      assign(node.outputs[i], from);
      if (i >= states)
        stack(node.outputs[i], from, trips.value_or(1), i - states < out_axes.size() ? out_axes[i - states] : 0);
      if (batched && from.has_shape) {
        Value& target = value(node.outputs[i]);
        target.dims.insert(target.dims.begin(), batch);
      }
    }
  }

  void infer_sequence_map(Node& node) {
    const std::int32_t body = body_of(node, "body");
    const std::vector<ValueId> inputs = block(body).inputs;
    for (std::size_t i = 0; i < inputs.size() && i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      Value element = value(node.inputs[i]);
      element.form = ValueForm::Tensor;
      assign(inputs[i], element);
    }
    set_trips(node, body, std::nullopt);
    infer_block(body);
    const std::vector<ValueId> outputs = block(body).outputs;
    for (std::size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue || outputs[i] == kNoValue) continue;
      assign(node.outputs[i], value(outputs[i]));
      value(node.outputs[i]).form = ValueForm::Sequence;
    }
  }

  // Warnings joined over several nodes.
  struct Alike {
    std::size_t place = 0;  // in Graph::warnings
    std::size_t more = 0;
    std::string op_type;
    std::set<const Node*> nodes;
  };

  Graph& graph_;
  const InferenceHooks& hooks_;
  Dims declared_;  // keep_declared()
  std::set<std::string> seen_;
  std::map<std::string, Alike> alike_;
  std::size_t suppressed_ = 0;
};

}  // namespace

Status infer_shapes(Graph& graph, const InferenceHooks& hooks) {
  Inference(graph, hooks).run();
  return ok();
}

Status infer_shapes(Graph& graph) { return infer_shapes(graph, InferenceHooks{}); }

}  // namespace forerun
