// Reductions, sorting and counting.
#include <algorithm>

#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

// Axes and keepdims of a reduction; no axes: all of them.
std::vector<Attribute> over(Call& c, ValueId x, std::string_view name = "dim") {
  std::vector<Attribute> attributes;
  const std::size_t rank = c.rank(x);
  std::vector<std::int64_t> axes = c.integers(name);
  for (std::int64_t& axis : axes) axis = std::int64_t(c.axis(axis, rank));
  if (rank == 0) axes.clear();
  const bool all = axes.empty();
  if (!all) attributes.push_back({"axes", std::move(axes)});
  attributes.push_back({"keepdims", std::int64_t(c.flag("keepdim", false))});
  return attributes;
}

}  // namespace

void reduction(Call& c) {
  ValueId x = c.tensor("self");
  if (c.failed()) return;
  const bool sums = c.row().kind == OpKind::ReduceSum || c.row().kind == OpKind::ReduceProd;
  if (const auto type = c.dtype("dtype")) {
    x = c.cast(x, *type);
  } else if (sums && c.dtype_of(x) == DType::Bool) {
    x = c.cast(x, DType::Int64);
  }
  const bool logical = c.row().name == "any" || c.row().name == "all";
  if (logical) x = c.cast(x, DType::Bool);
  const auto attributes = over(c, x);
  if (!c.failed()) c.give(c.node(c.row().kind, {x}, attributes));
}

// max and min: of everything, along a dimension with positions, or of two tensors.
void extreme(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const bool largest = c.row().kind == OpKind::ReduceMax;
  for (const std::string_view name : {"other", "dim"}) {
    if (c.is_tensor(name)) return c.give(c.node(largest ? OpKind::Max : OpKind::Min, {x, c.tensor(name)}));
  }
  const auto attributes = over(c, x);
  if (c.failed()) return;
  c.give(c.node(c.row().kind, {x}, attributes));
  if (!c.has("dim") || !c.is_used(1)) return;
  const std::vector<std::int64_t> axes = c.integers("dim");
  c.give(c.node(largest ? OpKind::ArgMax : OpKind::ArgMin, {x},
                {{"axis", axes.front()}, {"keepdims", std::int64_t(c.flag("keepdim", false))}}));
}

void extreme_position(Call& c) {
  ValueId x = c.tensor("self");
  if (c.failed()) return;
  std::int64_t axis = 0;
  if (c.has("dim")) {
    axis = std::int64_t(c.axis(c.integer("dim"), c.rank(x)));
  } else {
    x = c.reshape(x, {-1});
  }
  if (!c.failed())
    c.give(c.node(c.row().kind, {x}, {{"axis", axis}, {"keepdims", std::int64_t(c.flag("keepdim", false))}}));
}

void vector_norm(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const double order = c.has("ord") ? c.real("ord", 2) : c.real("p", 2);
  const auto attributes = over(c, x);
  if (!c.failed()) c.give(c.node(order == 1 ? OpKind::ReduceL1 : OpKind::ReduceL2, {x}, attributes));
}

// One pass that keeps mean and squares: costs as much as a sum of squares.
void variance(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const auto attributes = over(c, x);
  if (!c.failed()) c.give(c.node(OpKind::ReduceSumSquare, {x}, attributes, c.row().name == "std" ? "Std" : "Var"));
}

void variance_and_mean(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const auto attributes = over(c, x);
  if (c.failed()) return;
  c.give(c.node(OpKind::ReduceSumSquare, {x}, attributes, c.row().name == "std_mean" ? "Std" : "Var"));
  c.give(c.node(OpKind::ReduceMean, {x}, attributes));
}

void cumulative_sum(Call& c) {
  ValueId x = c.tensor("self");
  if (c.failed()) return;
  if (c.dtype_of(x) == DType::Bool) x = c.cast(x, DType::Int64);
  const std::int64_t axis = std::int64_t(c.axis(c.integer("dim", 0), c.rank(x)));
  if (!c.failed()) c.give(c.node(OpKind::CumSum, {x, c.scalar(double(axis), DType::Int64)}));
}

void top_k(Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t k = c.integer("k");
  if (c.failed()) return;
  const std::int64_t axis = std::int64_t(c.axis(c.integer("dim", -1), c.rank(x)));
  if (c.failed()) return;
  for (const ValueId id : c.nodes(OpKind::TopK, {x, c.ints({k})}, {{"axis", axis}}, 2)) c.give(id);
}

void sort(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const std::size_t axis = c.axis(c.integer("dim", -1), c.rank(x));
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const std::int64_t size = c.dims(x)[axis];
  const auto sorted = c.nodes(OpKind::TopK, {x, c.ints({size})}, {{"axis", std::int64_t(axis)}}, 2);
  if (c.row().name == "argsort") return c.give(sorted[1]);
  c.give(sorted[0]);
  c.give(sorted[1]);
}

void non_zero(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.transpose(c.node(OpKind::NonZero, {x}), {1, 0}));
}

}  // namespace forerun::pytorch
