// Operators of a device left out, judged side by side by what answers for them.
#pragma once

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

#include "dataset/tree_rows.hpp"
#include "evaluation/accuracy.hpp"

namespace forerun {

// By what was learned, by the physical time alone, by the roofline.
struct OperatorErrors {
  std::vector<Judged> learned, physics, roofline;
  void add(const OperatorRows& row, double learned_us) {
    const double physics_us = std::accumulate(row.physics_us.begin(), row.physics_us.end(), 0.0);
    learned.push_back({row.measured_us, learned_us, 0, 0, row.op, row.device, ""});
    physics.push_back({row.measured_us, as_timed(row, physics_us), 0, 0, row.op, row.device, ""});
    roofline.push_back({row.measured_us, row.roofline_us, 0, 0, row.op, row.device, ""});
  }
  void append(const OperatorErrors& more) {
    learned.insert(learned.end(), more.learned.begin(), more.learned.end());
    physics.insert(physics.end(), more.physics.begin(), more.physics.end());
    roofline.insert(roofline.end(), more.roofline.begin(), more.roofline.end());
  }
};

// As it would have been timed, its kernels by what other devices taught.
[[nodiscard]] inline double transferred_us(const OperatorRows& row, const TransferForest& transfer) {
  const auto us = time_kernels(row.transfer_facts, row.physics_us, row.kinds, transfer);
  return as_timed(row, std::accumulate(us.begin(), us.end(), 0.0));
}

[[nodiscard]] inline std::string mape_cell(const std::vector<Judged>& rows) {
  return rows.empty() ? "–" : fmt::format("{:.1f}", measure_accuracy(rows).mape);
}
[[nodiscard]] inline std::string median_cell(const std::vector<Judged>& rows) {
  return rows.empty() ? "–" : fmt::format("{:.1f}", measure_accuracy(rows).median_ape);
}

}  // namespace forerun
