// The graph is inferred twice, node by node: once as it is and once with the new batch. Of every value of the second
// the place of the batch is known, so that numbers in the file that stand for the old batch can be told from others.
#include "analysis/rebind_batch.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/analyze.hpp"
#include "analysis/infer_shapes.hpp"
#include "base/checked.hpp"
#include "ops/op_table.hpp"
#include "ops/rule_context.hpp"

namespace forerun {
namespace {

bool is_complete(const Value& value) {
  return value.has_shape && value.form == ValueForm::Tensor &&
         std::all_of(value.dims.begin(), value.dims.end(), [](std::int64_t d) { return d >= 0; });
}

std::string describe(const Node& node) { return node.op_type + (node.name.empty() ? "" : " '" + node.name + "'"); }

bool is_view(OpKind kind) {
  return kind == OpKind::Reshape || kind == OpKind::Flatten || kind == OpKind::Squeeze || kind == OpKind::Unsqueeze ||
         kind == OpKind::Identity;
}

// What a Reshape's target gives for an operand of these dimensions; nullopt where it does not fit.
std::optional<Dims> apply_target(const Dims& x, const std::vector<std::int64_t>& target, bool keeps_zero) {
  Dims result = target;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && !keeps_zero) {
      if (i >= x.size()) return std::nullopt;
      result[i] = x[i];
    }
    if (result[i] == -1) {
      open = std::ptrdiff_t(i);
    } else {
      known = checked_mul(known, result[i]);
    }
  }
  const std::int64_t total = checked_product(x);
  if (open >= 0) {
    if (known <= 0 || total % known != 0) return std::nullopt;
    result[std::size_t(open)] = total / known;
  } else if (known != total) {
    return std::nullopt;
  }
  return result;
}

class Rebinding {
 public:
  // `inputs`: what the inputs' dimensions are to be, in their order. `declared`: the same file with the new batch,
  // where it declares shapes for it; may be nullptr.
  Rebinding(const Graph& graph, std::int64_t from, std::int64_t to, std::vector<Dims> inputs, const Graph* declared)
      : given_(graph), from_(from), to_(to), inputs_(std::move(inputs)), declared_(declared) {}

  Result<Graph> run() {
    old_ = given_;
    FORERUN_CHECK(
        infer_shapes(old_, {.before = {}, .after = {}, .failed = [this](const Node& node, const std::string&) {
                              failed_before_.insert(result_of(node));
                            }}));
    FORERUN_CHECK(count_costs(old_));
    new_ = given_;
    prepare(new_);
    FORERUN_CHECK(
        infer_shapes(new_, hooks_of([this](Node& node) { adjust(node); }, [this](Node& node) { locate(node); })));
    FORERUN_CHECK(count_costs(new_));
    check_costs();
    check_outputs();
    if (!refusal_.empty()) return bad_input(refusal_);
    Graph result = rebuild();
    Graph inferred = result;
    FORERUN_CHECK(infer_shapes(inferred, hooks_of({}, {})));
    if (!refusal_.empty()) return bad_input(refusal_);
    return result;
  }

 private:
  // Where the batch lies in a value's elements, in row-major order: how many steps are taken around it. 1 when it is
  // the outermost dimension; invariant under Reshape.
  static constexpr std::int64_t kNone = 0, kUnclear = -1, kNotAsked = -2;

  struct Widened {
    ValueId source = kNoValue, indices = kNoValue, widened = kNoValue;
    std::int64_t axis = 0;
  };

  InferenceHooks hooks_of(std::function<void(Node&)> before, std::function<void(Node&)> after) {
    return {.before = std::move(before),
            .after = std::move(after),
            .failed = [this](const Node& node, const std::string& what) {
              if (!failed_before_.contains(result_of(node))) refuse(node, "would fail: " + what);
            }};
  }

  static ValueId result_of(const Node& node) { return node.outputs.empty() ? kNoValue : node.outputs.front(); }
  static std::int64_t outer_product(const Dims& dims, std::size_t end) {
    return checked_product(std::span(dims).first(end));
  }

  void refuse(const Node& node, const std::string& why) {
    if (refusal_.empty()) refusal_ = describe(node) + " " + why;
  }

  // Inputs take the new batch; shapes that the file declares for inner values are those of the old one.
  void prepare(Graph& graph) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      graph.values[std::size_t(graph.main().inputs[i])].dims = inputs_[i];
    }
    for (const Block& block : graph.blocks) {
      for (const Node& node : block.nodes) {
        if (node.kind == OpKind::Constant) continue;
        const bool has_rule = spec_of(node.kind).infer_shape != nullptr || !node.blocks.empty();
        for (const ValueId id : node.outputs) {
          if (id == kNoValue) continue;
          Value& value = graph.values[std::size_t(id)];
          if (has_rule) {
            value.has_shape = false;
          } else if (declared_ != nullptr) {
            value.dims = declared_->values[std::size_t(id)].dims;
          }
        }
      }
    }
  }

  [[nodiscard]] const Value* old_value(ValueId id) const {
    return id >= 0 && std::size_t(id) < old_.values.size() ? &old_.values[std::size_t(id)] : nullptr;
  }
  [[nodiscard]] const Value& new_value(ValueId id) const { return new_.values[std::size_t(id)]; }

  // The one dimension that differs between the two inferences; -1 when none does, nullopt when several do.
  [[nodiscard]] std::optional<std::ptrdiff_t> changed_dim(ValueId id) const {
    const Value* before = old_value(id);
    if (before == nullptr || !is_complete(*before) || !is_complete(new_value(id))) return -1;
    const Dims& now = new_value(id).dims;
    if (now.size() != before->dims.size()) return std::nullopt;
    std::ptrdiff_t changed = -1;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] == before->dims[i]) continue;
      if (changed >= 0) return std::nullopt;
      changed = std::ptrdiff_t(i);
    }
    return changed;
  }

  [[nodiscard]] std::int64_t outer_of(ValueId id) const {
    if (id == kNoValue) return kNone;
    if (const auto found = outer_.find(id); found != outer_.end()) return found->second;
    const auto changed = changed_dim(id);
    if (!changed) return kUnclear;
    return *changed < 0 ? kNone : outer_product(old_value(id)->dims, std::size_t(*changed));
  }

  ValueId add_constant(Dims contents) {
    Value value;
    value.name = "batch " + std::to_string(to_) + ": " + text_of(contents);
    value.dtype = DType::Int64;
    value.has_shape = true;
    value.role = ValueRole::Constant;
    value.is_constant = true;
    value.dims = {std::int64_t(contents.size())};
    value.literal = Literal{std::move(contents), {}};
    new_.values.push_back(std::move(value));
    return ValueId(new_.values.size()) - 1;
  }

  // Contents that follow from the inputs' shapes take the new batch by themselves.
  [[nodiscard]] bool follows(ValueId id) const {
    const Value* before = old_value(id);
    return before == nullptr || (before->literal && new_value(id).literal && before->literal != new_value(id).literal);
  }

  void adjust(Node& node) {
    if (node.inputs.empty() || node.inputs[0] == kNoValue || result_of(node) == kNoValue) return;
    switch (node.kind) {
      case OpKind::Reshape: adjust_reshape(node); break;
      case OpKind::Expand: adjust_sizes(node, 1); break;
      case OpKind::Resize: adjust_sizes(node, 3); break;
      case OpKind::Concat:
      case OpKind::MatMul: widen_operands(node); break;
      default:
        if (spec_of(node.kind).op_class == OpClass::Elementwise && node.inputs.size() > 1) widen_operands(node);
    }
  }

  void adjust_reshape(Node& node) {
    const ValueId x = node.inputs[0];
    const std::int64_t outer = outer_of(x);
    const Value& y = *old_value(result_of(node));
    if (outer == kNone || node.inputs.size() < 2 || node.inputs[1] == kNoValue) return;
    if (!is_complete(y) || !is_complete(new_value(x)) || follows(node.inputs[1])) return;
    const std::optional<std::size_t> place = outer == kUnclear ? std::nullopt : place_of(y.dims, outer);
    if (!place) {
      return refuse(node, "makes " + text_of(y.dims) + ", in which the batch has no dimension");
    }
    Dims target = y.dims;
    target[*place] = checked_mul(target[*place] / from_, to_);
    const auto& literal = new_value(node.inputs[1]).literal;
    if (literal && apply_target(new_value(x).dims, literal->ints, int_attribute(node, "allowzero", 0) != 0) == target) {
      return;
    }
    node.inputs[1] = add_constant(std::move(target));
  }

  // The dimension of a Reshape's result that holds the batch: best one that is the batch alone, else one that begins
  // with it, else one in which it lies.
  [[nodiscard]] std::optional<std::size_t> place_of(const Dims& dims, std::int64_t outer) const {
    std::optional<std::size_t> begins, contains;
    std::int64_t around = 1;
    for (std::size_t i = 0; i < dims.size() && around > 0; around = checked_mul(around, dims[i]), ++i) {
      if (outer % around != 0 || dims[i] <= 0) continue;
      const std::int64_t within = outer / around;
      if (dims[i] % checked_mul(within, from_) != 0) continue;
      if (within == 1 && dims[i] == from_) return i;
      std::optional<std::size_t>& place = within == 1 ? begins : contains;
      if (!place) place = i;
    }
    // The last dimension is of features: a batch before it belongs to the rows.
    const bool prefers_rows = begins && contains && *begins + 1 == dims.size();
    return begins && !prefers_rows ? begins : contains;
  }

  // Expand and Resize state all sizes of their result.
  void adjust_sizes(Node& node, std::size_t slot) {
    const ValueId x = node.inputs[0];
    const auto changed = changed_dim(x);
    const Value& y = *old_value(result_of(node));
    if (outer_of(x) == kNone || node.inputs.size() <= slot || node.inputs[slot] == kNoValue) return;
    if (!changed || *changed < 0 || !is_complete(y) || follows(node.inputs[slot])) return;
    const Dims& before = old_value(x)->dims;
    const std::size_t at = std::size_t(*changed) + y.dims.size() - before.size();
    const auto& literal = new_value(node.inputs[slot]).literal;
    if (y.dims.size() < before.size() || (literal && literal->ints.size() != y.dims.size())) return;
    if (y.dims[at] != before[std::size_t(*changed)]) {
      return refuse(node, "makes " + text_of(y.dims) + " of " + text_of(before) + " and so changes the batch");
    }
    Dims sizes = y.dims;
    sizes[at] = new_value(x).dims[std::size_t(*changed)];
    node.inputs[slot] = add_constant(std::move(sizes));
  }

  // Constants that the exporter wrote for the old batch (an expanded class token, positions) take its size.
  void widen_operands(Node& node) {
    const auto carrier = std::find_if(node.inputs.begin(), node.inputs.end(), [this](ValueId id) {
      return id != kNoValue && outer_of(id) != kNone && changed_dim(id).value_or(-1) >= 0;
    });
    if (carrier == node.inputs.end()) return;
    const Dims before = old_value(*carrier)->dims;
    const auto at = std::size_t(*changed_dim(*carrier));
    const std::int64_t size = new_value(*carrier).dims[at];
    const bool joins = node.kind == OpKind::Concat;
    const std::size_t from_end = before.size() - at;
    if (!joins && before[at] == 1) return;  // broadcasts
    if (node.kind == OpKind::MatMul && from_end <= 2) return;
    if (joins && normalize_axis(int_attribute(node, "axis", 1), before.size()) == std::int64_t(at)) return;
    for (ValueId& operand : node.inputs) {
      if (operand == kNoValue || outer_of(operand) != kNone) continue;
      const Value& value = new_value(operand);
      if (!value.is_constant || !is_complete(value) || value.dims.size() < from_end) continue;
      if (joins && value.dims.size() != before.size()) continue;
      const std::size_t axis = value.dims.size() - from_end;
      if (value.dims[axis] == before[at]) operand = widen(node, operand, axis, size);
    }
  }

  // The constant with its rows along `axis` repeated: read by index, for nothing, before the network runs.
  ValueId widen(const Node& node, ValueId source, std::size_t axis, std::int64_t size) {
    const ValueId indices = add_constant({});
    new_.values[std::size_t(indices)].dims = {size};
    new_.values[std::size_t(indices)].literal.reset();  // which rows, does not matter
    Value value;
    value.name = new_value(source).name + ", batch " + std::to_string(to_);
    value.dtype = new_value(source).dtype;
    value.has_shape = value.is_constant = true;
    value.dims = new_value(source).dims;
    value.dims[axis] = size;
    new_.values.push_back(std::move(value));
    const ValueId result = ValueId(new_.values.size()) - 1;
    widened_[result_of(node)].push_back({source, indices, result, std::int64_t(axis)});
    return result;
  }

  void locate(Node& node) {
    ValueId carrier = kNoValue;
    for (const ValueId id : node.inputs) {
      if (carrier == kNoValue && id != kNoValue && outer_of(id) != kNone) carrier = id;
    }
    bool grows = carrier == kNoValue || node.kind == OpKind::Shape || node.kind == OpKind::Size;
    for (const ValueId id : node.outputs) {
      if (id == kNoValue || !is_complete(*old_value(id))) continue;
      if (!is_complete(new_value(id))) {
        if (carrier != kNoValue)
          return refuse(node, "has a result, '" + new_value(id).name + "', whose shape the file alone states");
        keep_declared(id);
        continue;
      }
      const auto changed = changed_dim(id);
      if (!changed) {
        outer_[id] = kUnclear;
      } else if (*changed < 0) {
        outer_[id] = kNone;
      } else {
        outer_[id] = place_after(node, carrier, id, std::size_t(*changed));
      }
      grows = grows || outer_[id] != kNone;
    }
    if (!grows && lost_.empty()) lost_ = describe(node);
  }

  std::int64_t place_after(const Node& node, ValueId carrier, ValueId id, std::size_t changed) const {
    const Dims& dims = old_value(id)->dims;
    const std::int64_t around = outer_product(dims, changed);
    const std::int64_t outer = outer_of(carrier);
    if (carrier == kNoValue || outer <= 0) return around;
    if (is_view(node.kind)) return outer;
    const auto source = changed_dim(carrier);
    if (!source || *source < 0) return around;
    const std::int64_t before = outer_product(old_value(carrier)->dims, std::size_t(*source));
    const std::int64_t within = before > 0 ? std::max<std::int64_t>(1, outer / before) : 1;
    return dims[changed] % checked_mul(within, from_) == 0 ? checked_mul(around, within) : around;
  }

  // A shape that only the file knows and that has nothing to do with the batch.
  void keep_declared(ValueId id) {
    Value& value = new_.values[std::size_t(id)];
    value.dims = old_value(id)->dims;
    value.has_shape = true;
    kept_.push_back(id);
  }

  // Each node's work must grow with the batch or not depend on it.
  void check_costs() {
    for (std::size_t b = 0; b < old_.blocks.size(); ++b) {
      for (std::size_t i = 0; i < old_.blocks[b].nodes.size(); ++i) {
        const Node& node = new_.blocks[b].nodes[i];
        const OpCost& before = old_.blocks[b].nodes[i].cost;
        if (before.known && !node.cost.known) refuse(node, "has results whose shapes would not be known");
        const double was = double(before.macs) * double(old_.blocks[b].runs);
        const double is = double(node.cost.macs) * double(new_.blocks[b].runs);
        if (is != was && is * double(from_) != was * double(to_)) {
          refuse(node, "would do " + std::to_string(node.cost.macs) + " multiply-accumulates instead of " +
                           std::to_string(before.macs) + ", not in step with the batch");
        } else if (is == was && was > 0 && reads_input(node)) {
          refuse(node, "would do the same work for every batch" + (lost_.empty() ? "" : ", which ends at " + lost_));
        }
        for (const auto& [name, body] : node.blocks) {
          if (old_.blocks[std::size_t(body)].runs != new_.blocks[std::size_t(body)].runs)
            refuse(node, "runs once for each step of dimension 0, which is its sequence, not a batch");
        }
        if (spec_of(node.kind).op_class == OpClass::Recurrent && int_attribute(node, "layout", 0) == 0 &&
            !node.inputs.empty() && changed_dim(node.inputs[0]) == std::ptrdiff_t{0}) {
          refuse(node, "takes dimension 0 as its sequence, not as a batch");
        }
      }
    }
  }

  // Not only of what the file stores.
  [[nodiscard]] bool reads_input(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [this](ValueId id) { return id != kNoValue && !new_value(id).is_constant; });
  }

  void check_outputs() {
    if (!refusal_.empty()) return;
    bool any_grows = false, any_could = false;
    for (const ValueId id : new_.main().outputs) {
      if (id == kNoValue || !is_complete(new_value(id))) continue;
      any_could = any_could || !new_value(id).dims.empty();
      any_grows = any_grows || outer_of(id) != kNone;
    }
    if (any_could && !any_grows)
      refusal_ = (lost_.empty() ? "no output" : lost_ + ": its result") + " would not grow with it";
  }

  // The graph as given, with what the second inference found to be changed.
  Graph rebuild() {
    Graph result = given_;
    prepare(result);
    for (const ValueId id : kept_) {
      result.values[std::size_t(id)].dims = old_value(id)->dims;
      result.values[std::size_t(id)].has_shape = true;
    }
    result.values.insert(result.values.end(), new_.values.begin() + std::ptrdiff_t(given_.values.size()),
                         new_.values.end());
    for (std::size_t b = 0; b < result.blocks.size(); ++b) {
      std::vector<Node> nodes;
      nodes.reserve(result.blocks[b].nodes.size());
      for (std::size_t i = 0; i < result.blocks[b].nodes.size(); ++i) {
        Node& node = result.blocks[b].nodes[i];
        node.inputs = new_.blocks[b].nodes[i].inputs;
        if (const auto found = widened_.find(result_of(node)); found != widened_.end()) {
          for (const Widened& one : found->second) nodes.push_back(gather_node(one));
        }
        nodes.push_back(std::move(node));
      }
      result.blocks[b].nodes = std::move(nodes);
    }
    return result;
  }

  [[nodiscard]] Node gather_node(const Widened& one) const {
    Node node;
    node.kind = OpKind::Gather;
    node.op_type = "Gather";
    node.name = new_value(one.widened).name;
    node.inputs = {one.source, one.indices};
    node.outputs = {one.widened};
    node.attributes = {{"axis", one.axis}};
    return node;
  }

  const Graph& given_;
  std::int64_t from_, to_;
  std::vector<Dims> inputs_;
  const Graph* declared_;
  Graph old_, new_;
  std::set<ValueId> failed_before_;
  std::map<ValueId, std::int64_t> outer_;
  std::vector<ValueId> kept_;
  std::map<ValueId, std::vector<Widened>> widened_;  // by the first result of the node that reads them
  std::string refusal_;
  std::string lost_;  // the first node whose operands grow with the batch and whose results do not
};

// The input that tells the batch: an image before anything else, a list of numbers last.
const Value* find_batch_input(const Graph& graph) {
  const Value* best = nullptr;
  const auto rank = [](const Value& value) {
    return value.dims.size() >= 4 && is_floating(value.dtype) ? 3 : value.dims.size() >= 2 ? 2 : 1;
  };
  for (const ValueId id : graph.main().inputs) {
    const Value& value = graph.values[std::size_t(id)];
    if (!is_complete(value) || value.dims.empty() || value.role == ValueRole::Cache) continue;
    if (best == nullptr || rank(value) > rank(*best)) best = &value;
  }
  return best;
}

}  // namespace

Status rebind_batch(Graph& graph, std::int64_t batch) {
  const std::string asked = "--batch " + std::to_string(batch) + ": ";
  const Value* input = find_batch_input(graph);
  if (input == nullptr) {
    if (batch == 1) return ok();
    return bad_input(asked + "no input of the file has dimensions, so it has no batch; leave --batch out");
  }
  const std::int64_t fixed = input->dims.front();
  if (fixed == batch) return ok();
  if (!input->dim_names.empty() && !input->dim_names.front().empty()) {
    if (batch == 1) return ok();
    return bad_input(asked + "dimension 0 of input '" + input->name + "' is '" + input->dim_names.front() +
                     "' = " + std::to_string(fixed) + "; leave --batch out and set it by --dim " +
                     input->dim_names.front() + "=N");
  }
  const std::string fixed_at = asked + "the file fixes its batch at " + std::to_string(fixed);
  const std::string remedy = "; export it with a free batch dimension, or leave --batch out";
  if (fixed <= 0) return bad_input(fixed_at + remedy);
  std::string why;
  // Numbers in a list may be one per sample or one for all (a time step): the first that the network allows.
  for (const std::size_t least_rank : {1, 2}) {
    std::vector<Dims> inputs;
    for (const ValueId id : graph.main().inputs) {
      const Value& value = graph.values[std::size_t(id)];
      inputs.push_back(value.dims);
      const bool has_batch = is_complete(value) && value.dims.size() >= least_rank && value.dims.front() == fixed;
      if (has_batch) inputs.back().front() = batch;
    }
    Result<Graph> rebound = Rebinding(graph, fixed, batch, std::move(inputs), nullptr).run();
    if (rebound) {
      graph = std::move(*rebound);
      return ok();
    }
    if (rebound.error().kind != ErrorKind::BadInput) return rebound.error();
    if (why.empty()) why = rebound.error().message;
  }
  return bad_input(fixed_at + " and cannot run another: " + why + remedy);
}

Status follow_batch(Graph& single, const Graph& batched, std::int64_t batch) {
  std::vector<Dims> inputs;
  for (const ValueId id : batched.main().inputs) inputs.push_back(batched.values[std::size_t(id)].dims);
  Result<Graph> rebound = Rebinding(single, 1, batch, std::move(inputs), &batched).run();
  if (!rebound) {
    return Error{rebound.error().kind, "--batch " + std::to_string(batch) +
                                           ": the file declares a free batch and cannot run this one: " +
                                           rebound.error().message + "; export it again, or leave --batch out"};
  }
  single = std::move(*rebound);
  return ok();
}

}  // namespace forerun
