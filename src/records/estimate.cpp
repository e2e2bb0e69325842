#include "records/estimate.hpp"

#include <array>

namespace forerun {

std::string_view name_of(Basis basis) {
  constexpr std::array<std::string_view, std::size_t(Basis::Count)> kNames = {"measured", "learned", "roofline"};
  return kNames[std::size_t(basis)];
}

}  // namespace forerun
