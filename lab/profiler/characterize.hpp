// The empirical ceilings of the GPU in this machine: what `forerun-lab characterize` measures and the device catalogue
// keeps. characterize() is implemented in cuda/ where the CUDA toolkit is found and in no_cuda/ (a clear error)
// elsewhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct BandwidthPoint {
  double working_set_bytes = 0;
  double gb_per_s = 0;  // 10^9 bytes per second, all multiprocessors together
};

struct GemmPoint {
  std::string precision;  // fp64_tensor fp32 tf32_tensor fp16_tensor bf16_tensor fp8_tensor int8_tensor
  int size = 0;           // M = N = K
  double tflops = 0;      // int8: tera-operations per second
};

struct Characterization {
  std::string device_name;
  std::string driver;
  std::string date;  // YYYY-MM-DD
  int multiprocessors = 0;
  double l2_bytes = 0;
  double memory_bytes = 0;

  std::map<std::string, double> plain_tflops;  // fp32, fp64, fp16: fused multiply-adds outside the tensor cores
  std::vector<GemmPoint> gemms;
  std::vector<BandwidthPoint> shared_sweep;   // all multiprocessors read one buffer past L1: L2, then device memory
  std::vector<BandwidthPoint> private_sweep;  // each multiprocessor rereads its own buffer: L1, then L2
  double copy_gb_per_s = 0;                   // device to device, bytes read plus bytes written
  double write_gb_per_s = 0;

  double kernel_launch_us = 0;         // back-to-back launches of an empty kernel, per launch
  double launch_and_wait_us = 0;       // one launch and a synchronisation
  double graph_kernel_us = 0;          // one node in a chain of 1000 inside a graph
  double graph_launch_us = 0;          // one launch of a one-node graph and a synchronisation
  double host_to_device_gb_per_s = 0;  // pinned memory
  double device_to_host_gb_per_s = 0;
  double pageable_to_device_gb_per_s = 0;

  double idle_power_w = 0;           // no CUDA context
  double idle_context_power_w = 0;   // a context open, nothing running
  double loaded_power_w = 0;         // a large fp16 matrix product back to back
  double memory_loaded_power_w = 0;  // a large copy back to back
  std::vector<std::string> notes;    // what could not be measured, and why
};

struct CharacterizeOptions {
  int device_index = 0;
  int largest_gemm = 16384;
  double largest_buffer_bytes = 8e9;
  bool power = true;
};

Result<Characterization> characterize(const CharacterizeOptions& options);

}  // namespace forerun
