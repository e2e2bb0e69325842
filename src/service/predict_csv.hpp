// The answer of predict as CSV: one row per device.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "service/report.hpp"

namespace forerun {

// `columns`: keys of the header; empty: all. An error names the ones there are.
Result<std::string> to_csv(const PredictReport& report, const std::vector<std::string>& columns);

}  // namespace forerun
