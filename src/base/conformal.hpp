// The half width of intervals by split conformal prediction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace forerun {

// The (n + 1) · 90 % smallest error (the largest where that is beyond it): at least 90 % of exchangeable rows lie
// inside. REQUIRES: !errors.empty()
[[nodiscard]] inline double conformal_half_width(std::vector<double> errors) {
  const auto rank =
      std::min(errors.size(), static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(errors.size() + 1))));
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(rank) - 1, errors.end());
  return errors[rank - 1];
}

}  // namespace forerun
