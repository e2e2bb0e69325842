#include "dataset/splits.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace forerun {
namespace {

constexpr std::array<std::string_view, std::size_t(SplitKind::Count)> kNames = {
    "as_published", "by_architecture", "leave_one_family_out", "leave_one_device_out"};

// Deals shuffled units (rows or networks) of each family round-robin; the start moves on, so that small families do not
// all fall into the first fold.
std::map<std::string, int> deal(const std::map<std::string, std::set<std::string>>& units_by_family,
                                std::uint64_t seed) {
  std::map<std::string, int> fold_of;
  int next = 0;
  for (const auto& [family, units] : units_by_family) {
    std::vector<std::pair<std::uint64_t, std::string>> shuffled;
    for (const std::string& unit : units) shuffled.emplace_back(mix_seed(unit, seed), unit);
    std::sort(shuffled.begin(), shuffled.end());
    for (const auto& [ignored, unit] : shuffled) fold_of[unit] = next++ % kSplitFolds;
  }
  return fold_of;
}

std::vector<Fold> folds_of(std::span<const SplitKey> keys, const std::map<std::string, int>& fold_of, bool by_network) {
  std::vector<Fold> folds(kSplitFolds);
  for (int f = 0; f < kSplitFolds; ++f) folds[std::size_t(f)].held_out = std::to_string(f);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const int held = fold_of.at(by_network ? keys[i].network : keys[i].id);
    for (int f = 0; f < kSplitFolds; ++f)
      (f == held ? folds[std::size_t(f)].test : folds[std::size_t(f)].train).push_back(i);
  }
  std::erase_if(folds, [](const Fold& fold) { return fold.test.empty() || fold.train.empty(); });
  return folds;
}

std::vector<Fold> leave_one_out(std::span<const SplitKey> keys, std::string SplitKey::*member) {
  std::set<std::string> values;
  for (const SplitKey& key : keys) values.insert(key.*member);
  std::vector<Fold> folds;
  for (const std::string& value : values) {
    Fold fold{.held_out = value, .train = {}, .test = {}};
    for (std::size_t i = 0; i < keys.size(); ++i) (keys[i].*member == value ? fold.test : fold.train).push_back(i);
    if (!fold.train.empty()) folds.push_back(std::move(fold));
  }
  return folds;
}

}  // namespace

std::string_view name_of(SplitKind kind) { return kNames[std::size_t(kind)]; }

std::uint64_t mix_seed(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = 1469598103934665603ULL ^ (seed * 0x9E3779B97F4A7C15ULL);
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  h ^= h >> 30;
  h *= 0xBF58476D1CE4E5B9ULL;
  h ^= h >> 27;
  h *= 0x94D049BB133111EBULL;
  return h ^ (h >> 31);
}

SplitKey split_key(const Example& e) {
  return {e.campaign + "/" + e.device + "/" + e.row_id, e.network, e.family, e.device};
}

std::vector<SplitKey> split_keys(std::span<const Example> examples) {
  std::vector<SplitKey> keys;
  for (const Example& e : examples) keys.push_back(split_key(e));
  return keys;
}

std::vector<Fold> split(std::span<const SplitKey> keys, SplitKind kind, std::uint64_t seed) {
  if (kind == SplitKind::LeaveOneFamilyOut) return leave_one_out(keys, &SplitKey::family);
  if (kind == SplitKind::LeaveOneDeviceOut) return leave_one_out(keys, &SplitKey::device);
  const bool by_network = kind == SplitKind::ByArchitecture;
  std::map<std::string, std::set<std::string>> units;
  for (const SplitKey& key : keys) units[key.family].insert(by_network ? key.network : key.id);
  return folds_of(keys, deal(units, seed), by_network);
}

SetAside set_aside(std::string_view network) {
  const std::uint64_t place = mix_seed(network, 77) % 16;
  return place == 0 ? SetAside::Judged : place == 8 ? SetAside::Intervals : SetAside::No;
}

bool is_chosen(std::string_view key, std::size_t wanted, std::size_t rows, std::uint64_t seed) {
  return double(mix_seed(key, seed) >> 11) * 0x1.0p-53 * double(rows) < double(wanted);
}

}  // namespace forerun
