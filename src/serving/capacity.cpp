#include "serving/capacity.hpp"

#include <algorithm>

namespace forerun {

std::optional<std::int64_t> CapacitySearch::next() const {
  if (doubling_) return high_ <= most_ ? std::optional(high_) : std::nullopt;
  if (low_ == 0 || high_ - low_ <= std::max<std::int64_t>(1, low_ / 256)) return std::nullopt;
  return low_ + (high_ - low_) / 2;
}

void CapacitySearch::report(bool fits) {
  const std::int64_t asked = *next();
  if (fits) {
    low_ = asked;
    if (doubling_) high_ = asked * 2;
    if (doubling_ && high_ > most_) {
      doubling_ = false;
      high_ = most_ + 1;
    }
  } else {
    high_ = asked;
    doubling_ = false;
  }
}

}  // namespace forerun
