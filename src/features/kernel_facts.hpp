// One kernel on a device as a row of numbers: what the operator-level trees learn a kernel's efficiency from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "bundle/bundle.hpp"
#include "devices/device.hpp"

namespace forerun {

struct SchemaSample;

// The data sheet's rate for this arithmetic in TFLOP/s, or that of the unit which does it instead; 1 where nothing is
// known.
[[nodiscard]] double data_sheet_tflops(const Device& device, Math math);
[[nodiscard]] bool on_tensor_cores(Math math);
// Whether the device has tensor cores for it: others compute it plainly.
[[nodiscard]] bool on_tensor_cores(Math math, const Device& device);
// Whether one of these rates is the device's and of tensor cores.
[[nodiscard]] bool has_tensor_rate(const Device& device, std::span<const char* const> keys);
[[nodiscard]] int kernel_function(
    const char* label);  // operators whose kernels differ from others of their class; 0 = none of them
[[nodiscard]] double divisibility(double value);  // log2 of the largest power of two, up to 64, that divides it
// A convolution in several groups of several channels: for shapes for which the library has no kernel for all groups,
// the host launches those of each group.
[[nodiscard]] bool in_groups(const Kernel& kernel);

// Time of one execution if the slower of arithmetic and memory ran at the data sheet's rate, plus a fixed microsecond a
// launch. No fitted constant: what is learned against it stays valid when the roofline's constants are fitted again.
[[nodiscard]] double ideal_kernel_us(const Kernel& kernel, const Device& device);

[[nodiscard]] const std::vector<std::string>& kernel_fact_names();
[[nodiscard]] std::size_t kernel_fact_count();
// REQUIRES: out.size() == kernel_fact_count(). `host_included`: the time to learn was taken call by call from the host.
void extract_kernel_facts(const Kernel& kernel, const Device& device, bool host_included, std::span<float> out);
// Of the names, the vocabularies and the facts of a sample's kernels on its devices; the sample is schema_sample()
// unless given.
[[nodiscard]] FeatureSchema kernel_facts_schema();
[[nodiscard]] FeatureSchema kernel_facts_schema(const SchemaSample& sample);

// The same for two kernels that take the same time on a device.
[[nodiscard]] std::uint64_t kernel_key(const Kernel& kernel);
// A network's kernels with equal ones joined (their runs added): what a predictor has to walk is a few dozen.
struct KernelGroup {
  const Kernel* kernel = nullptr;
  double runs = 0;
};
// `group_of`: where given, filled with the group of each kernel.
[[nodiscard]] std::vector<KernelGroup> group_kernels(std::span<const Kernel> kernels,
                                                     std::vector<std::uint32_t>* group_of = nullptr);

}  // namespace forerun
