// The two inferences, the checks of the second and the graph that follows from it.
#include "analysis/rebinding.hpp"

#include "analysis/analyze.hpp"
#include "base/checked.hpp"
#include "ops/op_table.hpp"

namespace forerun {

Result<Graph> Rebinding::run() {
  old_ = given_;
  FORERUN_CHECK(infer_shapes(old_, {.before = {}, .after = {}, .failed = [this](const Node& node, const std::string&) {
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

InferenceHooks Rebinding::hooks_of(std::function<void(Node&)> before, std::function<void(Node&)> after) {
  return {.before = std::move(before),
          .after = std::move(after),
          .failed = [this](const Node& node, const std::string& what) {
            if (!failed_before_.contains(result_of(node))) refuse(node, "would fail: " + what);
          }};
}

std::int64_t Rebinding::outer_product(const Dims& dims, std::size_t end) {
  return checked_product(std::span(dims).first(end));
}

void Rebinding::refuse(const Node& node, const std::string& why) {
  if (refusal_.empty()) refusal_ = name_with_type(node) + " " + why;
}

// Inputs take the new batch; shapes that the file declares for inner values are those of the old one.
void Rebinding::prepare(Graph& graph) const {
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

// Each node's work must grow with the batch or not depend on it.
void Rebinding::check_costs() {
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

// Whether it reads any value that the file does not store.
bool Rebinding::reads_input(const Node& node) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [this](ValueId id) { return id != kNoValue && !new_value(id).is_constant; });
}

void Rebinding::check_outputs() {
  if (!refusal_.empty()) return;
  bool any_grows = false, any_could = false;
  for (const ValueId id : new_.main().outputs) {
    if (id == kNoValue || !has_known_dims(new_value(id))) continue;
    any_could = any_could || !new_value(id).dims.empty();
    any_grows = any_grows || outer_of(id) != kNone;
  }
  if (any_could && !any_grows)
    refusal_ = (lost_.empty() ? "no output" : lost_ + ": its result") + " would not grow with it";
}

// The graph as given, with what the second inference found to be changed.
Graph Rebinding::rebuild() {
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

Node Rebinding::gather_node(const Widened& one) const {
  Node node;
  node.kind = OpKind::Gather;
  node.op_type = "Gather";
  node.name = new_value(one.widened).name;
  node.inputs = {one.source, one.indices};
  node.outputs = {one.widened};
  node.attributes = {{"axis", one.axis}};
  return node;
}

}  // namespace forerun
