#include "predictors/trees/known_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "features/kernel_facts.hpp"

namespace forerun {
namespace {

std::uint32_t check_of(std::uint64_t key) { return std::max<std::uint32_t>(1, std::uint32_t(key >> 32)); }

}  // namespace

std::uint64_t known_kernel_key(const Kernel& kernel, const Device& device) {
  if (kernel.kernel_class != KernelClass::Conv || kernel.stage != Stage::Forward || kernel.groups > 1 ||
      !device.slice.empty())
    return 0;
  std::uint64_t h = kernel_key(kernel);
  for (const char c : device.id) h = (h ^ std::uint64_t(static_cast<unsigned char>(c))) * 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

KnownKernels::KnownKernels(std::span<const std::pair<std::uint64_t, float>> scores) {
  if (scores.empty()) return;
  table_.resize(std::bit_ceil(2 * scores.size()));
  for (const auto& [key, score] : scores) {
    std::size_t at = key & (table_.size() - 1);
    while (table_[at].check != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = {check_of(key), score};
  }
}

Result<KnownKernels> KnownKernels::from_bytes(std::string_view bytes) {
  KnownKernels known;
  known.table_.resize(bytes.size() / sizeof(Entry));
  if (bytes.size() % sizeof(Entry) != 0 || (!bytes.empty() && !std::has_single_bit(known.table_.size())))
    return bad_input("section of measured kernels does not have the expected size");
  if (!bytes.empty()) std::memcpy(known.table_.data(), bytes.data(), bytes.size());
  std::size_t used = 0;
  for (const Entry& entry : known.table_) {
    used += entry.check != 0;
    if (!(std::abs(entry.score) < 20)) return bad_input("measured kernels: a number out of range");
  }
  if (2 * used > known.table_.size()) return bad_input("measured kernels: a table too full");  // every search ends
  return known;
}

std::string KnownKernels::bytes() const {
  return {reinterpret_cast<const char*>(table_.data()), table_.size() * sizeof(Entry)};
}

std::optional<float> KnownKernels::find(std::uint64_t key) const {
  if (table_.empty() || key == 0) return std::nullopt;
  for (std::size_t at = key & (table_.size() - 1); table_[at].check != 0; at = (at + 1) & (table_.size() - 1)) {
    if (table_[at].check == check_of(key)) return table_[at].score;
  }
  return std::nullopt;
}

}  // namespace forerun
