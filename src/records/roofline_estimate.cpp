#include "records/roofline_estimate.hpp"

namespace forerun {

std::string_view name_of(Bound bound) {
  return bound == Bound::Compute ? "compute" : bound == Bound::Memory ? "memory" : "launch";
}

}  // namespace forerun
