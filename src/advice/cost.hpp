// Rental prices from data/prices: what an hour, a million inferences or a training run costs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forerun {

struct Price {
  double usd_per_hour = 0;
  std::string kind;  // "on_demand" or "spot"
  std::string date;  // "2026-08"
  std::string source;
};

// Median price of one device; nullopt when nobody lists it. `kind`: "on_demand" or "spot". `cloud`: of this one; "":
// the median over all.
[[nodiscard]] std::optional<Price> find_price(std::string_view device, std::string_view kind,
                                              std::string_view cloud = "");
[[nodiscard]] std::span<const std::string> price_clouds();  // every cloud that lists something

// An instance of data/clouds, on demand.
struct CloudInstance {
  std::string cloud, name, device;
  std::int64_t gpus = 1;
  double usd_per_hour = 0;
  std::string date, source;
};
[[nodiscard]] std::span<const CloudInstance> cloud_instances();

}  // namespace forerun
