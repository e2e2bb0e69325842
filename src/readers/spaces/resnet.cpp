// Residual networks (He et al., 2016) of any depth and width, as torchvision builds them: four stages of basic or
// bottleneck blocks.
#include <array>

#include "readers/spaces/image_draft.hpp"
#include "readers/spaces/space.hpp"

namespace forerun::spaces {
namespace {

enum Place : std::uint8_t { kBlock, kDepths, kWidth, kSide, kClasses };
constexpr std::array<std::string_view, 2> kBlocks = {"basic", "bottleneck"};
constexpr std::array<std::int64_t, 4> kDepthChoices = {2, 3, 4, 6}, kWidthChoices = {32, 48, 64, 96};
constexpr std::array kFields = {
    Field{.key = "block", .words = kBlocks}, Field{.key = "depths", .count = 4, .numbers = kDepthChoices, .most = 64},
    Field{.key = "width", .numbers = kWidthChoices, .fallback = 64, .most = 1024},
    Field{.key = "image_size", .fallback = 224}, Field{.key = "classes", .fallback = 1000, .most = 1 << 20}};

void block(ImageDraft& d, bool is_bottleneck, std::int64_t width, std::int64_t stride) {
  const std::int64_t in = d.channels, out = is_bottleneck ? 4 * width : width;
  const ValueId before = d.x;
  if (is_bottleneck) {
    d.conv(width, 1, 1);
    d.norm();
    d.relu();
  }
  d.conv(width, 3, stride);
  d.norm();
  if (!is_bottleneck) {
    d.relu();
    d.conv(width, 3, 1);
    d.norm();
  } else {
    d.relu();
    d.conv(out, 1, 1);
    d.norm();
  }
  ValueId shortcut = before;
  if (stride != 1 || in != out) {
    const ValueId main = d.x;
    d.x = before;
    d.channels = in;
    d.conv(out, 1, stride);
    d.norm();
    shortcut = d.x;
    d.x = main;
  }
  d.add(shortcut);
  d.relu();
}

Result<Graph> build(const Description& candidate, std::int64_t batch) {
  ImageDraft d(batch, candidate.numbers[kSide][0]);
  d.conv(candidate.numbers[kWidth][0], 7, 2);
  d.norm();
  d.relu();
  d.max_pool(3, 2, 1);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t layer = 0; layer < candidate.numbers[kDepths][stage]; ++layer)
      block(d, candidate.words[kBlock][0] == "bottleneck", candidate.numbers[kWidth][0] << stage,
            layer == 0 && stage > 0 ? 2 : 1);
  }
  d.classify(candidate.numbers[kClasses][0]);
  return d.take();
}

}  // namespace

const Space kResnet = {"resnet-like", kFields, build, kSide};

}  // namespace forerun::spaces
