// A device of the catalogue: figures from data sheets, and measured ceilings where somebody measured them.
// A figure that is not known is absent (nullopt), never 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace forerun {

struct MigProfile {
  std::string profile;  // "1g.5gb"
  int compute_slices = 0;
  int memory_slices = 0;
  double memory_gib = 0;
  int sm_count = 0;
  int instances = 0;  // how many fit on one card
};

struct Interconnect {
  std::string kind;                     // "nvlink4"; empty when PCIe only
  std::optional<double> gb_per_s;       // total of both directions, one device
  std::optional<double> pcie_gb_per_s;  // one direction
};

// Ceilings measured on a real device of this type by `forerun-lab characterize`.
struct MeasuredCeilings {
  std::string date;
  std::map<std::string, double> peak_tflops;
  std::optional<double> memory_bandwidth_gb_per_s, l2_bandwidth_gb_per_s, l1_bandwidth_gb_per_s;
  std::optional<double> kernel_launch_us, graph_kernel_us;
  std::optional<double> idle_power_w, loaded_power_w;
};
// Rates that others measured on such a device and published: `source` names them.
struct ReportedCeilings {
  std::optional<double> memory_bandwidth_gb_per_s, l2_bandwidth_gb_per_s, l1_bandwidth_gb_per_s;
  std::string source;
};
// The single figures of MeasuredCeilings under their names in device files.
struct CeilingFigure {
  const char* name;
  std::optional<double> MeasuredCeilings::*figure;
};
inline constexpr CeilingFigure kCeilingFigures[] = {
    {"memory_bandwidth_gb_per_s", &MeasuredCeilings::memory_bandwidth_gb_per_s},
    {"l2_bandwidth_gb_per_s", &MeasuredCeilings::l2_bandwidth_gb_per_s},
    {"l1_bandwidth_gb_per_s", &MeasuredCeilings::l1_bandwidth_gb_per_s},
    {"kernel_launch_us", &MeasuredCeilings::kernel_launch_us},
    {"graph_kernel_us", &MeasuredCeilings::graph_kernel_us},
    {"idle_power_w", &MeasuredCeilings::idle_power_w},
    {"loaded_power_w", &MeasuredCeilings::loaded_power_w}};

struct Device {
  std::string id, name, maker, kind, architecture;
  int year = 0;
  std::vector<std::string> aliases;
  std::optional<double> compute_capability;  // 9.0
  int sm_count = 0;
  std::optional<int> cores_per_sm, tensor_cores_per_sm;
  std::optional<double> clock_base_mhz, clock_boost_mhz;
  std::map<std::string, double> peak_tflops;  // dense; keys "fp32", "fp16_tensor", "tf32_tensor", "int8_tensor", …
  double memory_gib = 0;
  std::string memory_type;  // "HBM3e"; empty: unknown
  double memory_bandwidth_gb_per_s = 0;
  std::optional<double> l2_mib, l1_kib_per_sm, shared_memory_kib_per_sm, shared_memory_kib_per_block;
  std::optional<double> registers_per_sm, max_threads_per_sm, max_threads_per_block;
  double power_limit_w = 0;
  std::optional<double> idle_power_w;
  Interconnect interconnect;
  std::vector<MigProfile> mig;
  std::optional<double> host_cpu_clock_mhz, host_cpu_cores, host_ram_gib;
  std::optional<MeasuredCeilings> measured;
  std::optional<ReportedCeilings> reported;
  std::map<std::string, std::string> sources;
  double sm_share = 1;  // of the card's multiprocessors; below 1 for a MIG slice
  std::string slice;    // profile name when this is a MIG slice of a device, else empty
};

// The slice as a Device: fewer SMs, its share of bandwidth, L2 and power.
[[nodiscard]] Device slice_of(const Device& device, const MigProfile& profile);

}  // namespace forerun
