// Questions about phones and boards of which latency alone is known (predictors/edge).
#pragma once

#include "predictors/edge/edge_platform.hpp"
#include "service/report.hpp"
#include "service/request.hpp"
#include "service/workspace.hpp"

namespace forerun {

// The platform that the request is about; null where it names devices of the catalogue. Errors: one beside others.
[[nodiscard]] Result<const EdgePlatform*> edge_platform_of(const Request& request);

// Errors: what is not known of such a platform: other metrics, runtimes, training, serving, several devices.
[[nodiscard]] Status check_edge_request(const Request& request, const EdgePlatform& platform);

// REQUIRES: check_edge_request(). `plan` is of the request.
[[nodiscard]] Result<DeviceResult> answer_edge(const EdgePlatform& platform, const Plan& plan, std::int64_t batch);

}  // namespace forerun
