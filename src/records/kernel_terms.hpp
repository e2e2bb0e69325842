// A kernel's time by cause. Terms are exposed time: of overlapped work only the longer part counts.
#pragma once

#include <array>
#include <string_view>

#include "records/roofline_estimate.hpp"

namespace forerun {

// In µs over all runs of the kernel in one pass. They add up to the kernel's time.
struct KernelTerms {
  double compute = 0;  // arithmetic, full waves
  double memory = 0;   // bytes from and to memory, and from L2
  double waves = 0;    // wave quantisation: multiprocessors idle in a grid's last wave
  double launch = 0;   // launch overhead on the device
  double host = 0;     // the device waits for the host to dispatch it
  double learned = 0;  // difference of a learned predictor to the analytic terms
  [[nodiscard]] double total() const { return compute + memory + waves + launch + host + learned; }
};

struct NamedTerm {
  std::string_view name;
  double KernelTerms::*value;
};
inline constexpr std::array<NamedTerm, 6> kKernelTerms = {{{"compute", &KernelTerms::compute},
                                                           {"memory", &KernelTerms::memory},
                                                           {"waves", &KernelTerms::waves},
                                                           {"launch", &KernelTerms::launch},
                                                           {"host", &KernelTerms::host},
                                                           {"learned", &KernelTerms::learned}}};

void add(KernelTerms& sum, const KernelTerms& terms);
[[nodiscard]] KernelTerms scaled(const KernelTerms& terms, double factor);
// The largest term except `learned`.
[[nodiscard]] Bound bound_of(const KernelTerms& terms);

}  // namespace forerun
