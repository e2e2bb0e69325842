// Reductions, norms and sorting.
#include <limits>

#include "readers/paddle/operators.hpp"

namespace forerun::paddle {

namespace {

std::int64_t axis_of(const Call& c, std::string_view operand, std::string_view name, std::int64_t fallback) {
  const std::vector<std::int64_t> listed = c.ints_of(operand, name);
  return listed.empty() ? fallback : listed[0];
}

}  // namespace

Status reduce(Call& c) {
  ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  std::vector<std::int64_t> axes = c.ints_of("Axis", "dim");
  if (axes.empty()) axes = c.ints("axis");
  if (c.integer("reduce_all", 0) != 0) axes.clear();
  const std::int64_t keep = c.integer("keep_dim", c.integer("keepdim", 0));
  if (c.dtype(x) == DType::Bool) x = c.w.op(OpKind::Cast, {x}, {{"to", std::int64_t(DType::Int32)}}, DType::Int32);
  std::vector<ValueId> inputs = {x};
  if (!axes.empty()) inputs.push_back(c.w.constant(axes));
  c.emit(c.kind(), std::move(inputs), {{"keepdims", keep}});
  return ok();
}

// (sum |x|^p)^(1/p) over an axis.
Status norm(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  const double p = c.real("porder", 2);
  std::vector<ValueId> inputs = {x};
  if (c.integer("asvector", 0) == 0) {
    std::vector<std::int64_t> axes = c.ints("axis");
    if (axes.empty()) axes = c.ints("dim");
    if (!axes.empty()) inputs.push_back(c.w.constant(axes));
  }
  c.emit(p == 1 ? OpKind::ReduceL1 : OpKind::ReduceL2, std::move(inputs),
         {{"keepdims", c.integer("keepdim", c.integer("keep_dim", 0))}});
  return ok();
}

Status l2_normalize(Call& c) {
  c.emit(OpKind::LpNormalization, {c.in("X")}, {{"axis", c.integer("axis", -1)}, {"p", std::int64_t{2}}});
  return ok();
}

Status arg_reduce(Call& c) {
  ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  std::int64_t axis = axis_of(c, "Axis", "axis", -1);
  if (c.integer("flatten", 0) != 0) {
    x = c.w.op(OpKind::Reshape, {x, c.w.constant({-1})});
    axis = 0;
  }
  c.emit(c.kind(), {x}, {{"axis", axis}, {"keepdims", c.integer("keepdims", 0)}});
  return ok();
}

Status top_k(Call& c) {
  const ValueId x = c.in("X");
  const std::vector<std::int64_t> k = c.ints_of("K", "k");
  if (x == kNoValue || k.empty()) return c.unknown();
  c.w.add(OpKind::TopK, {x, c.w.constant({k[0]})}, {c.out(0), c.out(1)}, {{"axis", c.integer("axis", -1)}});
  return ok();
}

// Sorting is a TopK of everything.
Status arg_sort(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.w.add(OpKind::TopK, {x, c.w.constant({std::numeric_limits<std::int32_t>::max()})}, {c.out(0), c.out(1)},
          {{"axis", c.integer("axis", -1)}, {"largest", c.integer("descending", 0)}});
  return ok();
}

}  // namespace forerun::paddle
