// Limits that a device must keep (latency, rate, price, serving latencies, memory): whether it does, how sure that is,
// and why not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "advice/optimise/proposal.hpp"
#include "devices/device.hpp"
#include "records/estimate.hpp"
#include "service/request.hpp"

namespace forerun {

struct DeviceResult;

// What is missed decides which changes are tried against it (remedies.cpp).
enum class LimitKind : std::uint8_t { Support, Memory, Latency, Rate, FirstToken, NextToken, Load, Price, Count };

struct Miss {
  LimitKind kind = LimitKind::Memory;
  std::string limit;  // "max_latency_ms", "memory"
  double asked = 0, value = 0;
  std::string reason;  // "7.2 ms is above 5 ms"
};

// A change with which the device keeps all limits, as estimated.
struct Remedy {
  std::string text;               // "needs 2", "int4 fits", "batch 4 keeps it"
  std::vector<Setting> settings;  // of the request
};

struct LimitReport {
  double probability = 1;  // that the limit which is kept most narrowly is kept
  std::vector<Miss> misses;
  std::vector<Remedy> remedies;
  [[nodiscard]] bool holds() const { return misses.empty(); }
};

// From the 90 % interval, taken as log-normal on either side of the value.
[[nodiscard]] double probability_at_most(const Estimate& estimate, double limit);

[[nodiscard]] bool has_limits(const Request& request);
// "latency at most 5 ms, at least 30 frames/s": what is asked, for the verdict. REQUIRES: has_limits(request)
[[nodiscard]] std::string limits_text(const Request& request);
[[nodiscard]] LimitReport check_limits(const Request& request, const DeviceResult& result, const Device& device);

// `users` become requests in flight, with the limits of a chat service where none is given. Errors name what excludes
// each other.
Result<Request> with_users(const Request& request);

}  // namespace forerun
