// Bytes that one execution of a kernel moves at each level of the memory hierarchy: for roofline charts and for the use
// of the memory bandwidth. docs/method/analytic.md has the formulas; `forerun-lab counters` judges them.
#pragma once

#include "analysis/kernels.hpp"
#include "devices/device.hpp"

namespace forerun {

struct Traffic {
  double l1 = 0, l2 = 0, memory = 0;
};
inline void add(Traffic& sum, const Traffic& traffic, double times = 1) {
  sum.l1 += traffic.l1 * times;
  sum.l2 += traffic.l2 * times;
  sum.memory += traffic.memory * times;
}
[[nodiscard]] Traffic traffic_of(const Kernel& kernel, const Device& device);

}  // namespace forerun
