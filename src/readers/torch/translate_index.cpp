// Operators that pick elements by position, or write to positions.
#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "ops/rule_context.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {

void select(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const auto axis = std::int64_t(c.axis(c.integer("dim"), c.rank(x)));
  if (c.failed()) return;
  const ValueId at = c.operand("index", DType::Int64);
  if (!c.failed()) c.give(c.node(OpKind::Gather, {x, at}, {{"axis", axis}}));
}

namespace {

ValueId slice_of(Call& c, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::vector<std::int64_t> starts{start}, ends{end}, axes{axis}, steps{step};
  return c.node(OpKind::Slice, {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}});
}

}  // namespace

void slice(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const std::size_t axis = c.axis(c.integer("dim", 0), c.rank(x));
  const std::int64_t size = c.failed() ? 0 : c.dims(x)[axis];
  const std::int64_t start = c.integer("start", 0), end = c.integer("end", kSizeLimit), step = c.integer("step", 1);
  if (c.failed()) return;
  const bool whole = (start == 0 || start <= -size) && end >= size && step == 1;
  c.give(whole ? x : slice_of(c, x, std::int64_t(axis), start, end, step));
}

void narrow(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed() || c.rank(x) == 0) return c.fail("the input is a scalar");
  const std::size_t axis = c.axis(c.integer("dim"), c.rank(x));
  const std::int64_t start = c.integer("start"), length = c.integer("length");
  if (c.failed()) return;
  const std::int64_t first = start < 0 ? start + c.dims(x)[axis] : start;
  c.give(slice_of(c, x, std::int64_t(axis), first,
                  checked_add(std::max<std::int64_t>(0, first), std::max<std::int64_t>(0, length)), 1));
}

void embedding(Call& c) {
  const ValueId table = c.tensor("weight"), indices = c.tensor("indices");
  if (!c.failed()) c.give(c.node(OpKind::Gather, {table, indices}, {{"axis", std::int64_t{0}}}));
}

// Rows summed by bag: a gather and a reduction in one kernel, seen as the gather and a sum.
void embedding_bag(Call& c) {
  const ValueId table = c.tensor("weight"), indices = c.tensor("indices"), offsets = c.tensor("offsets");
  if (c.failed() || c.rank(table) != 2 || c.rank(offsets) != 1) return c.fail("the table is no matrix");
  const ValueId rows = c.node(OpKind::Gather, {table, indices}, {{"axis", std::int64_t{0}}});
  const ValueId sums =
      c.node(OpKind::ReduceSum, {rows}, {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{1}}});
  c.give(c.node(OpKind::Expand, {sums, c.ints({c.dims(offsets)[0], c.dims(table)[1]})}));
}

void index_select(Call& c) {
  const ValueId x = c.tensor("self"), indices = c.tensor("index");
  if (c.failed()) return;
  const auto axis = std::int64_t(c.axis(c.integer("dim"), c.rank(x)));
  if (!c.failed()) c.give(c.node(OpKind::Gather, {x, indices}, {{"axis", axis}}));
}

void gather(Call& c) {
  const ValueId x = c.tensor("self"), indices = c.tensor("index");
  if (c.failed()) return;
  const auto axis = std::int64_t(c.axis(c.integer("dim"), c.rank(x)));
  if (!c.failed()) c.give(c.node(OpKind::GatherElements, {x, indices}, {{"axis", axis}}));
}

namespace {

// Several index tensors of neighbouring dimensions: the dimensions are joined and one index is made of all.
void index_several(Call& c, ValueId x, const std::vector<ValueId>& indices, std::size_t first, std::size_t last) {
  const Dims shape = c.dims(x);
  Dims joined(shape.begin(), shape.begin() + std::ptrdiff_t(first));
  joined.push_back(checked_product(std::span(shape).subspan(first, last - first + 1)));
  joined.insert(joined.end(), shape.begin() + std::ptrdiff_t(last) + 1, shape.end());
  ValueId place = indices[first];
  for (std::size_t i = first + 1; i <= last; ++i) place = c.node(OpKind::Add, {place, indices[i]});
  c.give(c.node(OpKind::Gather, {c.reshape(x, joined), place}, {{"axis", std::int64_t(first)}}));
}

}  // namespace

// x[:, i, j]: an index tensor, or nothing, for each dimension; a mask picks as many elements as it holds at most.
void index(Call& c) {
  ValueId x = c.tensor("self");
  const std::vector<ValueId> indices = c.tensors("indices");
  if (c.failed()) return;
  std::vector<std::size_t> given;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != kNoValue) given.push_back(i);
  }
  if (given.empty() || indices.size() > c.rank(x)) return c.fail("the indices do not fit the input");
  const ValueId only = indices[given.front()];
  if (given.size() == 1 && (c.dtype_of(only) == DType::Bool || c.dtype_of(only) == DType::UInt8)) {
    const Dims shape = c.dims(x), mask = c.dims(only);
    const std::size_t at = given.front();
    if (at + mask.size() > shape.size() || mask.empty()) return c.fail("the mask does not fit the input");
    Dims joined(shape.begin(), shape.begin() + std::ptrdiff_t(at));
    joined.push_back(checked_product(mask));
    joined.insert(joined.end(), shape.begin() + std::ptrdiff_t(at + mask.size()), shape.end());
    return c.give(
        c.node(OpKind::Compress, {c.reshape(x, joined), c.reshape(only, {-1})}, {{"axis", std::int64_t(at)}}));
  }
  if (given.size() == 1) return c.give(c.node(OpKind::Gather, {x, only}, {{"axis", std::int64_t(given.front())}}));
  if (given.back() - given.front() + 1 != given.size()) {  // apart: PyTorch brings them to the front
    std::vector<std::int64_t> order;
    for (const std::size_t i : given) order.push_back(std::int64_t(i));
    for (std::size_t i = 0; i < c.rank(x); ++i) {
      if (std::find(given.begin(), given.end(), i) == given.end()) order.push_back(std::int64_t(i));
    }
    std::vector<ValueId> front;
    for (const std::size_t i : given) front.push_back(indices[i]);
    return index_several(c, c.transpose(x, order), front, 0, front.size() - 1);
  }
  index_several(c, x, indices, given.front(), given.back());
}

// Writes values to positions of a copy of the tensor.
void index_put(Call& c) {
  const ValueId x = c.tensor("self"), values = c.tensor("values");
  std::vector<ValueId> inputs = {x};
  for (const ValueId id : c.tensors("indices")) {
    if (id != kNoValue && inputs.size() == 1) inputs.push_back(id);
  }
  if (inputs.size() < 2) c.fail("no index is given");
  inputs.push_back(values);
  if (!c.failed()) c.give(c.node(OpKind::ScatterND, inputs));
}

void scatter(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const ValueId indices = c.tensor(c.has("mask") ? "mask" : "index");
  const std::string_view source = c.has("src") ? "src" : c.has("source") ? "source" : "value";
  const ValueId values = c.operand(source, c.dtype_of(x));
  if (!c.failed()) c.give(c.node(OpKind::ScatterElements, {x, indices, values}));
}

// slice_scatter, select_scatter: a part of a copy is replaced.
void select_scatter(Call& c) {
  const ValueId x = c.tensor("self"), source = c.tensor("src");
  if (!c.failed()) c.give(c.node(OpKind::ScatterND, {x, c.scalar(0, DType::Int64), source}));
}

void one_hot(Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t classes = c.integer("num_classes", -1);
  if (c.failed() || classes <= 0) return c.fail("the number of classes is known only at run time");
  c.give(c.node(OpKind::OneHot, {x, c.scalar(double(classes), DType::Int64), c.ints({0, 1})}));
}

void triangle(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed())
    c.give(c.node(OpKind::Trilu, {x, c.scalar(double(c.integer("diagonal", 0)), DType::Int64)},
                  {{"upper", std::int64_t(c.row().name == "triu")}}));
}

// The diagonal of two dimensions, as the last one: one element of each row.
void diagonal(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const std::size_t rank = c.rank(x);
  if (rank < 2) return c.fail("the input is no matrix");
  const std::size_t a = c.axis(c.integer("dim1", 0), rank), b = c.axis(c.integer("dim2", 1), rank);
  if (c.failed() || a == b) return c.fail("the two dimensions are one");
  Dims shape = c.dims(x);
  const std::int64_t length = std::min(shape[a], shape[b]);
  shape.erase(shape.begin() + std::ptrdiff_t(std::max(a, b)));
  shape.erase(shape.begin() + std::ptrdiff_t(std::min(a, b)));
  shape.push_back(length);
  const ValueId y = c.node(OpKind::UnfoldTensor, {x}, {}, "Diagonal");
  c.writer().value(y).dtype = c.dtype_of(x);
  c.writer().value(y).has_shape = true;
  c.writer().value(y).dims = shape;
  c.give(y);
}

// copy_(x, source): x with the source's elements.
void copy(Call& c) {
  const ValueId x = c.tensor("self"), source = c.tensor("src");
  if (c.failed()) return;
  const Dims to = c.dims(x), from = c.dims(source);
  if (c.failed()) return;
  const ValueId typed = c.cast(source, c.dtype_of(x));
  c.give(to == from ? typed : c.node(OpKind::Expand, {typed, c.ints(to)}));
}

}  // namespace forerun::pytorch
