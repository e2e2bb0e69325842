// Carbon intensity of electricity by country or cloud region, from data/carbon, and data centres' overhead (PUE).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct Grid {
  std::string region;  // as reported: "world", "DEU", "aws:eu-west-1"
  double g_per_kwh = 0;
  double pue = 1;
  std::string pue_source;
};

// "" or "world": the world's mean. ISO-2 or ISO-3 country codes, country names, cloud-region codes with or without
// their provider ("eu-west-1", "gcp:us-central1"). Errors name the nearest codes.
Result<Grid> find_grid(std::string_view region);

// Including the data centre's overhead: `pue` if given, else the region's.
[[nodiscard]] double grams_per_joule(const Grid& grid, std::optional<double> pue);

// Every code that find_grid() accepts, for lists and completion.
[[nodiscard]] std::vector<std::string> list_regions();

}  // namespace forerun
