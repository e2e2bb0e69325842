// The search for the largest batch or sequence that fits a budget.
#pragma once

#include <cstdint>
#include <optional>

namespace forerun {

// Doubles until a number does not fit, then bisects to 1/256. REQUIRES: memory grows with the number. Estimate the
// number that next() gives and pass to report() whether it fits; result() is valid once next() is empty.
class CapacitySearch {
 public:
  explicit CapacitySearch(std::int64_t most) : most_(most) {}
  [[nodiscard]] std::optional<std::int64_t> next() const;
  void report(bool fits);
  [[nodiscard]] std::int64_t result() const { return low_; }  // 0: not even 1 fits

 private:
  std::int64_t most_;
  std::int64_t low_ = 0, high_ = 1;  // low_ fits; high_ is tried next, or does not fit
  bool doubling_ = true;
};

inline constexpr std::int64_t kMostBatch = 1 << 16;
inline constexpr std::int64_t kMostTokens = 1 << 22;

}  // namespace forerun
