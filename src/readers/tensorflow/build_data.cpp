// Operators that rearrange data: reshape, transpose, join, cut and pad.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {
namespace {

std::optional<std::int64_t> normal(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += std::int64_t(rank);
  if (axis < 0 || axis >= std::int64_t(rank)) return std::nullopt;
  return axis;
}

Ints ascending(std::size_t count) {
  Ints values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(std::int64_t(i));
  return values;
}

// Elements lie in the same sequence in both orders: a single row, or a single channel.
bool same_in_both_orders(const Dims& dims) {
  if (dims.size() < 3 || dims.back() == 1) return true;
  return std::all_of(dims.begin() + 1, dims.end() - 1, [](std::int64_t d) { return d == 1; });
}

}  // namespace

namespace {

// A stored tensor with other dimensions is stored still.
bool reshape_constant(Call& call, Dims wanted) {
  const auto dims = call.shape(0);
  if (!call.is_constant(0) || !dims) return false;
  std::int64_t known = 1;
  for (const std::int64_t dim : wanted) known = dim < 0 ? known : checked_mul(known, dim);
  const std::int64_t total = checked_product(*dims);
  if (std::count_if(wanted.begin(), wanted.end(), [](std::int64_t d) { return d < 0; }) > 1 || known == 0) return false;
  for (std::int64_t& dim : wanted) dim = dim < 0 ? total / known : dim;
  if (checked_product(wanted) != total || wanted.size() > kMaxRank) return false;
  Slot slot;
  slot.constant = call.translator().reshaped(*call.slot(0).constant, wanted);
  call.set_slot(0, slot);
  return true;
}

}  // namespace

void build_reshape(Call& call) {
  const auto dims = call.shape(0);
  const Ints stated = call.ints("new_shape");
  const Ints* wanted = call.has(1) ? call.integers(1) : (stated.empty() ? nullptr : &stated);
  if (dims && wanted != nullptr && *wanted == *dims && call.is_first(0)) return call.alias(0, 0);
  if (wanted != nullptr && reshape_constant(call, *wanted)) return;
  // A dense layer behind it has its rows in whatever order the flattened image has.
  const bool flattens = wanted != nullptr && wanted->size() == 2 && dims && !dims->empty() &&
                        ((*wanted)[1] == -1 || (*wanted)[0] == -1 || (*wanted)[0] == dims->front()) &&
                        ((*wanted)[1] == -1 || (*wanted)[1] == checked_product(std::span(*dims).subspan(1))) &&
                        call.feeds_dense_layers(0);
  const bool moves_nothing = call.is_first(0) && dims && (same_in_both_orders(*dims) || flattens);
  const ValueId x = moves_nothing ? call.first(0) : call.plain(0);
  ValueId target = call.has(1) ? call.plain(1) : kNoValue;
  if (wanted != nullptr && target == kNoValue) target = call.integer_list(*wanted);
  if (target == kNoValue) {
    const Tensor* to = call.output_tensor(0);
    if (to == nullptr || !to->has_shape) return call.unknown();
    target = call.integer_list(to->sizes.empty() ? to->dims : to->dims);
  }
  // 0 is a size in TensorFlow, not a copy.
  const bool has_zero = wanted != nullptr && std::find(wanted->begin(), wanted->end(), 0) != wanted->end();
  Attributes attributes;
  if (has_zero) attributes.push_back({"allowzero", std::int64_t{1}});
  call.result(0, call.node(OpKind::Reshape, {x, target}, std::move(attributes)));
}

void build_transpose(Call& call) {
  const Ints* given = call.integers(1);
  const auto rank = call.rank(0);
  Ints order;
  if (given != nullptr) {
    order = *given;
  } else if (rank && !call.has(1)) {
    order = ascending(*rank);
    std::reverse(order.begin(), order.end());
  } else {
    return call.unknown();
  }
  Ints seen = order;
  std::sort(seen.begin(), seen.end());
  if (seen != ascending(order.size()) || (rank && *rank != order.size())) return call.unknown();
  if (order == ascending(order.size())) return call.alias(0, 0);
  if (call.is_first(0)) {
    // The permutation of what is stored: none when the network itself asks for channels first.
    Ints stored;
    for (const std::int64_t axis : order) stored.push_back(first_axis(axis, order.size()));
    if (stored == ascending(order.size())) return call.result(0, call.first(0));
    return call.result(0, call.transposed(call.first(0), stored));
  }
  // To channels last: the operand is the same image, channels first.
  if (order.size() >= 4 && order == to_last(order.size()) && !call.is_constant(0))
    return call.result(0, call.plain(0), true);
  if (call.is_constant(0)) return call.result(0, call.permuted(0, order));
  call.result(0, call.transposed(call.plain(0), order));
}

void build_expand_dims(Call& call) {
  const auto rank = call.rank(0);
  const auto axes = rank ? axes_of(call, 1, *rank + 1) : std::nullopt;
  if (!axes || axes->size() != 1) {
    return call.result(0, call.node(OpKind::Unsqueeze, {call.plain(0), call.has(1) ? call.plain(1) : kNoValue}));
  }
  const std::int64_t axis = axes->front();
  if (call.is_first(0) && axis >= 1 && axis < std::int64_t(*rank)) {
    return call.result(0, call.node(OpKind::Unsqueeze, {call.first(0), call.integer_list({axis + 1})}), true);
  }
  if (call.is_constant(0)) {
    Dims dims = *call.shape(0);
    dims.insert(dims.begin() + axis, 1);
    if (reshape_constant(call, dims)) return;
  }
  call.result(0, call.node(OpKind::Unsqueeze, {call.plain(0), call.integer_list({axis})}));
}

void build_squeeze(Call& call) {
  const auto dims = call.shape(0);
  Ints axes = call.ints("squeeze_dims");
  if (axes.empty()) axes = call.ints("axis");
  if (dims && axes.empty()) {
    for (std::size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] == 1) axes.push_back(std::int64_t(i));
    }
  }
  if (dims) {
    for (std::int64_t& axis : axes) axis = normal(axis, dims->size()).value_or(0);
    std::sort(axes.begin(), axes.end());
  }
  if (dims && call.is_constant(0)) {
    Dims left;
    for (std::size_t i = 0; i < dims->size(); ++i) {
      if (std::find(axes.begin(), axes.end(), std::int64_t(i)) == axes.end()) left.push_back((*dims)[i]);
    }
    if (reshape_constant(call, left)) return;
  }
  if (dims && call.is_first(0) && !axes.empty()) {
    const auto last = std::int64_t(dims->size()) - 1;
    const bool keeps_ends = axes.front() > 0 && axes.back() < last;
    const std::size_t space = dims->size() - 2 - axes.size();
    if (keeps_ends || same_in_both_orders(*dims)) {
      Ints mapped;
      for (const std::int64_t axis : axes) mapped.push_back(first_axis(axis, dims->size()));
      std::sort(mapped.begin(), mapped.end());
      const ValueId y = call.node(OpKind::Squeeze, {call.first(0), call.integer_list(mapped)});
      return call.result(0, y, keeps_ends && space > 0);
    }
  }
  std::vector<ValueId> inputs = {call.plain(0)};
  if (!axes.empty()) inputs.push_back(call.integer_list(axes));
  call.result(0, call.node(OpKind::Squeeze, std::move(inputs)));
}

// ConcatV2 names its axis last, Concat first, TensorFlow Lite as an attribute.
void build_concat(Call& call) {
  const std::string& type = call.operation().type;
  const bool lite = type == "CONCATENATION";
  const std::size_t axis_at = type == "Concat" ? 0 : call.inputs() - 1;
  std::vector<std::size_t> operands;
  bool first = false;
  std::optional<std::size_t> rank;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!lite && i == axis_at) continue;
    if (!call.has(i)) continue;
    operands.push_back(i);
    first = first || call.is_first(i);
    if (call.rank(i)) rank = call.rank(i);
  }
  std::int64_t axis = call.integer("axis");
  if (!lite) {
    const Ints* given = call.inputs() == 0 ? nullptr : call.integers(axis_at);
    if (given == nullptr || given->size() != 1) return call.unknown();
    axis = given->front();
  }
  if (operands.empty()) return call.unknown();
  if (rank) {
    const auto known = normal(axis, *rank);
    if (!known) return call.unknown();
    axis = *known;
  }
  first = first && rank && *rank >= 3;
  std::vector<ValueId> inputs;
  for (const std::size_t i : operands) inputs.push_back(first ? call.first(i, *rank) : call.plain(i));
  if (inputs.size() == 1) return call.alias(0, operands[0]);
  const ValueId y = call.node(OpKind::Concat, std::move(inputs), {{"axis", first ? first_axis(axis, *rank) : axis}});
  call.result(0, activate(call, y), first);
}

namespace {

void split(Call& call, std::size_t data, std::int64_t axis, const Ints& sizes) {
  const auto rank = call.rank(data);
  const bool first = call.is_first(data) && rank && *rank >= 3;
  if (rank) {
    const auto known = normal(axis, *rank);
    if (!known) return call.unknown();
    axis = first ? first_axis(*known, *rank) : *known;
  }
  std::vector<ValueId> inputs = {first ? call.first(data) : call.plain(data)};
  if (!sizes.empty()) inputs.push_back(call.integer_list(sizes));
  const std::size_t parts = call.outputs();
  if (parts == 1) return call.alias(0, data);
  const ValueId made = call.node(OpKind::Split, std::move(inputs), {{"axis", axis}}, parts);
  for (std::size_t i = 0; i < parts; ++i) call.result(i, made + ValueId(i), first);
}

}  // namespace

void build_split(Call& call) {
  const Ints* axis = call.integers(0);
  if (axis == nullptr || axis->size() != 1 || call.outputs() == 0) return call.unknown();
  split(call, 1, axis->front(), {});
}

void build_split_v(Call& call) {
  const Ints* sizes = call.integers(1);
  const Ints* axis = call.integers(2);
  const auto dims = call.shape(0);
  if (axis == nullptr || axis->size() != 1 || sizes == nullptr || call.outputs() == 0) return call.unknown();
  Ints all = *sizes;
  const auto open = std::find(all.begin(), all.end(), -1);
  if (open != all.end()) {  // -1: what the other parts leave
    const auto at = dims ? normal(axis->front(), dims->size()) : std::nullopt;
    if (!at) return call.unknown();
    std::int64_t rest = (*dims)[std::size_t(*at)];
    for (const std::int64_t size : all) rest -= std::clamp<std::int64_t>(size, 0, kMaxDim);
    *open = std::max<std::int64_t>(0, rest);
  }
  split(call, 0, axis->front(), all);
}

void build_pack(Call& call) {
  const auto rank = call.rank(0);
  const std::int64_t axis = call.integer("axis");
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!call.has(i)) return call.unknown();
    const auto at = rank ? normal(axis, *rank + 1) : std::optional(axis);
    if (!at) return call.unknown();
    if (call.is_constant(i) && rank) {
      Dims dims = *call.shape(i);
      if (dims.size() != *rank) return call.unknown();
      dims.insert(dims.begin() + *at, 1);
      parts.push_back(call.reshaped(i, dims));
    } else {
      parts.push_back(call.node(OpKind::Unsqueeze, {call.plain(i), call.integer_list({*at})}));
    }
  }
  if (parts.empty()) return call.unknown();
  call.result(0, parts.size() == 1 ? parts[0] : call.node(OpKind::Concat, parts, {{"axis", axis}}));
}

void build_unpack(Call& call) {
  const auto rank = call.rank(0);
  std::int64_t axis = call.integer("axis");
  const std::size_t parts = call.outputs();
  if (parts == 0) return;
  if (rank) {
    const auto known = normal(axis, *rank);
    if (!known) return call.unknown();
    axis = *known;
  }
  // Cutting the channels of an image leaves planes; in both orders the same.
  const bool first = call.is_first(0) && rank && axis == std::int64_t(*rank) - 1;
  if (first) axis = 1;
  const ValueId x = first ? call.first(0) : call.plain(0);
  const ValueId made = parts == 1 ? x : call.node(OpKind::Split, {x}, {{"axis", axis}}, parts);
  for (std::size_t i = 0; i < parts; ++i)
    call.result(i, call.node(OpKind::Squeeze, {made + ValueId(i), call.integer_list({axis})}));
}

// paddings [rank, 2] of TensorFlow become begins, then ends.
void build_pad(Call& call) {
  const Ints* pairs = call.integers(1);
  const auto rank = call.rank(0);
  const bool mirrors = call.operation().type.starts_with("Mirror") || call.operation().type.starts_with("MIRROR");
  const bool symmetric = call.text("mode") == "SYMMETRIC" || call.integer("mode") == 1;
  Attributes attributes;
  if (mirrors) attributes.push_back({"mode", std::string(symmetric ? "edge" : "reflect")});
  if (pairs == nullptr || !rank || pairs->size() != 2 * *rank) {
    if (!call.has(1) || call.is_first(0)) return call.unknown();
    const ValueId turned = call.node(OpKind::Transpose, {call.plain(1)}, {{"perm", Ints{1, 0}}});
    return call.result(0, call.node(OpKind::Pad, {call.plain(0), call.reshape(turned, {-1})}, std::move(attributes)));
  }
  const bool first = call.is_first(0);
  Ints begins(*rank), ends(*rank);
  for (std::size_t i = 0; i < *rank; ++i) {
    const auto at = std::size_t(first ? first_axis(std::int64_t(i), *rank) : std::int64_t(i));
    begins[at] = (*pairs)[2 * i];
    ends[at] = (*pairs)[2 * i + 1];
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  if (std::all_of(begins.begin(), begins.end(), [](std::int64_t d) { return d == 0; })) return call.alias(0, 0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Pad, {x, call.integer_list(begins)}, std::move(attributes)), first);
}

void build_tile(Call& call) {
  const Ints* repeats = call.integers(1);
  const auto rank = call.rank(0);
  if (repeats != nullptr && rank && call.is_first(0) && repeats->size() == *rank) {
    return call.result(
        0, call.node(OpKind::Tile, {call.first(0), call.integer_list(permute(*repeats, to_first(*rank)))}), true);
  }
  if (!call.has(1)) return call.unknown();
  call.result(0, call.node(OpKind::Tile, {call.plain(0), call.plain(1)}));
}

void build_fill(Call& call) {
  if (!call.has(0)) return call.unknown();
  const Literal* filler = call.contents(1);
  Attributes attributes = {{"value_dtype", static_cast<std::int64_t>(call.dtype(1))}};
  if (filler != nullptr && filler->ints.size() == 1) attributes.push_back({"value", filler->ints[0]});
  if (filler != nullptr && filler->reals.size() == 1) attributes.push_back({"value", filler->reals[0]});
  call.result(0, call.node(OpKind::ConstantOfShape, {call.plain(0)}, std::move(attributes)));
}

void build_broadcast_to(Call& call) {
  if (!call.has(1)) return call.unknown();
  call.result(0, call.node(OpKind::Expand, {call.plain(0), call.plain(1)}));
}

// Of an image: its sizes in TensorFlow's order.
void build_shape(Call& call) {
  const auto rank = call.rank(0);
  if (!call.is_first(0) || !rank) return call.result(0, call.node(OpKind::Shape, {call.plain(0)}));
  const ValueId sizes = call.node(OpKind::Shape, {call.first(0)});
  call.result(0, call.node(OpKind::Gather, {sizes, call.integer_list(to_last(*rank))}));
}

void build_size(Call& call) {
  call.result(0, call.node(OpKind::Size, {call.is_first(0) ? call.first(0) : call.plain(0)}));
}

void build_rank(Call& call) {
  const auto rank = call.rank(0);
  if (!rank) return call.unknown();
  call.result(0, call.integer_scalar(std::int64_t(*rank)));
}

void build_range(Call& call) {
  call.result(0, call.node(OpKind::Range, {call.plain(0), call.plain(1), call.plain(2)}));
}

}  // namespace forerun::tensorflow
