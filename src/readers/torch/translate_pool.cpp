// Pooling, resizing and sampling of images.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

// Dimensions that a pool moves over: the digit in the operator's name.
std::size_t dimensions_of(const Call& c) {
  const std::size_t digit = c.row().name.find("d", c.row().name.find_first_of("123"));
  return std::size_t(c.row().name[digit - 1] - '0');
}

// The input with a batch, which PyTorch lets one leave out.
ValueId with_batch(Call& c, ValueId x, std::size_t dimensions, bool& unbatched) {
  const std::size_t rank = c.rank(x);
  unbatched = rank == dimensions + 1;
  if (!unbatched && rank != dimensions + 2) c.fail("the input has " + std::to_string(rank) + " dimensions");
  return unbatched && !c.failed() ? c.unsqueeze(x, {0}) : x;
}

std::vector<Attribute> window(Call& c, std::size_t dimensions) {
  const auto kernel = c.integers("kernel_size", dimensions, 1);
  auto strides = c.integers("stride", dimensions, 0);
  if (std::count(strides.begin(), strides.end(), 0) > 0) strides = kernel;
  auto pads = c.integers("padding", dimensions, 0);
  pads.insert(pads.end(), pads.begin(), pads.end());
  return {{"kernel_shape", kernel},
          {"strides", strides},
          {"pads", pads},
          {"ceil_mode", std::int64_t(c.flag("ceil_mode", false))}};
}

void give(Call& c, std::vector<ValueId> results, bool unbatched) {
  for (const ValueId id : results) c.give(unbatched ? c.squeeze(id, {0}) : id);
}

}  // namespace

void max_pool(Call& c) {
  const std::size_t dimensions = dimensions_of(c);
  bool unbatched = false;
  const ValueId x = with_batch(c, c.tensor("self"), dimensions, unbatched);
  auto attributes = window(c, dimensions);
  attributes.push_back({"dilations", c.integers("dilation", dimensions, 1)});
  if (c.failed()) return;
  const bool indices = c.row().name.find("with_indices") != std::string_view::npos;
  give(c, c.nodes(OpKind::MaxPool, {x}, attributes, indices ? 2 : 1), unbatched);
}

void average_pool(Call& c) {
  const std::size_t dimensions = dimensions_of(c);
  bool unbatched = false;
  const ValueId x = with_batch(c, c.tensor("self"), dimensions, unbatched);
  auto attributes = window(c, dimensions);
  attributes.push_back({"count_include_pad", std::int64_t(c.flag("count_include_pad", true))});
  if (!c.failed()) give(c, {c.node(OpKind::AveragePool, {x}, attributes)}, unbatched);
}

namespace {

void adaptive_pool(Call& c, OpKind global, OpKind pool, std::size_t results) {
  const std::size_t dimensions = dimensions_of(c);
  bool unbatched = false;
  const ValueId x = with_batch(c, c.tensor("self"), dimensions, unbatched);
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  std::vector<std::int64_t> kernel, strides;
  auto wanted = c.find("output_size") != nullptr && c.find("output_size")->as<List>() != nullptr
                    ? std::vector<std::int64_t>{}
                    : c.integers("output_size", dimensions, 1);
  if (wanted.empty()) {  // None keeps a dimension
    const auto& items = **c.find("output_size")->as<List>();
    for (std::size_t i = 0; i < dimensions && i < items.size(); ++i)
      wanted.push_back(items[i].is_none() ? shape[2 + i] : integer_of(items[i]).value_or(0));
  }
  bool all_one = wanted.size() == dimensions;
  for (std::size_t i = 0; i < dimensions && i < wanted.size(); ++i) {
    if (wanted[i] <= 0 || wanted[i] > kSizeLimit / 4) return c.fail("the pooled size is not positive");
    all_one = all_one && wanted[i] == 1;
    // Windows differ by one where the sizes do not divide; all are given the largest.
    strides.push_back(std::max<std::int64_t>(1, shape[2 + i] / wanted[i]));
    kernel.push_back(std::max<std::int64_t>(1, shape[2 + i] - (wanted[i] - 1) * strides.back()));
  }
  if (wanted.size() != dimensions) return c.fail("'output_size' does not fit the input");
  if (all_one && results == 1) return give(c, {c.node(global, {x})}, unbatched);
  bool larger = false;
  for (std::size_t i = 0; i < dimensions; ++i) larger = larger || wanted[i] > shape[2 + i];
  if (larger) {  // every point is repeated
    Dims sizes = shape;
    std::copy(wanted.begin(), wanted.end(), sizes.begin() + 2);
    return give(c, {c.node(OpKind::Resize, {x, kNoValue, kNoValue, c.ints(sizes)}, {{"mode", std::string("nearest")}})},
                unbatched);
  }
  give(c, c.nodes(pool, {x}, {{"kernel_shape", kernel}, {"strides", strides}}, results), unbatched);
}

}  // namespace

void adaptive_average_pool(Call& c) { adaptive_pool(c, OpKind::GlobalAveragePool, OpKind::AveragePool, 1); }
void adaptive_max_pool(Call& c) { adaptive_pool(c, OpKind::GlobalMaxPool, OpKind::MaxPool, 2); }

// upsample_nearest2d and its kin: the size, or factors of it.
void upsample(Call& c) {
  const ValueId x = c.tensor(c.has("input") ? "input" : "self");
  if (c.failed()) return;
  Dims sizes = c.dims(x);
  if (sizes.size() < 3) return c.fail("the input is no image");
  const std::size_t dimensions = sizes.size() - 2;
  const std::string_view name = c.row().name;
  if (c.has("output_size")) {
    const auto wanted = c.integers("output_size", dimensions, 0);
    std::copy(wanted.begin(), wanted.end(), sizes.begin() + 2);
  } else {
    const Argument* found = c.find("scale_factors");
    const List* list = found != nullptr ? found->as<List>() : nullptr;
    if (list == nullptr || (*list)->empty()) return c.fail("neither a size nor factors are given");
    for (std::size_t i = 0; i < dimensions; ++i) {
      const double size = double(sizes[2 + i]) * real_of((**list)[std::min(i, (*list)->size() - 1)]).value_or(0);
      if (!(size >= 0 && size < 1e12)) return c.fail("absurd factor");
      sizes[2 + i] = std::int64_t(std::floor(size));
    }
  }
  const bool cubic = name.find("cubic") != std::string_view::npos;
  const bool nearest = name.find("nearest") != std::string_view::npos;
  if (!c.failed())
    c.give(c.node(OpKind::Resize, {x, kNoValue, kNoValue, c.ints(sizes)},
                  {{"mode", std::string(cubic     ? "cubic"
                                        : nearest ? "nearest"
                                                  : "linear")}}));
}

void grid_sample(Call& c) {
  const ValueId x = c.tensor("input"), grid = c.tensor("grid");
  if (!c.failed()) c.give(c.node(OpKind::GridSample, {x, grid}));
}

void affine_grid(Call& c) {
  const ValueId theta = c.tensor("theta");
  const auto size = c.integers("size");
  if (!c.failed()) c.give(c.node(OpKind::AffineGrid, {theta, c.ints(size)}));
}

void roi_align(Call& c) {
  const ValueId x = c.tensor("input"), rois = c.tensor("rois");
  if (!c.failed())
    c.give(c.node(OpKind::RoiAlign, {x, rois},
                  {{"output_height", c.integer("pooled_height", 1)}, {"output_width", c.integer("pooled_width", 1)}}));
}

// The largest possible result: every box.
void non_max_suppression(Call& c) {
  const ValueId boxes = c.tensor("dets"), scores = c.tensor("scores");
  if (c.failed()) return;
  const ValueId found = c.node(OpKind::NonMaxSuppression, {c.unsqueeze(boxes, {0}), c.unsqueeze(scores, {0, 1})});
  c.give(c.node(OpKind::Gather, {found, c.scalar(2, DType::Int64)}, {{"axis", std::int64_t{1}}}));
}

}  // namespace forerun::pytorch
