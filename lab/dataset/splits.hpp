// Named, repeatable splits of measured rows: the same rows, name and seed give the same folds everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

// What splits look at. `id` orders the rows, so that folds do not depend on the order of loading.
struct SplitKey {
  std::string id;
  std::string network;
  std::string family;
  std::string device;
};
[[nodiscard]] SplitKey split_key(const Example& example);
[[nodiscard]] std::vector<SplitKey> split_keys(std::span<const Example> examples);

struct Fold {
  std::string held_out;            // the family or device left out, else the fold's number
  std::vector<std::size_t> train;  // indices, ascending
  std::vector<std::size_t> test;
};

enum class SplitKind : std::uint8_t { AsPublished, ByArchitecture, LeaveOneFamilyOut, LeaveOneDeviceOut, Count };
[[nodiscard]] std::string_view name_of(SplitKind kind);  // "as_published", "by_architecture", …

inline constexpr int kSplitFolds = 5;

// as_published: five folds of rows, each family spread evenly (other batches of a network may be in training).
// by_architecture: five folds of networks, each family spread evenly; no network is in both.
// leave_one_family_out, leave_one_device_out: one fold per family or device (the seed changes nothing).
[[nodiscard]] std::vector<Fold> split(std::span<const SplitKey> keys, SplitKind kind, std::uint64_t seed);

inline constexpr std::size_t kFewShotSizes[] = {0, 10, 32, 100, 300};

// Which networks the bundles that ship do not learn from, fixed for good: one in 16 is what `forerun-lab ship` judges a
// bundle by, another one in 16 sets a graph network's intervals.
enum class SetAside : std::uint8_t { No, Intervals, Judged };
[[nodiscard]] SetAside set_aside(std::string_view network);
// The part of a manifest by which a bundle states that it learned from no judged network, and its compact JSON.
inline constexpr std::string_view kSetAsidePart = "set_aside";
inline constexpr std::string_view kSetAsideRule = R"({"one_network_in":16,"seed":77})";

// A stable, well-mixed number from text and a seed.
[[nodiscard]] std::uint64_t mix_seed(std::string_view text, std::uint64_t seed);

// Whether row `key` is in a fixed pseudorandom sample of about `wanted` of `rows`.
[[nodiscard]] bool is_chosen(std::string_view key, std::size_t wanted, std::size_t rows, std::uint64_t seed = 1);

}  // namespace forerun
