#include "dataset/public_networks.hpp"

#include <charconv>

#include "dataset/splits.hpp"

namespace forerun {

std::vector<std::int64_t> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc{}) numbers.push_back(number);
    at = error == std::errc{} ? next : at + 1;
  }
  return numbers;
}

Result<Dataset> load_public_networks(const std::string& folder, const PublicNetworkOptions& options) {
  Dataset data;
  FORERUN_CHECK(load_gpt_networks(folder, options, data.examples));
  FORERUN_CHECK(load_vision_networks(folder, options, data.examples));
  FORERUN_CHECK(load_timm_networks(folder, options, data.examples));
  return data;
}

}  // namespace forerun
