// SVG pictures of results: predicted against measured, and error by group.
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

}  // namespace forerun
