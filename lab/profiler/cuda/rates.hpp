// The measurements that characterize() puts together; each fills its own fields of a Characterization. They throw
// CudaFailure.
#pragma once

#include "profiler/characterize.hpp"
#include "profiler/nvml.hpp"

namespace forerun::cuda {

void measure_arithmetic(Characterization& result);
void measure_memory(const CharacterizeOptions& options, Characterization& result);
void measure_gemms(const CharacterizeOptions& options, Characterization& result);
void measure_launches(Characterization& result);
void measure_host_copies(Characterization& result);
void measure_loaded_power(const Nvml& nvml, Characterization& result);

}  // namespace forerun::cuda
