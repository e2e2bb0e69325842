#include "records/roofline_estimate.hpp"

#include <array>

namespace forerun {

std::string_view name_of(Bound bound) {
  constexpr std::array<std::string_view, std::size_t(Bound::Count)> kNames = {"compute", "memory", "launch", "host"};
  return kNames[std::size_t(bound)];
}

}  // namespace forerun
