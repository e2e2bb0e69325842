// A hash of numbers that another compiler, optimisation level or maths library does not change, and a change of a
// formula does: numbers are rounded before they count.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

namespace forerun {

class ValueHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0x100);
  }
  void add(double value) { mix(rounded(value)); }
  template <typename Number>
  void add_all(const Number& values) {
    mix(values.size());
    for (const auto value : values) add(double(value));
  }
  void add_exact(std::uint64_t value) { mix(value); }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

  // Keeps 12 bits of the mantissa, about four decimal digits; what is below 1e-6 is 0. The steps begin where no
  // fraction of small numbers lies: a share that comes out as 0.33333334 or 0.33333331 is the same.
  [[nodiscard]] static std::uint32_t rounded(double value) {
    constexpr std::uint32_t kShift = 741;
    constexpr int kDropped = 11;
    const auto number = static_cast<float>(value);
    if (std::abs(number) < 1e-6F) return 0;
    if (std::isnan(number)) return 1;  // whatever its sign and payload
    return (std::bit_cast<std::uint32_t>(number) + kShift) >> kDropped;
  }

 private:
  void mix(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 29;
  }

  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace forerun
