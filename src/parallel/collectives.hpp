// Time of messages between devices: NCCL's collectives and serving engines' own all-reduce, inside and across nodes.
// Constants are data (data/collectives), fitted by `forerun-lab fit-collectives`; docs/method/parallel.md has the
// formula, docs/accuracy/parallel.md the errors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/device.hpp"
#include "graph/rank_message.hpp"
#include "parallel/system.hpp"

namespace forerun {

// One protocol of a library (low latency, or high bandwidth): a collective of n ranks takes
// fixed + hop (n - 1) + volume / (gb_per_s (n / 4)^growth); volume is what a rank sends in the ring algorithm.
struct Regime {
  double fixed_us = 0, hop_us = 0, gb_per_s = 1, growth = 0;
};

// What was fitted: the collectives, and the all-reduce of serving engines, in which every device reads all others.
inline constexpr std::size_t kEngineAllReduce = std::size_t(Collective::Count);
inline constexpr std::size_t kFittedCollectives = kEngineAllReduce + 1;
inline constexpr std::array<std::string_view, kFittedCollectives> kCollectiveNames = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send", "engine_all_reduce"};
[[nodiscard]] inline std::string_view name_of(Collective collective) {
  return kCollectiveNames[std::size_t(collective)];
}

// The links of one kind of device inside a node, as measured.
struct LinkFamily {
  std::string device, link;     // link: nvlink or pcie
  double link_gb_per_s = 0;     // one direction of one device
  std::int64_t most_ranks = 8;  // measured
  std::array<std::vector<Regime>, kFittedCollectives> collectives;
};

struct CollectiveConstants {
  std::vector<LinkFamily> families;
  double card_share = 0.7;  // of a network card's rate that messages between nodes reach
};
[[nodiscard]] const CollectiveConstants& shipped_collectives();

// Bytes a rank sends in the ring algorithm; of `bytes` as RankMessage counts them.
[[nodiscard]] double volume_of(Collective collective, double ranks, double bytes);
// The fastest protocol.
[[nodiscard]] double regimes_us(std::span<const Regime> regimes, double ranks, double volume);

// Where the ranks of one group lie. All groups of the same kind communicate at once and share the nodes' cards.
struct Group {
  std::int64_t ranks = 1;
  std::int64_t inside = 1;  // ranks of it in one link domain
  [[nodiscard]] std::int64_t domains() const { return (ranks + inside - 1) / inside; }
};

enum class Exchange : std::uint8_t { Nccl, Engine };

class CollectiveModel {
 public:
  CollectiveModel(const Device& device, const Cluster& cluster,
                  const CollectiveConstants& constants = shipped_collectives());

  // `stride`: distance between neighbouring ranks of the group (1: they follow each other).
  [[nodiscard]] Group group_of(std::int64_t ranks, std::int64_t stride) const;
  [[nodiscard]] double time_us(Collective collective, double bytes, const Group& group,
                               Exchange how = Exchange::Nccl) const;
  // A warning that the group's times are extrapolated or scaled from other links; empty when such a group was measured.
  [[nodiscard]] std::string beyond_data(const Group& group) const;

 private:
  [[nodiscard]] double inside_us(std::size_t fitted, double ranks, double volume) const;

  Cluster cluster_;
  const LinkFamily* family_;
  double scale_ = 1;  // of the family's bandwidth, to this device's links
  double card_share_ = 0.7;
  bool is_own_family_ = false;
};

// Inside one machine of this kind of devices, µs.
[[nodiscard]] double all_reduce_us(const Device& device, std::int64_t devices, double bytes,
                                   Exchange how = Exchange::Nccl);
[[nodiscard]] double send_us(const Device& device, double bytes);

}  // namespace forerun
