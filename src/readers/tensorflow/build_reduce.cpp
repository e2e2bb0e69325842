// Reductions: axes follow the order of dimensions, and a result without them may be an image still.
#include <algorithm>

#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {

std::optional<Ints> axes_of(Call& call, std::size_t input, std::size_t rank) {
  const Ints* given = call.integers(input);
  if (given == nullptr) return std::nullopt;
  Ints axes;
  for (std::int64_t axis : *given) {
    if (axis < 0) axis += std::int64_t(rank);
    if (axis < 0 || axis >= std::int64_t(rank)) return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

namespace {

// What is left of channels-first dimensions after `axes` (TensorFlow's) are gone: nullopt when neither order fits.
std::optional<bool> is_first_without(const Ints& axes, std::size_t rank) {
  const auto gone = [&](std::int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  std::size_t left_of_space = 0;
  for (std::size_t i = 1; i + 1 < rank; ++i) left_of_space += gone(std::int64_t(i)) ? 0 : 1;
  if (gone(std::int64_t(rank) - 1) || left_of_space == 0) return false;
  return gone(0) ? std::nullopt : std::optional(true);
}

}  // namespace

void build_reduce(Call& call) {
  const auto rank = call.rank(0);
  const auto axes = rank ? axes_of(call, 1, *rank) : std::nullopt;
  const bool keeps = call.integer("keep_dims", call.integer("keepdims")) != 0;
  const Attribute keep{"keepdims", std::int64_t{keeps}};
  if (rank && axes && call.is_first(0)) {
    const std::optional<bool> first = keeps ? std::optional(true) : is_first_without(*axes, *rank);
    if (first) {
      Ints mapped;
      for (const std::int64_t axis : *axes) mapped.push_back(first_axis(axis, *rank));
      std::sort(mapped.begin(), mapped.end());
      if (call.kind() == OpKind::ReduceMean && *rank >= 4 && mapped.size() == *rank - 2 && mapped.front() == 2) {
        const ValueId pooled = call.node(OpKind::GlobalAveragePool, {call.first(0)});
        if (keeps) return call.result(0, pooled, true);
        return call.result(0, call.node(OpKind::Flatten, {pooled}, {{"axis", std::int64_t{1}}}), *first);
      }
      const ValueId y = call.node(call.kind(), {call.first(0), call.integer_list(mapped)}, {keep});
      return call.result(0, y, *first);
    }
  }
  if (rank == std::size_t{0} || (axes && axes->empty())) return call.alias(0, 0);
  call.result(0, call.node(call.kind(), {call.plain(0), axes ? call.integer_list(*axes) : call.plain(1)}, {keep}));
}

void build_arg_reduce(Call& call) {
  const auto rank = call.rank(0);
  const auto axes = rank && call.has(1) ? axes_of(call, 1, *rank) : std::optional(Ints{0});
  if (!axes || axes->size() != 1) return call.unknown();
  const bool last = rank && axes->front() == std::int64_t(*rank) - 1;
  const bool first = call.is_first(0) && last;  // without channels both orders are the same
  const std::int64_t axis = first ? 1 : axes->front();
  ValueId y =
      call.node(call.kind(), {first ? call.first(0) : call.plain(0)}, {{"axis", axis}, {"keepdims", std::int64_t{0}}});
  const Tensor* to = call.output_tensor(0);
  if (to != nullptr && to->dtype != DType::Int64 && is_integer(to->dtype)) call.value(y).dtype = to->dtype;
  call.result(0, y);
}

}  // namespace forerun::tensorflow
