// Sequences, optionals and the classical operators of ai.onnx.ml. A sequence's Value keeps the shape of one
// element, and of each where all are known.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxElements = 16;  // of a sequence whose elements are followed one by one

// A copy, because rules may modify their operands.
std::optional<std::vector<Dims>> known_elements(const Value& value) {
  return value.form == ValueForm::Sequence ? value.elements : std::nullopt;
}

// The place that operand `input` names in a sequence of known elements, negative ones from its end; left out, the last.
// `beyond`: how many places past the last element are allowed.
std::optional<std::ptrdiff_t> place_in(const RuleContext& c, std::size_t input,
                                       const std::optional<std::vector<Dims>>& elements, std::int64_t beyond) {
  if (!elements) return std::nullopt;
  const std::int64_t size = std::int64_t(elements->size()) + beyond;
  std::int64_t at = size - 1;
  if (c.input(input) != nullptr) {
    const auto* place = c.ints(input);
    if (place == nullptr || place->size() != 1) return std::nullopt;
    at = (*place)[0] < 0 ? (*place)[0] + std::int64_t(elements->size()) : (*place)[0];
  }
  if (at < 0 || at >= size) return std::nullopt;
  return std::ptrdiff_t(at);
}

// Gives output `i` the element shape of `from`, in the given form.
void set_element(RuleContext& c, std::size_t i, ValueForm form, const Value& from) {
  if (from.has_shape) c.set(i, from.dtype, from.dims);
  c.set_form(i, form, from.dtype);
}

std::int64_t list_size(const RuleContext& c, std::string_view name) {
  const Attribute* attribute = find_attribute(c.node(), name);
  if (attribute == nullptr) return 0;
  return std::visit(
      [](const auto& value) -> std::int64_t {
        if constexpr (requires { value.size(); }) {
          return std::int64_t(value.size());
        } else {
          return 1;
        }
      },
      attribute->value);
}

std::int64_t rows_of(const Dims& dims) { return dims.size() >= 2 ? dims.front() : 1; }

}  // namespace

Status sequence_construct_shape(RuleContext& c) {
  std::vector<Dims> elements;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (const Dims* dims = c.shape(i)) elements.push_back(*dims);
  }
  if (const Value* first = c.input(0)) set_element(c, 0, ValueForm::Sequence, *first);
  if (elements.size() == c.input_count() && elements.size() <= kMaxElements) c.set_elements(0, std::move(elements));
  return ok();
}

Status sequence_insert_shape(RuleContext& c) {
  const Value* x = c.input(0);
  if (x == nullptr) return ok();
  auto elements = known_elements(*x);
  const auto at = place_in(c, 2, elements, 1);
  const Dims* added = c.shape(1);
  if (at && added != nullptr && elements->size() < kMaxElements) {
    elements->insert(elements->begin() + *at, *added);
  } else {
    elements.reset();
  }
  set_element(c, 0, x->form, *x);
  if (!x->has_shape) {  // an empty sequence takes the element type of the inserted value
    if (const Value* element = c.input(1)) set_element(c, 0, x->form, *element);
  }
  c.set_elements(0, std::move(elements));
  return ok();
}

Status sequence_erase_shape(RuleContext& c) {
  const Value* x = c.input(0);
  if (x == nullptr) return ok();
  auto elements = known_elements(*x);
  const auto at = place_in(c, 1, elements, 0);
  if (at) {
    elements->erase(elements->begin() + *at);
  } else {
    elements.reset();
  }
  set_element(c, 0, x->form, *x);
  c.set_elements(0, std::move(elements));
  return ok();
}

Status sequence_at_shape(RuleContext& c) {
  const Value* x = c.input(0);
  if (x == nullptr) return ok();
  auto elements = known_elements(*x);
  if (const auto at = place_in(c, 1, elements, 0)) {
    c.set(0, x->dtype, std::move((*elements)[std::size_t(*at)]));
  } else if (x->has_shape) {
    c.set(0, x->dtype, x->dims);
  }
  return ok();
}

Status sequence_length_shape(RuleContext& c) {
  c.set(0, DType::Int64, {});
  return ok();
}

Status sequence_empty_shape(RuleContext& c) {
  c.set_form(0, ValueForm::Sequence, DType(std::clamp<std::int64_t>(c.int_of("dtype", 1), 1, 26)));
  c.set_elements(0, std::vector<Dims>{});
  return ok();
}

Status split_to_sequence_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto axis = normalize_axis(c.int_of("axis", 0), x->size());
  if (!axis) return c.fail("axis out of range");
  Dims element = *x;
  std::int64_t size = 1;
  if (const auto* split = c.ints(1); split != nullptr && !split->empty()) size = std::max<std::int64_t>(0, (*split)[0]);
  std::optional<std::vector<Dims>> elements;
  if (const auto* split = c.ints(1); split != nullptr && split->size() > 1 && split->size() <= kMaxElements) {
    elements.emplace(split->size(), element);
    for (std::size_t i = 0; i < split->size(); ++i) {
      (*elements)[i][std::size_t(*axis)] = std::max<std::int64_t>(0, (*split)[i]);
    }
  }
  element[std::size_t(*axis)] = size;
  if (c.input(1) == nullptr && c.int_of("keepdims", 1) == 0) element.erase(element.begin() + *axis);
  c.set(0, c.dtype(0), std::move(element));
  c.set_form(0, ValueForm::Sequence, c.dtype(0));
  c.set_elements(0, std::move(elements));
  return ok();
}

Status concat_from_sequence_shape(RuleContext&) { return ok(); }  // the length is known only at run time

Status optional_shape(RuleContext& c) {
  const Value* x = c.input(0);
  if (x != nullptr) {
    set_element(c, 0, ValueForm::Optional, *x);
  } else {
    c.set_form(0, ValueForm::Optional, DType::Undefined);
  }
  return ok();
}

Status optional_get_shape(RuleContext& c) {
  const Value* x = c.input(0);
  if (x == nullptr) return ok();
  const Value* declared = c.output(0);
  const ValueForm form =
      declared != nullptr && declared->form != ValueForm::Optional ? declared->form : ValueForm::Tensor;
  if (x->has_shape) c.set(0, x->dtype, x->dims);
  c.set_form(0, form, x->dtype);
  return ok();
}

Status has_element_shape(RuleContext& c) {
  c.set(0, DType::Bool, {});
  return ok();
}

Status classifier_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const std::int64_t strings = list_size(c, "classlabels_strings");
  const std::int64_t classes =
      std::max<std::int64_t>({strings, list_size(c, "classlabels_ints"), list_size(c, "classlabels_int64s"), 1});
  c.set(0, strings > 0 ? DType::String : DType::Int64, {rows_of(*x)});
  c.set(1, DType::Float32, {rows_of(*x), classes});
  return ok();
}

Status regressor_shape(RuleContext& c) {
  if (const Dims* x = c.shape(0)) {
    const std::int64_t targets = std::max(c.int_of("targets", 1), c.int_of("n_targets", 1));
    const bool keeps_type = c.node().kind == OpKind::TreeEnsemble && is_floating(c.dtype(0));
    c.set(0, keeps_type ? c.dtype(0) : DType::Float32, {rows_of(*x), std::max<std::int64_t>(1, targets)});
  }
  return ok();
}

Status label_encoder_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const std::int64_t tensor = c.int_of("values_tensor_dtype", 0);  // element type of values_tensor
  const DType type = tensor > 0 && tensor < std::int64_t(DType::Count) ? DType(tensor)
                     : list_size(c, "values_strings") > 0              ? DType::String
                     : list_size(c, "values_floats") > 0               ? DType::Float32
                     : list_size(c, "values_int64s") > 0               ? DType::Int64
                     : c.dtype(0) == DType::String                     ? DType::Int64
                                                                       : DType::String;
  c.set(0, type, *x);
  return ok();
}

Status one_hot_encoder_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  Dims result = *x;
  result.push_back(std::max(list_size(c, "cats_int64s"), list_size(c, "cats_strings")));
  c.set(0, DType::Float32, std::move(result));
  return ok();
}

Status array_feature_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* indices = c.shape(1);
  if (x == nullptr || indices == nullptr) return ok();
  Dims result = x->size() > 1 ? Dims(x->begin(), x->end() - 1) : Dims{1};
  result.push_back(checked_product(*indices));
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status feature_vectorizer_shape(RuleContext& c) {
  std::int64_t width = 0;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Dims* dims = c.shape(i);
    if (dims == nullptr) return ok();
    rows = rows_of(*dims);
    width = checked_add(width, dims->size() >= 2 ? dims->back() : checked_product(*dims));
  }
  c.set(0, DType::Float32, {rows, width});
  return ok();
}

Status dict_vectorizer_shape(RuleContext& c) {
  c.set(0, DType::Float32, {1, std::max(list_size(c, "int64_vocabulary"), list_size(c, "string_vocabulary"))});
  return ok();
}

Status zip_map_shape(RuleContext& c) {
  if (const Dims* x = c.shape(0)) c.set(0, DType::Float32, *x);
  c.set_form(0, ValueForm::Sequence, DType::Float32);
  return ok();
}

Status float_like_shape(RuleContext& c) {
  if (const Dims* x = c.shape(0)) c.set(0, DType::Float32, *x);
  return ok();
}

void classifier_cost(RuleContext& c, OpCost& cost) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return;
  const std::int64_t coefficients = std::max(list_size(c, "coefficients"), list_size(c, "support_vectors"));
  set_macs(cost, checked_mul(rows_of(*x), coefficients));
}

void tree_cost(RuleContext& c, OpCost& cost) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return;
  // A row walks each tree from root to leaf: about log2 of the nodes, at least one comparison a tree.
  const std::int64_t nodes = std::max<std::int64_t>(1, list_size(c, "nodes_nodeids"));
  const auto ids = c.ints_of("nodes_treeids");
  const std::int64_t trees =
      ids.empty() ? 1 : std::clamp<std::int64_t>(*std::max_element(ids.begin(), ids.end()), 0, nodes) + 1;
  std::int64_t depth = 1;
  for (std::int64_t n = nodes / trees; n > 1; n /= 2) ++depth;
  cost.flops = checked_mul(rows_of(*x), checked_mul(trees, depth));
}

}  // namespace forerun
