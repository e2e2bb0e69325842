// What devices of one generation have in common: data/architectures, one file a generation, with what some of its chips
// have otherwise by compute capability.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace forerun {

struct Device;

// Where tensor cores take their operands from; those with a memory of their own keep results there, too, and go on with
// the next tile while results leave.
enum class TensorOperands : std::uint8_t { None, Registers, SharedMemory, TensorMemory };
// The set of cuBLAS' kernels for plain fp32.
enum class PlainGemm : std::uint8_t { Pascal, Volta, Turing, Ampere };

struct Architecture {
  double process_nm = 0;  // the class that the maker's name of the process stands for (TSMC's 4N is 5 nm); 0: unknown
  double l2_partitions = 1;  // each keeps what its own multiprocessors read
  TensorOperands tensor_operands = TensorOperands::SharedMemory;
  PlainGemm plain_gemm = PlainGemm::Ampere;
  double exponentials_per_clock = 16;  // of one multiprocessor
  double launch_scale = 1;             // launches on the device against the usual ones
  bool launches_overlap = false;       // the host launches slowly, while kernels before it run
  double context_mib = 420;            // what a process holds beside its tensors
  double gemm_workspace_mib = 0;       // the library keeps for products
  std::optional<double> l1_bytes_per_clock, l2_bytes_per_clock;  // that one multiprocessor reads
};

// A generation, or one of its compute capabilities.
struct ArchitectureEntry {
  std::string name;
  std::optional<double> compute_capability;
  Architecture architecture;
};

// One file's entries, that of the generation first. Errors name the file and the key.
Result<std::vector<ArchitectureEntry>> parse_architecture(std::string_view json, const std::string& place);

// The entry of the device's generation and compute capability; of its generation alone; of its compute capability; else
// that of a generation nobody described. REQUIRES: load_architectures() succeeded, as Catalogue::load() checks.
[[nodiscard]] const Architecture& architecture_of(const Device& device);
// Of the shipped files; the error of the first that cannot be used.
[[nodiscard]] const Result<std::vector<ArchitectureEntry>>& load_architectures();

}  // namespace forerun
