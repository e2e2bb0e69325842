// Arithmetic on sizes read from files: saturates at kSizeLimit instead of overflowing. A total that reaches the limit
// is refused by the pass that made it; no network comes near 2^62 of anything.
#pragma once

#include <cstdint>
#include <span>

namespace forerun {

inline constexpr std::int64_t kSizeLimit = std::int64_t{1} << 62;

// REQUIRES: a, b >= 0
constexpr std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kSizeLimit / b ? kSizeLimit : a * b;
}

constexpr std::int64_t checked_add(std::int64_t a, std::int64_t b) { return a > kSizeLimit - b ? kSizeLimit : a + b; }

// Product of dimensions; an empty span is a scalar: 1.
constexpr std::int64_t checked_product(std::span<const std::int64_t> values) {
  std::int64_t product = 1;
  for (const std::int64_t value : values) product = checked_mul(product, value);
  return product;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace forerun
