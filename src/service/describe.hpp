// Text for kernels: names in breakdowns, explanations in rooflines.
#pragma once

#include <string>

#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "records/roofline_estimate.hpp"

namespace forerun {

// "conv 3x3 64→128 of 56²", "linear 768→3072": equal kernels get equal names.
[[nodiscard]] std::string describe_kernel(const Kernel& kernel);
// One sentence: what bounds it and by how much.
[[nodiscard]] std::string explain_bound(const Kernel& kernel, const KernelTime& time, const Device& device);

}  // namespace forerun
