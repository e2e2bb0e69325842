// NAS-Bench-201 (Dong and Yang, 2020): cells of four nodes, six edges with one of five operations each. Three stages of
// cells, halved by a residual block between.
#include <array>

#include "readers/spaces/image_draft.hpp"
#include "readers/spaces/space.hpp"

namespace forerun::spaces {
namespace {

enum Place : std::uint8_t { kOperations, kChannels, kCells, kSide, kClasses };
constexpr std::array<std::string_view, 5> kWords = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                                                    "avg_pool_3x3"};
constexpr std::array kFields = {
    Field{.key = "operations", .count = 6, .words = kWords}, Field{.key = "channels", .fallback = 16, .most = 1024},
    Field{.key = "cells", .fallback = 5, .most = 64}, Field{.key = "image_size", .fallback = 32},
    Field{.key = "classes", .fallback = 10, .most = 1 << 20}};

void relu_conv_norm(ImageDraft& d, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  d.relu();
  d.conv(out, kernel, stride);
  d.norm();
}

ValueId edge(ImageDraft& d, ValueId from, std::string_view operation) {
  d.x = from;
  if (operation == "nor_conv_1x1") relu_conv_norm(d, d.channels, 1, 1);
  if (operation == "nor_conv_3x3") relu_conv_norm(d, d.channels, 3, 1);
  if (operation == "avg_pool_3x3") d.average_pool(3, 1, 1);
  if (operation == "none") d.apply("Neg", {d.x});  // times zero: it runs
  return d.x;
}

void halve(ImageDraft& d) {
  const ValueId before = d.x;
  const std::int64_t narrow = d.channels, wide = 2 * narrow;
  relu_conv_norm(d, wide, 3, 2);
  relu_conv_norm(d, wide, 3, 1);
  const ValueId main = d.x;
  d.x = before;
  d.channels = narrow;
  d.average_pool(2, 2, 0);
  d.conv(wide, 1, 1);
  d.add(main);
}

void cell(ImageDraft& d, const std::vector<std::string_view>& operations) {
  std::array<ValueId, 4> nodes = {d.x, kNoValue, kNoValue, kNoValue};
  std::size_t next = 0;
  for (std::size_t node = 1; node < nodes.size(); ++node) {
    ValueId sum = kNoValue;
    for (std::size_t from = 0; from < node; ++from) {
      const ValueId result = edge(d, nodes[from], operations[next++]);
      d.x = sum == kNoValue ? result : d.apply("Add", {sum, result});
      sum = d.x;
    }
    nodes[node] = sum;
  }
}

Result<Graph> build(const Description& candidate, std::int64_t batch) {
  ImageDraft d(batch, candidate.numbers[kSide][0]);
  d.conv(candidate.numbers[kChannels][0], 3, 1);
  d.norm();
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) halve(d);
    for (std::int64_t i = 0; i < candidate.numbers[kCells][0]; ++i) cell(d, candidate.words[kOperations]);
  }
  d.norm();
  d.relu();
  d.classify(candidate.numbers[kClasses][0]);
  return d.take();
}

}  // namespace

const Space kNasBench201 = {"nasbench201", kFields, build, kSide};

}  // namespace forerun::spaces
