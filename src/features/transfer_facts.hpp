// One kernel as facts that mean the same on every device (waves, shares, residency in L2) and no figure that names one:
// what is learned from them on some devices is worth something on another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/kernel_facts.hpp"
#include "features/kernel_physics.hpp"

namespace forerun {

[[nodiscard]] const std::vector<std::string>& transfer_fact_names();
[[nodiscard]] std::size_t transfer_fact_count();
// REQUIRES: out.size() == transfer_fact_count(), `physics` is the kernel's on this device. `host_included`:
// calls were timed one by one from the host, so that the measured time holds launch overhead.
void extract_transfer_facts(const Kernel& kernel, const Device& device, const KernelPhysics& physics,
                            bool host_included, std::span<float> out);
// Of the names and the facts of the sample's kernels on its devices, which follow from their physical times.
[[nodiscard]] FeatureSchema transfer_facts_schema();
[[nodiscard]] FeatureSchema transfer_facts_schema(const SchemaSample& sample,
                                                  const ProductConstants& constants = kProducts);

// What must have been measured somewhere for a learned correction to apply: this class, on tensor cores or not, of this
// maker, timed in this way.
[[nodiscard]] std::string transfer_kind(const Kernel& kernel, const Device& device, bool host_included);
// How much of a correction (of its logarithm) that other devices taught is taken on for such kernels: the rest is their
// own. Matrix products need less of it, their physical times are closer.
[[nodiscard]] double transfer_share(std::string_view kind);

}  // namespace forerun
