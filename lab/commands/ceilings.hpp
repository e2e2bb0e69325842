// From a characterisation's sweeps to the ceilings that a device file states as `measured`.
#pragma once

#include <string>

#include "base/result.hpp"
#include "devices/device.hpp"
#include "profiler/characterize.hpp"

namespace forerun {

// A quantity that was not measured is absent.
[[nodiscard]] MeasuredCeilings ceilings_of(const Characterization& result);

// The device file with `measured` added. `device_json`: the catalogue's file of this device; empty for a device it does
// not know, whose data-sheet figures are then stated as the measured ones and say so in `sources`.
Result<std::string> device_file_with(const Characterization& result, const std::string& device_json,
                                     const std::string& id);

}  // namespace forerun
