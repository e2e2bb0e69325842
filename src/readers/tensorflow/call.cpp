#include "readers/tensorflow/call.hpp"

#include <algorithm>
#include <utility>

namespace forerun::tensorflow {

bool Call::has(std::size_t i) const { return i < inputs() && operation_.inputs[i] != kNoTensor && slot_of(i).known(); }

const Tensor& Call::tensor(std::size_t i) const {
  static const Tensor kNothing;
  if (i >= inputs() || operation_.inputs[i] == kNoTensor) return kNothing;
  return scope_.function->tensors[std::size_t(operation_.inputs[i])];
}

const Tensor* Call::output_tensor(std::size_t i) const {
  if (i >= outputs() || operation_.outputs[i] == kNoTensor) return nullptr;
  return &scope_.function->tensors[std::size_t(operation_.outputs[i])];
}

std::optional<Dims> Call::shape(std::size_t i) const { return has(i) ? translator_.shape(slot_of(i)) : std::nullopt; }

std::optional<std::size_t> Call::rank(std::size_t i) const {
  const auto dims = shape(i);
  return dims ? std::optional(dims->size()) : std::nullopt;
}

DType Call::dtype(std::size_t i) const {
  if (!has(i)) return DType::Undefined;
  const Slot& from = slot_of(i);
  if (from.constant != nullptr) return from.constant->dtype;
  return translator_.value(from.plain != kNoValue ? from.plain : from.first).dtype;
}

const Literal* Call::contents(std::size_t i) const {
  if (!has(i)) return nullptr;
  const Slot& from = slot_of(i);
  if (from.constant != nullptr) return from.constant->literal ? &*from.constant->literal : nullptr;
  if (from.plain == kNoValue || !translator_.is_fixed_[std::size_t(from.plain)]) return nullptr;
  const auto& literal = translator_.value(from.plain).literal;
  return literal ? &*literal : nullptr;
}

const Ints* Call::integers(std::size_t i) const {
  const Literal* literal = contents(i);
  return literal != nullptr && literal->reals.empty() ? &literal->ints : nullptr;
}

bool Call::is_first(std::size_t i) const {
  if (!has(i)) return false;
  const Slot& from = slot_of(i);
  return from.plain == kNoValue && from.constant == nullptr && from.first != kNoValue;
}

ValueId Call::plain(std::size_t i) {
  return has(i) ? translator_.plain(scope_, slot(i), scope_.prefix + operation_.name) : kNoValue;
}

ValueId Call::first(std::size_t i, std::size_t rank) {
  return has(i) ? translator_.first(scope_, slot(i), scope_.prefix + operation_.name, rank) : kNoValue;
}

bool Call::is_nchw() const { return text("data_format").starts_with("NC"); }

ValueId Call::image(std::size_t i, std::size_t rank) { return is_nchw() ? plain(i) : first(i, rank); }

ValueId Call::permuted(std::size_t i, const Ints& order) {
  if (!has(i)) return kNoValue;
  const Slot& from = slot(i);
  if (from.constant == nullptr) return transposed(plain(i), order);
  const Dims& dims = from.constant->dims;
  if (dims.size() != order.size()) return plain(i);
  return translator_.constant(*from.constant, permute(dims, order));
}

ValueId Call::reshaped(std::size_t i, const Dims& dims) {
  if (!has(i)) return kNoValue;
  const Slot& from = slot(i);
  return from.constant != nullptr ? translator_.constant(*from.constant, dims) : reshape(plain(i), dims);
}

const Ints* Call::example(std::size_t i) const {
  if (const Ints* exact = integers(i); exact != nullptr || !has(i) || slot_of(i).plain == kNoValue) return exact;
  const auto& literal = translator_.value(slot_of(i).plain).literal;
  return literal && literal->reals.empty() ? &literal->ints : nullptr;
}

const Attribute* Call::attribute(std::string_view name) const {
  for (const Attribute& one : operation_.attributes) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::int64_t Call::integer(std::string_view name, std::int64_t fallback) const {
  const Attribute* found = attribute(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::int64_t>(&found->value);
  return value == nullptr ? fallback : *value;
}

double Call::real(std::string_view name, double fallback) const {
  const Attribute* found = attribute(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<double>(&found->value);
  return value == nullptr ? fallback : *value;
}

std::string_view Call::text(std::string_view name, std::string_view fallback) const {
  const Attribute* found = attribute(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return value == nullptr ? fallback : std::string_view(*value);
}

Ints Call::ints(std::string_view name) const {
  const Attribute* found = attribute(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<Ints>(&found->value);
  return value == nullptr ? Ints{} : *value;
}

std::int32_t Call::function(std::string_view name) const {
  for (const auto& [attribute, index] : operation_.functions) {
    if (attribute == name) return index;
  }
  return -1;
}

ValueId Call::node(OpKind kind, std::vector<ValueId> inputs, Attributes attributes, std::size_t results) {
  Node made;
  made.kind = kind;
  made.name = scope_.prefix + operation_.name;
  made.inputs = std::move(inputs);
  made.attributes = std::move(attributes);
  return translator_.emit(scope_, std::move(made), results);
}

ValueId Call::transposed(ValueId id, const Ints& order) {
  bool moves = false;
  for (std::size_t i = 0; i < order.size(); ++i) moves = moves || order[i] != std::int64_t(i);
  return moves ? node(OpKind::Transpose, {id}, {{"perm", order}}) : id;
}

ValueId Call::reshape(ValueId id, Ints dims) { return node(OpKind::Reshape, {id, integer_list(std::move(dims))}); }

void Call::result(std::size_t k, ValueId id, bool channels_first) {
  const Tensor* declared = output_tensor(k);
  if (declared == nullptr || id == kNoValue) return;
  Slot& to = scope_.slots[std::size_t(operation_.outputs[k])];
  to = Slot{};
  Value& made = value(id);
  if (made.name.empty()) made.name = scope_.prefix + declared->name;
  if (made.dtype == DType::Undefined) made.dtype = declared->dtype;
  const Dims& sizes = declared->sizes.empty() ? declared->dims : declared->sizes;
  if (!made.has_shape && declared->has_shape && std::find(sizes.begin(), sizes.end(), kUnknownDim) == sizes.end()) {
    const bool permutes = channels_first && sizes.size() >= 3;
    made.dims = permutes ? permute(sizes, to_first(sizes.size())) : sizes;
    made.has_shape = true;
    translator_.is_declared_[std::size_t(id)] = declared->dims == sizes;
  }
  const bool is_image = channels_first && (!made.has_shape || made.dims.size() >= 3);
  (is_image ? to.first : to.plain) = id;
}

void Call::image_result(std::size_t k, ValueId id) { result(k, id, !is_nchw()); }

void Call::alias(std::size_t k, std::size_t input) {
  if (k >= outputs() || operation_.outputs[k] == kNoTensor || input >= inputs() ||
      operation_.inputs[input] == kNoTensor)
    return;
  Slot& to = scope_.slots[std::size_t(operation_.outputs[k])];
  to = slot(input);
  if (scope_.uses[std::size_t(operation_.inputs[input])] != 1) to.is_shared = true;
}

void Call::warn(const std::string& problem) {
  translator_.warn_of(operation_.type, scope_.prefix + operation_.name, problem);
}

bool Call::feeds_dense_layers(std::size_t k) const {
  if (k >= outputs() || operation_.outputs[k] == kNoTensor) return false;
  const TensorId id = operation_.outputs[k];
  std::int32_t readers = 0;
  for (const Operation& one : scope_.function->operations) {
    const auto reads = std::count(one.inputs.begin(), one.inputs.end(), id);
    if (reads == 0) continue;
    readers += std::int32_t(reads);
    const bool is_dense = one.type == "MatMul" || one.type == "_FusedMatMul" || one.type == "FULLY_CONNECTED";
    if (!is_dense || reads != 1 || one.inputs.size() < 2 || one.inputs[0] != id || one.inputs[1] == kNoTensor)
      return false;
    if (scope_.slots[std::size_t(one.inputs[1])].constant == nullptr) return false;
  }
  return readers > 0 && readers == scope_.uses[std::size_t(id)];
}

Slot Call::operand(std::size_t i) {
  if (i >= inputs() || operation_.inputs[i] == kNoTensor) return {};
  Slot copy = slot(i);
  if (scope_.uses[std::size_t(operation_.inputs[i])] != 1) copy.is_shared = true;
  return copy;
}

void Call::set_slot(std::size_t k, const Slot& slot) {
  if (k < outputs() && operation_.outputs[k] != kNoTensor) scope_.slots[std::size_t(operation_.outputs[k])] = slot;
}

void Call::set_truth(std::size_t k, bool truth) {
  if (k < outputs() && operation_.outputs[k] != kNoTensor)
    scope_.slots[std::size_t(operation_.outputs[k])].truth = truth;
}

void Call::kill(std::size_t k) {
  Slot dead;
  dead.is_dead = true;
  set_slot(k, dead);
}

ValueId Call::plain_in(Slot& slot, std::int32_t block) {
  Scope inside;
  inside.block = block;
  return translator_.plain(inside, slot, scope_.prefix + operation_.name);
}

ValueId Call::fresh(DType type, std::optional<Dims> dims) {
  const ValueId id = translator_.new_value(type);
  value(id).role = ValueRole::Input;
  if (dims) {
    value(id).has_shape = true;
    value(id).dims = *dims;
  }
  return id;
}

void Call::copy_type(ValueId to, ValueId from) {
  const Value& source = value(from);
  Value& target = value(to);
  target.dtype = source.dtype;
  target.has_shape = source.has_shape;
  target.dims = source.dims;
}

void Call::copy_stacked(ValueId to, ValueId item, ValueId count) {
  copy_type(to, item);
  Value& target = value(to);
  const auto& trips = count == kNoValue ? std::optional<Literal>{} : value(count).literal;
  const std::int64_t steps = trips && trips->ints.size() == 1 ? std::max<std::int64_t>(0, trips->ints[0]) : 1;
  if (target.has_shape) target.dims.insert(target.dims.begin(), steps);
}

Node* Call::only_producer(std::size_t i, ValueId id) {
  if (id == kNoValue || scope_.uses[std::size_t(operation_.inputs[i])] != 1 || slot(i).is_shared) return nullptr;
  return translator_.producer_of(id, scope_);
}

}  // namespace forerun::tensorflow
