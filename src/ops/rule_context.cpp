#include "ops/rule_context.hpp"

#include <algorithm>

namespace forerun {

const Value* RuleContext::input(std::size_t i) const {
  if (i >= node_.inputs.size() || node_.inputs[i] == kNoValue) return nullptr;
  return &graph_.values[std::size_t(node_.inputs[i])];
}

const Dims* RuleContext::shape(std::size_t i) const {
  const Value* value = input(i);
  if (value == nullptr || !value->has_shape) return nullptr;
  if (value->form != ValueForm::Tensor && value->form != ValueForm::Sparse) return nullptr;  // sparse: as if expanded
  const bool complete = std::all_of(value->dims.begin(), value->dims.end(), [](std::int64_t d) { return d >= 0; });
  return complete ? &value->dims : nullptr;
}

DType RuleContext::dtype(std::size_t i) const {
  const Value* value = input(i);
  return value != nullptr ? value->dtype : DType::Undefined;
}

const Literal* RuleContext::literal(std::size_t i) const {
  const Value* value = input(i);
  return value != nullptr && value->literal ? &*value->literal : nullptr;
}

const std::vector<std::int64_t>* RuleContext::ints(std::size_t i) const {
  const Literal* contents = literal(i);
  return contents != nullptr && contents->reals.empty() ? &contents->ints : nullptr;
}

const Value* RuleContext::output(std::size_t i) const {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoValue) return nullptr;
  return &graph_.values[std::size_t(node_.outputs[i])];
}

std::optional<std::vector<std::int64_t>> RuleContext::ints_of(std::string_view attribute, std::size_t input) const {
  if (const Attribute* found = find_attribute(node_, attribute)) {
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&found->value)) return *list;
    if (const auto* single = std::get_if<std::int64_t>(&found->value)) return std::vector{*single};
  }
  if (const auto* contents = ints(input)) return *contents;
  return std::nullopt;
}

void RuleContext::set(std::size_t i, DType type, Dims dims) {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoValue) return;
  Value& value = graph_.values[std::size_t(node_.outputs[i])];
  if (type != DType::Undefined) value.dtype = type;
  value.form = ValueForm::Tensor;
  value.dims = std::move(dims);
  value.has_shape = true;
}

void RuleContext::set_form(std::size_t i, ValueForm form, DType type) {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoValue) return;
  Value& value = graph_.values[std::size_t(node_.outputs[i])];
  value.form = form;
  if (type != DType::Undefined) value.dtype = type;
}

void RuleContext::set_literal(std::size_t i, Literal literal) {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoValue) return;
  if (std::int64_t(literal.ints.size() + literal.reals.size()) > kMaxLiteralElements) return;
  graph_.values[std::size_t(node_.outputs[i])].literal = std::move(literal);
}

void RuleContext::set_elements(std::size_t i, std::optional<std::vector<Dims>> elements) {
  if (i >= node_.outputs.size() || node_.outputs[i] == kNoValue) return;
  graph_.values[std::size_t(node_.outputs[i])].elements = std::move(elements);
}

Error RuleContext::fail(const std::string& what) const {
  return bad_input(node_.op_type + (node_.name.empty() ? "" : " '" + node_.name + "'") + ": " + what);
}

std::string text_of(const Dims& dims) {
  constexpr std::size_t kShown = 8;
  if (dims.empty()) return "scalar";
  std::string text;
  for (std::size_t i = 0; i < std::min(dims.size(), kShown); ++i) {
    text += (i == 0 ? "" : " x ") + std::to_string(dims[i]);
  }
  return dims.size() > kShown ? text + " x …" : text;
}

std::optional<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto size = std::int64_t(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return axis < 0 ? axis + size : axis;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace forerun
