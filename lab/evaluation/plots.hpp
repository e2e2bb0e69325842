// Pictures of results: predicted against measured, error by group, loss over epochs, points by group.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/accuracy.hpp"

namespace forerun {

// Both axes logarithmic, one dot a row, coloured by family; the diagonal is a perfect prediction, dashed lines are ±10
// %.
[[nodiscard]] std::string plot_predicted(std::span<const Judged> rows, const std::string& title,
                                         const std::string& unit);

// Horizontal bars, one per group, in percent.
[[nodiscard]] std::string plot_bars(const std::vector<std::pair<std::string, double>>& bars, const std::string& title);

struct EpochCurve {
  std::string name;
  std::vector<double> values;  // one per epoch; drawn on a logarithmic scale
};
[[nodiscard]] std::string plot_epochs(const std::string& title, const std::string& y_label,
                                      const std::vector<EpochCurve>& curves);

struct PointGroup {
  std::string name;
  std::vector<std::pair<double, double>> points;
};
[[nodiscard]] std::string plot_groups(const std::string& title, const std::vector<PointGroup>& groups);

}  // namespace forerun
