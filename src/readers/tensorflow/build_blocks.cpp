// Blocks of an image that move into the batch and back: dilated convolutions of older programs.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {
namespace {

bool all_small(const Ints& values) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v >= 0 && v < kMost; });
}

}  // namespace

// Blocks of the space move into the batch and back: a padding, a reshape, a transposition, a reshape.
void build_space_to_batch(Call& call) {
  const Ints* block = call.integers(1);
  const Ints* pads = call.example(2);
  const auto dims = call.shape(0);
  if (block == nullptr || pads == nullptr || !dims || pads->size() != 2 * block->size() ||
      dims->size() < block->size() + 1 || !all_small(*block) || !all_small(*pads))
    return call.unknown();
  const std::size_t space = block->size();
  Ints begins(dims->size(), 0), ends(dims->size(), 0), inner = {(*dims)[0]}, order, outer = {(*dims)[0]};
  for (std::size_t i = 0; i < space; ++i) {
    begins[i + 1] = (*pads)[2 * i];
    ends[i + 1] = (*pads)[2 * i + 1];
    const std::int64_t size = (*dims)[i + 1] + begins[i + 1] + ends[i + 1];
    if ((*block)[i] <= 0 || size < 0 || size % (*block)[i] != 0) return call.unknown();
    inner.insert(inner.end(), {size / (*block)[i], (*block)[i]});
    outer[0] = checked_mul(outer[0], (*block)[i]);
    outer.push_back(size / (*block)[i]);
    order.push_back(std::int64_t(2 * i + 2));
  }
  order.push_back(0);
  for (std::size_t i = 0; i < space; ++i) order.push_back(std::int64_t(2 * i + 1));
  for (std::size_t i = space + 1; i < dims->size(); ++i) {
    order.push_back(std::int64_t(i + space));
    inner.push_back((*dims)[i]);
    outer.push_back((*dims)[i]);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  const ValueId padded = call.node(OpKind::Pad, {call.plain(0), call.integer_list(begins)});
  inner[0] = outer[0] = -1;
  call.result(0, call.reshape(call.transposed(call.reshape(padded, inner), order), outer));
}

void build_batch_to_space(Call& call) {
  const Ints* block = call.integers(1);
  const Ints* crops = call.example(2);
  const auto dims = call.shape(0);
  if (block == nullptr || crops == nullptr || !dims || crops->size() != 2 * block->size() ||
      dims->size() < block->size() + 1 || !all_small(*block) || !all_small(*crops))
    return call.unknown();
  const std::size_t space = block->size();
  Ints inner = *block, order = {std::int64_t(space)}, outer = {-1}, starts, ends, axes;
  inner.push_back(-1);
  inner.insert(inner.end(), dims->begin() + 1, dims->end());
  for (std::size_t i = 0; i < space; ++i) {
    order.insert(order.end(), {std::int64_t(space + 1 + i), std::int64_t(i)});
    outer.push_back(checked_mul((*dims)[i + 1], std::max<std::int64_t>(0, (*block)[i])));
    starts.push_back((*crops)[2 * i]);
    ends.push_back(outer.back() - (*crops)[2 * i + 1]);
    axes.push_back(std::int64_t(i + 1));
  }
  for (std::size_t i = space + 1; i < dims->size(); ++i) {
    order.push_back(std::int64_t(i + space));
    outer.push_back((*dims)[i]);
  }
  const ValueId whole = call.reshape(call.transposed(call.reshape(call.plain(0), inner), order), outer);
  call.result(0, call.node(OpKind::Slice,
                           {whole, call.integer_list(starts), call.integer_list(ends), call.integer_list(axes)}));
}

}  // namespace forerun::tensorflow
