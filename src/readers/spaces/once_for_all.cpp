// Once-for-All's MobileNetV3 of width 1.2 (Cai et al., 2020): five stages of up to four inverted residual blocks, each
// with its own kernel and expansion.
#include <algorithm>
#include <array>

#include "readers/spaces/image_draft.hpp"
#include "readers/spaces/space.hpp"

namespace forerun::spaces {
namespace {

enum Place : std::uint8_t { kKernels, kExpand, kDepth, kSide, kClasses };
constexpr std::size_t kStages = 5, kLayers = 4;
constexpr std::array<std::int64_t, 3> kKernelSizes = {3, 5, 7}, kExpansions = {3, 4, 6}, kDepths = {2, 3, 4};
constexpr std::array kFields = {
    Field{.key = "kernel_sizes", .count = kStages * kLayers, .numbers = kKernelSizes, .most = 63},
    Field{.key = "expand", .count = kStages * kLayers, .numbers = kExpansions, .most = 64},
    Field{.key = "depth", .count = kStages, .numbers = kDepths, .most = kLayers},
    Field{.key = "resolution", .fallback = 224}, Field{.key = "classes", .fallback = 1000, .most = 1 << 20}};
constexpr std::array<std::int64_t, kStages> kWidths = {32, 48, 96, 136, 192}, kStrides = {2, 2, 2, 1, 2};
constexpr std::array<bool, kStages> kSqueezes = {false, true, false, true, true},
                                    kSwish = {false, false, true, true, true};

void squeeze(ImageDraft& d) {
  const ValueId full = d.x;
  const std::int64_t wide = d.channels;
  d.apply("GlobalAveragePool", {d.x});
  d.conv((wide / 4 + 7) / 8 * 8, 1, 1, 1, true);
  d.relu();
  d.conv(wide, 1, 1, 1, true);
  d.apply("HardSigmoid", {d.x});
  d.apply("Mul", {full, d.x});
}

void block(ImageDraft& d, std::size_t stage, std::int64_t kernel, std::int64_t expand, std::int64_t stride) {
  const std::int64_t in = d.channels, wide = in * expand;
  const ValueId before = d.x;
  const auto activate = [&] { kSwish[stage] ? d.hard_swish() : d.relu(); };
  d.conv(wide, 1, 1);
  d.norm();
  activate();
  d.conv(wide, kernel, stride, wide);
  d.norm();
  activate();
  if (kSqueezes[stage]) squeeze(d);
  d.conv(kWidths[stage], 1, 1);
  d.norm();
  if (stride == 1 && in == kWidths[stage]) d.add(before);
}

void stem(ImageDraft& d) {
  d.conv(24, 3, 2);
  d.norm();
  d.hard_swish();
  const ValueId first = d.x;
  d.conv(24, 3, 1, 24);
  d.norm();
  d.relu();
  d.conv(24, 1, 1);
  d.norm();
  d.add(first);
}

Result<Graph> build(const Description& candidate, std::int64_t batch) {
  ImageDraft d(batch, candidate.numbers[kSide][0]);
  stem(d);
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    for (std::size_t layer = 0; layer < std::size_t(candidate.numbers[kDepth][stage]); ++layer) {
      const std::size_t at = stage * kLayers + layer;
      block(d, stage, candidate.numbers[kKernels][at], candidate.numbers[kExpand][at],
            layer == 0 ? kStrides[stage] : 1);
    }
  }
  d.conv(1152, 1, 1);
  d.norm();
  d.hard_swish();
  d.apply("GlobalAveragePool", {d.x});
  d.conv(1536, 1, 1);
  d.hard_swish();
  d.classify(candidate.numbers[kClasses][0]);
  return d.take();
}

}  // namespace

const Space kOnceForAll = {"once-for-all", kFields, build, kSide};

}  // namespace forerun::spaces
