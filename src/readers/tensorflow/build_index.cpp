// Operators that pick elements: slices, gathers, scatters, sorting, random numbers.
#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int32_t>::max();

bool bit(std::int64_t mask, std::size_t i) { return i < 32 && ((mask >> i) & 1) != 0; }

}  // namespace

// begin and size of every dimension; a size of -1 reaches the end.
void build_slice(Call& call) {
  const Ints* begin = call.integers(1);
  const Ints* size = call.integers(2);
  const auto rank = call.rank(0);
  if (begin == nullptr || size == nullptr || begin->size() != size->size() || !rank || begin->size() != *rank) {
    if (!call.has(1) || !call.has(2)) return call.unknown();
    // Ends are known at run time: begin + size.
    const ValueId end = call.node(OpKind::Add, {call.plain(1), call.plain(2)});
    return call.result(0, call.node(OpKind::Slice, {call.plain(0), call.plain(1), end}));
  }
  const bool first = call.is_first(0);
  Ints starts, ends, axes;
  for (std::size_t i = 0; i < *rank; ++i) {
    if ((*begin)[i] == 0 && (*size)[i] == -1) continue;
    starts.push_back((*begin)[i]);
    ends.push_back((*size)[i] < 0 ? kEnd : (*begin)[i] > kEnd || (*size)[i] > kEnd ? kEnd : (*begin)[i] + (*size)[i]);
    axes.push_back(first ? first_axis(std::int64_t(i), *rank) : std::int64_t(i));
  }
  if (starts.empty()) return call.alias(0, 0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  const ValueId y =
      call.node(OpKind::Slice, {x, call.integer_list(starts), call.integer_list(ends), call.integer_list(axes)});
  call.result(0, y, first);
}

namespace {

struct StridedSlice {
  Ints starts, ends, steps, axes;  // of the dimensions that are cut
  Ints removed, inserted;          // squeezed after cutting; new axes of the result
  bool is_known = false;           // starts and ends are
};

// One entry of begin, end and strides at a time, in the input's dimensions.
std::optional<StridedSlice> read_strided(Call& call, std::size_t rank) {
  const Ints* begin = call.integers(1);
  const Ints* end = call.integers(2);
  const Ints* steps = call.integers(3);
  const auto count_of = [&](std::size_t i) -> std::size_t {
    const auto dims = call.shape(i);
    return dims && dims->size() == 1 && dims->front() >= 0 ? std::size_t(dims->front()) : 0;
  };
  const std::size_t entries = std::max({count_of(1), count_of(2), count_of(3)});
  if (entries == 0 || entries > kMaxRank) return std::nullopt;
  const std::int64_t begins = call.integer("begin_mask"), ends = call.integer("end_mask"),
                     ellipsis = call.integer("ellipsis_mask"), inserts = call.integer("new_axis_mask"),
                     shrinks = call.integer("shrink_axis_mask");
  std::size_t after = 0;  // entries behind an ellipsis that take a dimension
  bool seen = false;
  for (std::size_t i = 0; i < entries; ++i) {
    if (bit(ellipsis, i))
      seen = true;
    else if (seen && !bit(inserts, i))
      ++after;
  }
  StridedSlice slice;
  slice.is_known = true;
  std::size_t axis = 0, out = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    if (bit(ellipsis, i)) {
      const std::size_t next = rank >= after ? std::max(axis, rank - after) : axis;
      out += next - axis;
      axis = next;
      continue;
    }
    if (bit(inserts, i)) {
      slice.inserted.push_back(std::int64_t(out++));
      continue;
    }
    if (axis >= rank) return std::nullopt;
    const bool shrink = bit(shrinks, i);
    const bool from_begin = bit(begins, i) && !shrink, to_end = bit(ends, i) && !shrink;
    const std::int64_t step = steps != nullptr && i < steps->size() && !shrink ? (*steps)[i] : 1;
    const bool has_begin = begin != nullptr && i < begin->size(), has_end = end != nullptr && i < end->size();
    if ((!from_begin && !has_begin) || (!to_end && !shrink && !has_end)) slice.is_known = false;
    const std::int64_t start = from_begin ? (step > 0 ? 0 : kEnd) : has_begin ? (*begin)[i] : 0;
    std::int64_t stop = to_end ? (step > 0 ? kEnd : -kEnd) : has_end ? (*end)[i] : 0;
    if (shrink) stop = start == -1 ? kEnd : start + (start < kEnd ? 1 : 0);
    if (!(from_begin && to_end && step == 1)) {
      slice.starts.push_back(start);
      slice.ends.push_back(stop);
      slice.steps.push_back(step);
      slice.axes.push_back(std::int64_t(axis));
    }
    if (shrink)
      slice.removed.push_back(std::int64_t(axis));
    else
      ++out;
    ++axis;
  }
  return slice;
}

// Starts or ends known at run time only: where a mask says so, the ends of the dimension.
ValueId masked(Call& call, std::size_t input, std::int64_t mask, std::int64_t instead) {
  const auto dims = call.shape(input);
  if (mask == 0 || !dims || dims->size() != 1) return call.plain(input);
  Ints keep, fill;
  for (std::int64_t i = 0; i < dims->front(); ++i) {
    keep.push_back(bit(mask, std::size_t(i)) ? 0 : 1);
    fill.push_back(bit(mask, std::size_t(i)) ? instead : 0);
  }
  const ValueId kept = call.node(OpKind::Mul, {call.plain(input), call.integer_list(keep)});
  return instead == 0 ? kept : call.node(OpKind::Add, {kept, call.integer_list(fill)});
}

}  // namespace

void build_strided_slice(Call& call) {
  const auto rank = call.rank(0);
  if (!rank) return call.unknown();
  const auto slice = read_strided(call, *rank);
  if (!slice) return call.unknown();
  const auto stays_inside = [&](std::int64_t axis) { return axis > 0 && axis < std::int64_t(*rank) - 1; };
  const bool first =
      call.is_first(0) && slice->is_known && slice->inserted.empty() &&
      (slice->removed.empty() ||
       (std::all_of(slice->removed.begin(), slice->removed.end(), stays_inside) && slice->removed.size() < *rank - 2));
  const auto place = [&](std::int64_t axis) { return first ? first_axis(axis, *rank) : axis; };
  ValueId y = first ? call.first(0) : call.plain(0);
  // One index of one dimension: select, which is a Gather of a scalar here as in PyTorch's files.
  if (slice->is_known && slice->axes.size() == 1 && slice->removed == slice->axes && slice->inserted.empty() &&
      is_floating(call.dtype(0)) && *rank > 1) {
    const ValueId index = call.integer_scalar(slice->starts.front());
    return call.result(0, call.node(OpKind::Gather, {y, index}, {{"axis", place(slice->axes.front())}}), first);
  }
  if (slice->is_known) {
    Ints axes;
    for (const std::int64_t axis : slice->axes) axes.push_back(place(axis));
    if (!axes.empty())
      y = call.node(OpKind::Slice, {y, call.integer_list(slice->starts), call.integer_list(slice->ends),
                                    call.integer_list(axes), call.integer_list(slice->steps)});
  } else {
    if (call.integer("ellipsis_mask") != 0 || call.integer("new_axis_mask") != 0) return call.unknown();
    const std::int64_t shrinks = call.integer("shrink_axis_mask");
    ValueId starts = masked(call, 1, call.integer("begin_mask") & ~shrinks, 0);
    ValueId ends = masked(call, 2, call.integer("end_mask") & ~shrinks, kEnd);
    if (shrinks != 0) ends = call.node(OpKind::Add, {starts, call.integer_list({1})});
    Ints axes;
    const auto count = call.shape(1);
    for (std::int64_t i = 0; count && count->size() == 1 && i < count->front(); ++i) axes.push_back(i);
    y = call.node(OpKind::Slice, {y, starts, ends, call.integer_list(axes), call.plain(3)});
  }
  Ints removed;
  for (const std::int64_t axis : slice->removed) removed.push_back(place(axis));
  std::sort(removed.begin(), removed.end());
  if (!removed.empty()) y = call.node(OpKind::Squeeze, {y, call.integer_list(removed)});
  if (!slice->inserted.empty()) y = call.node(OpKind::Unsqueeze, {y, call.integer_list(slice->inserted)});
  if (slice->is_known && slice->axes.empty() && removed.empty() && slice->inserted.empty()) return call.alias(0, 0);
  call.result(0, y, first);
}

void build_gather(Call& call) {
  const Ints* given = call.integers(2);
  std::int64_t axis = given != nullptr && given->size() == 1 ? given->front() : call.integer("axis");
  const std::int64_t batch = call.integer("batch_dims");
  const auto rank = call.rank(0);
  if (axis < 0 && rank) axis += std::int64_t(*rank);
  if (batch > 0) {
    // Each sample gathers by its own indices.
    if (axis != batch) return call.unknown();
    const auto indices = call.rank(1);
    if (!indices) return call.unknown();
    const ValueId deeper = call.node(OpKind::Unsqueeze, {call.plain(1), call.integer_list({std::int64_t(*indices)})});
    return call.result(0, call.node(OpKind::GatherND, {call.plain(0), deeper}, {{"batch_dims", batch}}));
  }
  call.result(0, call.node(OpKind::Gather, {call.plain(0), call.plain(1)}, {{"axis", axis}}));
}

void build_embedding_lookup(Call& call) {  // indices, table
  call.result(0, call.node(OpKind::Gather, {call.plain(1), call.plain(0)}, {{"axis", std::int64_t{0}}}));
}

void build_gather_nd(Call& call) {
  call.result(
      0, call.node(OpKind::GatherND, {call.plain(0), call.plain(1)}, {{"batch_dims", call.integer("batch_dims")}}));
}

void build_one_hot(Call& call) {  // indices, depth, on, off
  if (!call.has(1) || !call.has(2)) return call.unknown();
  const ValueId y =
      call.node(OpKind::OneHot, {call.plain(0), call.plain(1), call.plain(2)}, {{"axis", call.integer("axis", -1)}});
  call.result(0, y);
}

void build_top_k(Call& call) {
  Attributes attributes = {{"axis", std::int64_t{-1}}};
  std::vector<ValueId> inputs = {call.plain(0)};
  if (call.has(1)) {
    const auto dims = call.shape(1);
    inputs.push_back(dims && dims->empty() ? call.reshape(call.plain(1), {1}) : call.plain(1));
    if (const Ints* k = call.integers(1); k != nullptr && k->size() == 1) inputs.back() = call.integer_list(*k);
  } else {
    attributes.push_back({"k", Ints{call.integer("k", 1)}});
  }
  const ValueId y = call.node(OpKind::TopK, std::move(inputs), std::move(attributes), 2);
  const Tensor* indices = call.output_tensor(1);
  if (indices != nullptr && indices->dtype == DType::Int32) call.value(y + 1).dtype = DType::Int32;
  call.result(0, y);
  call.result(1, y + 1);
}

// Where of one operand gives the places that are true, one per row.
void build_where(Call& call) {
  const ValueId found = call.node(OpKind::NonZero, {call.plain(0)});
  call.result(0, call.node(OpKind::Transpose, {found}, {{"perm", Ints{1, 0}}}));
}

void build_scatter_nd(Call& call) {  // indices, updates, shape
  if (!call.has(2)) return call.unknown();
  const auto type = static_cast<std::int64_t>(call.dtype(1));
  const ValueId zeros =
      call.node(OpKind::ConstantOfShape, {call.plain(2)}, {{"value_dtype", type}, {"value", std::int64_t{0}}});
  call.result(0, call.node(OpKind::ScatterND, {zeros, call.plain(0), call.plain(1)}));
}

void build_update_slice(Call& call) {  // operand, update, starts
  call.result(0, call.node(OpKind::ScatterND, {call.plain(0), call.plain(2), call.plain(1)}));
}

void build_reverse(Call& call) {
  const auto rank = call.rank(0);
  const auto axes = rank ? axes_of(call, 1, *rank) : std::nullopt;
  if (!axes) return call.unknown();
  if (axes->empty()) return call.alias(0, 0);
  const bool first = call.is_first(0);
  Ints mapped;
  for (const std::int64_t axis : *axes) mapped.push_back(first ? first_axis(axis, *rank) : axis);
  const Ints starts(axes->size(), kEnd), ends(axes->size(), -kEnd), steps(axes->size(), -1);
  const ValueId y =
      call.node(OpKind::Slice, {first ? call.first(0) : call.plain(0), call.integer_list(starts),
                                call.integer_list(ends), call.integer_list(mapped), call.integer_list(steps)});
  call.result(0, y, first);
}

void build_cumsum(Call& call) { call.result(0, call.node(OpKind::CumSum, {call.plain(0), call.plain(1)})); }

// TensorFlow's works on one image and one class: boxes [n, 4], scores [n].
void build_nms(Call& call) {
  if (!call.has(2)) return call.unknown();
  const ValueId boxes = call.node(OpKind::Unsqueeze, {call.plain(0), call.integer_list({0})});
  const ValueId scores = call.node(OpKind::Unsqueeze, {call.plain(1), call.integer_list({0, 1})});
  const Ints* limit = call.integers(2);
  const ValueId most = limit != nullptr ? call.integer_list(*limit) : call.reshape(call.plain(2), {1});
  const ValueId found = call.node(OpKind::NonMaxSuppression, {boxes, scores, most});
  const ValueId column = call.node(OpKind::Gather, {found, call.integer_scalar(2)}, {{"axis", std::int64_t{1}}});
  call.result(0, column);
  const std::string& type = call.operation().type;
  const bool with_scores = type.ends_with("V5");
  if (with_scores) call.result(1, call.node(OpKind::Gather, {call.plain(1), column}, {{"axis", std::int64_t{0}}}));
  call.result(with_scores ? 2 : 1, call.node(OpKind::Size, {column}));
}

void build_random(Call& call) {
  const Ints* dims = call.example(0);
  const Tensor* to = call.output_tensor(0);
  if (dims == nullptr || to == nullptr) return call.unknown();
  call.result(0, call.node(call.kind(), {}, {{"shape", *dims}, {"dtype", static_cast<std::int64_t>(to->dtype)}}));
}

void build_unique(Call& call) {
  const ValueId y = call.node(OpKind::Unique, {call.plain(0)}, {}, 3);
  call.result(0, y);
  call.result(1, y + 2);
}

void build_band_part(Call& call) { call.result(0, call.node(OpKind::Trilu, {call.plain(0)})); }

}  // namespace forerun::tensorflow
