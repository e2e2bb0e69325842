// Estimates: numbers with their basis and a 90 % interval.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "records/metric.hpp"

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

// The estimates for a workload on a device. A metric that cannot be estimated is absent, never 0. Ordered as in the
// table of metrics.
class Estimates {
 public:
  using Entry = std::pair<Metric, Estimate>;

  [[nodiscard]] const Estimate* find(Metric metric) const;
  [[nodiscard]] Estimate* find(Metric metric);
  [[nodiscard]] bool contains(Metric metric) const { return find(metric) != nullptr; }
  // REQUIRES: contains(metric)
  [[nodiscard]] const Estimate& at(Metric metric) const { return *find(metric); }
  [[nodiscard]] Estimate& at(Metric metric) { return *find(metric); }
  void set(Metric metric, Estimate estimate);
  void set_all(const Estimates& others);  // those of `others` replace these
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  [[nodiscard]] auto begin() { return entries_.begin(); }
  [[nodiscard]] auto end() { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace forerun
