// characterize() with CUDA: asks the device what it is, then runs each measurement in turn.
#include "profiler/characterize.hpp"

#include <chrono>
#include <ctime>
#include <optional>
#include <thread>

#include "profiler/cuda/device_timer.hpp"
#include "profiler/cuda/rates.hpp"

namespace forerun {
namespace {

double mean_idle_power_w(const Nvml& nvml, double seconds) {
  double sum = 0;
  int readings = 0;
  for (double spent = 0; spent < seconds; spent += 0.1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (auto power = nvml.power_w()) sum += *power, ++readings;
  }
  return readings > 0 ? sum / readings : 0;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

void describe(int index, Characterization& result) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  result.device_name = properties.name;
  result.multiprocessors = properties.multiProcessorCount;
  result.l2_bytes = properties.l2CacheSize;
  result.memory_bytes = double(properties.totalGlobalMem);
}

}  // namespace

Result<Characterization> characterize(const CharacterizeOptions& options) {
  Characterization result;
  result.date = today();
  const Nvml nvml(options.device_index);
  result.driver = nvml.driver_version();
  if (!nvml.available()) result.notes.push_back("NVML is not available: no power readings");
  try {
    if (options.power && nvml.available()) result.idle_power_w = mean_idle_power_w(nvml, 2.0);
    cuda::check(cudaSetDevice(options.device_index), "cudaSetDevice");
    cuda::check(cudaFree(nullptr), "starting CUDA");
    describe(options.device_index, result);
    if (options.power && nvml.available()) result.idle_context_power_w = mean_idle_power_w(nvml, 1.5);
    cuda::measure_launches(result);
    cuda::measure_arithmetic(result);
    cuda::measure_memory(options, result);
    cuda::measure_host_copies(result);
    cuda::measure_gemms(options, result);
    if (options.power) cuda::measure_loaded_power(nvml, result);
  } catch (const cuda::CudaFailure& failure) {
    return Error{ErrorKind::BadInput, std::string("characterising the GPU failed: ") + failure.what()};
  }
  return result;
}

}  // namespace forerun
