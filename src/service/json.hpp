// The one JSON codec of the reports.
#pragma once

#include <string>

#include "service/report.hpp"

namespace forerun {

// One line each.
[[nodiscard]] std::string to_json(const InspectReport& report);
[[nodiscard]] std::string to_json(const PredictReport& report);
[[nodiscard]] std::string to_json(const MigReport& report);
[[nodiscard]] std::string to_json(const RooflineReport& report);
[[nodiscard]] std::string error_json(const std::string& message);

}  // namespace forerun
