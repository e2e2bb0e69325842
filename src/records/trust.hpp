// What an answer rests on, in the words every front end uses.
#pragma once

#include <string>
#include <string_view>

#include "records/estimate.hpp"

namespace forerun {

// `was_measured`: networks were measured on the device asked about.
[[nodiscard]] inline std::string_view trust_of(const Estimate& estimate, bool was_measured) {
  if (estimate.basis == Basis::Roofline) return "data sheet";
  const bool is_corrected = estimate.predictor.find('+') != std::string::npos;  // by measured runs of this device
  return estimate.basis == Basis::Measured || was_measured || is_corrected ? "measured on this device"
                                                                           : "similar devices";
}

}  // namespace forerun
