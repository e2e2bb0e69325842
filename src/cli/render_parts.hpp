// Pieces that several tables share.
#pragma once

#include <string>
#include <vector>

#include "service/report.hpp"

namespace forerun {

[[nodiscard]] std::string notes(const std::vector<std::string>& warnings);
// Of all devices, equal ones once, what changes the answer first.
[[nodiscard]] std::string merged_notes(const std::vector<const DeviceResult*>& results);
// A bar of this many cells, filled to the share.
[[nodiscard]] std::string bar(double share, int width);
[[nodiscard]] std::string number(double value);
[[nodiscard]] std::string use_line(const Utilisation& use);
[[nodiscard]] std::string vendor_table(const std::vector<VendorPrice>& vendors);  // empty: nothing
[[nodiscard]] std::string workload_line(const WorkloadInfo& workload);

}  // namespace forerun
