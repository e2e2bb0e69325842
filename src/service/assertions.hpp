// Statements about an answer that a continuous-integration job checks: "latency_ms<5".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "service/report.hpp"

namespace forerun {

// REQUIRES: parse_assertion() took them.
[[nodiscard]] std::vector<Checked> check_assertions(const std::vector<Assertion>& assertions,
                                                    const std::vector<DeviceResult>& results);

}  // namespace forerun
