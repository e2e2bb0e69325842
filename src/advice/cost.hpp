// Rental prices from data/prices: what an hour, a million inferences or a training run costs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forerun {

struct Price {
  double usd_per_hour = 0;
  std::string kind;  // "on_demand" or "spot"
  std::string date;  // "2026-08"
  std::string source;
};

// Median price of one device; nullopt when nobody lists it. `kind`: "on_demand" or "spot".
[[nodiscard]] std::optional<Price> find_price(std::string_view device, std::string_view kind);

}  // namespace forerun
