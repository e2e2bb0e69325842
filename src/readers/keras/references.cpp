#include "readers/keras/references.hpp"

#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

constexpr std::size_t kMaxReferences = 100'000;  // of one layer

// ["layer", call, tensor], with keyword arguments behind them in inbound nodes.
bool is_history(const Json& json) {
  return json.is_array() && json.size() >= 3 && json[0].is_string() && json[1].is_number_integer() &&
         json[2].is_number_integer();
}

// ["_CONSTANT_VALUE", -1, value, keyword arguments], alone or in a list.
const Json* constant_of(const Json& node) {
  if (!node.is_array() || node.empty()) return nullptr;
  const Json& one = node[0].is_array() ? node[0] : node;
  if (one.size() < 3 || text_of(&one[0]) != "_CONSTANT_VALUE") return nullptr;
  return &one[2];
}

Reference from_history(const Json& json) {
  return {json[0].get<std::string>(), json[1].get<std::int64_t>(), json[2].get<std::int64_t>(), nullptr};
}

bool is_keras_tensor(const Json& json) {
  return json.is_object() && text_of(member(json, "class_name")) == "__keras_tensor__";
}

// Every reference within, in order.
void collect(const Json& json, std::vector<Reference>& found) {
  if (found.size() >= kMaxReferences) return;
  if (is_keras_tensor(json)) {
    const Json* config = member(json, "config");
    const Json* history = config == nullptr ? nullptr : member(*config, "keras_history");
    if (history == nullptr || !is_history(*history)) return;
    found.push_back(from_history(*history));
    found.back().shape = member(*config, "shape");
  } else if (is_history(json)) {
    found.push_back(from_history(json));
  } else if (json.is_array() || json.is_object()) {
    for (const Json& item : json) collect(item, found);
  }
}

ArgumentPlan plan_argument(std::string name, const Json& json) {
  ArgumentPlan plan{.name = std::move(name), .references = {}, .is_list = false, .json = &json};
  collect(json, plan.references);
  plan.is_list = !is_keras_tensor(json) && !is_history(json) && !plan.references.empty();
  if (!plan.references.empty() && !plan.is_list) plan.json = nullptr;
  return plan;
}

void add_keywords(const Json* json, std::vector<ArgumentPlan>& arguments) {
  if (json == nullptr || !json->is_object()) return;
  for (const auto& [name, value] : json->items()) {
    if (name == "mask" || name == "training") continue;
    arguments.push_back(plan_argument(name, value));
  }
}

}  // namespace

std::vector<std::vector<ArgumentPlan>> read_inbound_nodes(const Json& layer) {
  std::vector<std::vector<ArgumentPlan>> calls;
  const Json* nodes = member(layer, "inbound_nodes");
  if (nodes == nullptr || !nodes->is_array()) return calls;
  for (const Json& node : *nodes) {
    if (calls.size() >= kMaxReferences) break;
    std::vector<ArgumentPlan>& arguments = calls.emplace_back();
    if (node.is_object()) {  // Keras 3
      if (const Json* args = member(node, "args"); args != nullptr && args->is_array()) {
        for (const Json& one : *args) arguments.push_back(plan_argument("", one));
      }
      add_keywords(member(node, "kwargs"), arguments);
    } else if (const Json* constant = constant_of(node)) {  // a function whose first operand is a number
      const Json& only = node[0].is_array() ? node[0] : node;
      arguments.push_back({.name = "", .references = {}, .is_list = false, .json = constant});
      if (only.size() > 3) add_keywords(&only[3], arguments);
    } else if (is_history(node)) {  // a function's single tensor
      arguments.push_back({.name = "", .references = {from_history(node)}, .is_list = false, .json = nullptr});
      if (node.size() > 3) add_keywords(&node[3], arguments);
    } else if (node.is_array()) {
      ArgumentPlan first{.name = "", .references = {}, .is_list = node.size() > 1, .json = nullptr};
      for (const Json& one : node) {
        if (is_history(one) && first.references.size() < kMaxReferences) first.references.push_back(from_history(one));
      }
      arguments.push_back(std::move(first));
      if (!node.empty() && is_history(node[0]) && node[0].size() > 3) add_keywords(&node[0][3], arguments);
    }
  }
  return calls;
}

std::vector<Reference> read_references(const Json* json) {
  std::vector<Reference> found;
  if (json != nullptr) collect(*json, found);
  return found;
}

}  // namespace forerun::keras
