// Pieces that several tables share.
#pragma once

#include <string>
#include <vector>

#include "service/report.hpp"

namespace forerun {

[[nodiscard]] std::string notes(const std::vector<std::string>& warnings);
[[nodiscard]] std::string number(double value);
[[nodiscard]] std::string workload_line(const WorkloadInfo& workload);

}  // namespace forerun
