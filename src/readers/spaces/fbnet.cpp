// FBNet's space for CIFAR-100 (Wu et al., 2019, as HELP measured it): 22 layers, each one of nine blocks.
#include <array>

#include "readers/spaces/image_draft.hpp"
#include "readers/spaces/space.hpp"

namespace forerun::spaces {
namespace {

enum Place : std::uint8_t { kBlocks, kSide, kClasses };
// Kernel, expansion, groups of the pointwise convolutions.
constexpr std::array<std::string_view, 9> kWords = {"k3_e1",    "k3_e1_g2", "k3_e3", "k3_e6", "k5_e1",
                                                    "k5_e1_g2", "k5_e3",    "k5_e6", "skip"};
constexpr std::array kFields = {Field{.key = "blocks", .count = 22, .words = kWords},
                                Field{.key = "image_size", .fallback = 32},
                                Field{.key = "classes", .fallback = 100, .most = 1 << 20}};
constexpr std::array<std::int64_t, 7> kLayers = {1, 4, 4, 4, 4, 4, 1}, kChannels = {16, 24, 32, 64, 112, 184, 352},
                                      kStrides = {1, 1, 2, 2, 1, 2, 1};

void block(ImageDraft& d, std::string_view word, std::int64_t out, std::int64_t stride) {
  const std::int64_t in = d.channels;
  const ValueId before = d.x;
  if (word == "skip") {
    if (stride == 1 && in == out) return;
    d.conv(out, 1, stride);
    d.norm();
    d.relu();
    return;
  }
  const std::int64_t kernel = word[1] - '0', expand = word[4] - '0', groups = word.ends_with("_g2") ? 2 : 1;
  d.conv(in * expand, 1, 1, groups);
  d.norm();
  d.relu();
  d.conv(d.channels, kernel, stride, d.channels);
  d.norm();
  d.relu();
  d.conv(out, 1, 1, groups);
  d.norm();
  if (stride == 1 && in == out) d.add(before);
}

Result<Graph> build(const Description& candidate, std::int64_t batch) {
  ImageDraft d(batch, candidate.numbers[kSide][0]);
  d.conv(16, 3, 1);
  d.norm();
  d.relu();
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < kLayers.size(); ++stage) {
    for (std::int64_t layer = 0; layer < kLayers[stage]; ++layer)
      block(d, candidate.words[kBlocks][at++], kChannels[stage], layer == 0 ? kStrides[stage] : 1);
  }
  d.conv(1504, 1, 1);
  d.norm();
  d.relu();
  d.classify(candidate.numbers[kClasses][0]);
  return d.take();
}

}  // namespace

const Space kFbnet = {"fbnet", kFields, build, kSide};

}  // namespace forerun::spaces
