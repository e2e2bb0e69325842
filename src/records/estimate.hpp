// What is answered: numbers with their basis and a 90 % interval.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace forerun {

enum class Basis : std::uint8_t { Measured, Learned, Roofline, Count };
[[nodiscard]] std::string_view name_of(Basis basis);

struct Estimate {
  double value = 0;
  double low = 0;  // of the 90 % interval
  double high = 0;
  Basis basis = Basis::Roofline;
  std::string predictor;
};

inline void scale(Estimate& estimate, double factor) {
  estimate.value *= factor;
  estimate.low *= factor;
  estimate.high *= factor;
}

// Metric names are the report's keys: "latency_ms", "memory_mb", …. A metric that cannot be estimated is absent.
using Estimates = std::map<std::string, Estimate, std::less<>>;

}  // namespace forerun
