// NVML's C functions are looked up by name; their signatures are those of nvml.h.
#include "profiler/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace forerun {
namespace {

template <typename Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

Nvml::Nvml(int device_index) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library_ == nullptr) return;
  auto init = symbol<int (*)()>(library_, "nvmlInit_v2");
  auto by_index = symbol<int (*)(unsigned, void**)>(library_, "nvmlDeviceGetHandleByIndex_v2");
  if (init == nullptr || by_index == nullptr || init() != 0) return;
  void* handle = nullptr;
  if (by_index(static_cast<unsigned>(device_index), &handle) == 0) device_ = handle;
}

Nvml::~Nvml() {
  if (library_ != nullptr) dlclose(library_);
}

std::optional<double> Nvml::energy_j() const {
  if (device_ == nullptr) return std::nullopt;
  auto read = symbol<int (*)(void*, unsigned long long*)>(library_, "nvmlDeviceGetTotalEnergyConsumption");
  unsigned long long millijoules = 0;
  if (read == nullptr || read(device_, &millijoules) != 0) return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

std::optional<double> Nvml::power_w() const {
  if (device_ == nullptr) return std::nullopt;
  auto read = symbol<int (*)(void*, unsigned*)>(library_, "nvmlDeviceGetPowerUsage");
  unsigned milliwatts = 0;
  if (read == nullptr || read(device_, &milliwatts) != 0) return std::nullopt;
  return static_cast<double>(milliwatts) / 1e3;
}

std::string Nvml::driver_version() const {
  if (device_ == nullptr) return {};
  auto read = symbol<int (*)(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (read == nullptr || read(text.data(), text.size()) != 0) return {};
  return text.data();
}

}  // namespace forerun
