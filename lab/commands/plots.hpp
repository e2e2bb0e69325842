// The characterisation's pictures, as SVG: bandwidth against working set, and the roofline with measured ceilings.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "devices/device.hpp"
#include "profiler/characterize.hpp"

namespace forerun {

[[nodiscard]] std::string bandwidth_svg(const Characterization& result);

// `data_sheet`: the catalogue's device, whose ceilings are drawn dashed with the measured ones.
[[nodiscard]] std::string roofline_svg(const Characterization& result, const std::optional<Device>& data_sheet);

}  // namespace forerun
