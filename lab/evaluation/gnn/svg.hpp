// Two small pictures for the accuracy page: curves over epochs, and points in a plane by group.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace forerun {

struct SvgCurve {
  std::string name;
  std::vector<double> values;  // one per epoch; drawn on a log scale
};
[[nodiscard]] std::string draw_curves(const std::string& title, const std::string& y_label,
                                      const std::vector<SvgCurve>& curves);

struct SvgPoints {
  std::string name;
  std::vector<std::pair<double, double>> points;
};
[[nodiscard]] std::string draw_points(const std::string& title, const std::vector<SvgPoints>& groups);

}  // namespace forerun
