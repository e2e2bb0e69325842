// A stand-alone program around characterize(), for machines with nvcc and nothing else:
//   nvcc -O3 -std=c++20 -arch=native -Isrc -Ilab lab/profiler/cuda/*.cu lab/profiler/nvml.cpp -lcublasLt -ldl -o characterize
//   ./characterize OUTPUT_FOLDER
#include <cstdio>
#include <string>

#include "profiler/characterize.hpp"

namespace {

using forerun::BandwidthPoint;
using forerun::Characterization;

void write_sweep(const std::string& path, const std::vector<BandwidthPoint>& sweep) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "working_set_bytes,gb_per_s\n");
  for (const auto& point : sweep) std::fprintf(file, "%.0f,%.2f\n", point.working_set_bytes, point.gb_per_s);
  std::fclose(file);
}

void write_scalars(const std::string& path, const Characterization& c) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "quantity,value\ndevice,%s\ndriver,%s\ndate,%s\nmultiprocessors,%d\nl2_bytes,%.0f\nmemory_bytes,%.0f\n",
               c.device_name.c_str(), c.driver.c_str(), c.date.c_str(), c.multiprocessors, c.l2_bytes, c.memory_bytes);
  for (const auto& [name, rate] : c.plain_tflops) std::fprintf(file, "plain_%s_tflops,%.3f\n", name.c_str(), rate);
  const std::pair<const char*, double> rest[] = {
      {"copy_gb_per_s", c.copy_gb_per_s}, {"write_gb_per_s", c.write_gb_per_s}, {"kernel_launch_us", c.kernel_launch_us},
      {"launch_and_wait_us", c.launch_and_wait_us}, {"graph_kernel_us", c.graph_kernel_us}, {"graph_launch_us", c.graph_launch_us},
      {"host_to_device_gb_per_s", c.host_to_device_gb_per_s}, {"device_to_host_gb_per_s", c.device_to_host_gb_per_s},
      {"pageable_to_device_gb_per_s", c.pageable_to_device_gb_per_s}, {"idle_power_w", c.idle_power_w},
      {"idle_context_power_w", c.idle_context_power_w}, {"loaded_power_w", c.loaded_power_w},
      {"memory_loaded_power_w", c.memory_loaded_power_w}};
  for (const auto& [name, value] : rest) std::fprintf(file, "%s,%.4f\n", name, value);
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: characterize OUTPUT_FOLDER\n");
    return 2;
  }
  const auto result = forerun::characterize({});
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return 2;
  }
  const std::string folder = argv[1];
  write_sweep(folder + "/shared_sweep.csv", result->shared_sweep);
  write_sweep(folder + "/private_sweep.csv", result->private_sweep);
  write_scalars(folder + "/scalars.csv", *result);
  if (std::FILE* file = std::fopen((folder + "/gemm.csv").c_str(), "w")) {
    std::fprintf(file, "precision,size,tflops\n");
    for (const auto& g : result->gemms) std::fprintf(file, "%s,%d,%.2f\n", g.precision.c_str(), g.size, g.tflops);
    std::fclose(file);
  }
  for (const auto& note : result->notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  return 0;
}
