// Power and energy through NVML, loaded at run time: a machine without it still builds and runs, and readings are
// absent.
#pragma once

#include <optional>
#include <string>

namespace forerun {

class Nvml {
 public:
  explicit Nvml(int device_index);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool available() const { return device_ != nullptr; }
  [[nodiscard]] std::optional<double> energy_j() const;  // since the driver was loaded; moves about every 100 ms
  [[nodiscard]] std::optional<double> power_w() const;
  [[nodiscard]] std::string driver_version() const;  // empty where unknown

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace forerun
