// The embedded default predictor: kernel by kernel, the larger of compute and memory time on this device, from
// data-sheet figures and a few fitted constants. Also the baseline for learned predictors, and a source of features.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "graph/graph.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

// Efficiencies and overheads, fitted by `forerun-lab fit-roofline`; see docs/method/analytic.md for the formula.
struct ClassConstants {
  double compute = 0.6;    // share of the ceiling a large kernel of this class reaches
  double memory = 0.8;     // share of the memory bandwidth
  double overhead_us = 2;  // fixed time of one launch on the device
};
struct RooflineConstants {
  std::vector<ClassConstants> classes;                         // by KernelClass
  double unmeasured_compute = 0.85, unmeasured_memory = 0.92;  // ceilings against data sheets where nobody measured
  double smoothness = 2.5;                      // exponent of the smooth maximum of compute and memory time
  double depth_plain = 50, depth_tensor = 100;  // GEMM prologue and epilogue, as extra depth
  // Rate of a tile by its number of results, relative to the largest (32768).
  double tile_16k = 0.97, tile_8k = 0.9, tile_4k = 0.8, tile_2k = 0.5, tile_256 = 0.1;
  double split_cost = 1.0;           // of the split-K reduction
  double watts_per_tflops_nm = 1.2;  // power per TFLOP/s of fp32 without tensor cores, per nm of the process
  double winograd = 0.6, winograd_passes = 0.5;  // share of the plain units, of the transforms' bytes
  double score_cost = 0.36;  // exponentials' share of the special units' time per score of attention
  double attention_block_us = 3.2, decode_block_us = 1.6, cache_block_speedup = 10;
  double intel_launch = 9;     // a launch through Intel's driver against NVIDIA's
  double l2_speedup = 2.5;     // bandwidth of L2 against memory
  double block_speedup = 3.0;  // memory rate of one busy multiprocessor against its equal share
  double host_op_us = 6.0;     // host time of one dispatched operator, eager
  double overlap_power = 4.0;  // exponent of the smooth maximum of host and device time
  // Convolutions run on channels-last tensors; PyTorch's default layout is converted before and after.
  double half_layout = 3.0, tf32_layout = 2.0;  // extra passes over input and output, 16-bit and TF32
  double layout_us = 1.0;                       // launching them
  double misaligned = 2.0;  // factor on GEMMs with a side that is no multiple of 8 (16 bits) or 4 (32 bits)
  double grouped = 2.0;     // factor on grouped convolutions
  double weight_gradient = 1.3, input_gradient = 1.1;  // factors on convolutions' backward kernels
  // Power of busy units, as shares of the range between idle power and power limit.
  double power_compute = 0.62, power_memory = 0.45, power_base = 0.08;
  // Half widths of the 90 % intervals, as logarithms.
  double latency_width = 0.5, memory_width = 0.2, power_width = 0.4, energy_width = 0.6;
};

// Every constant by its name in data/roofline/constants.json ("conv.compute", "k_half"), for reading, writing and
// fitting.
struct NamedConstant {
  std::string name;
  double* value;
};
[[nodiscard]] std::vector<NamedConstant> name_constants(RooflineConstants& constants);
[[nodiscard]] const RooflineConstants& shipped_constants();  // data/roofline/constants.json
// Hash of the constants that answers depend on (without intervals) and of the roofline's answers on schema_sample().
// Learned answers are ratios to the roofline's: a bundle stores this and is refused when it differs.
[[nodiscard]] std::uint64_t roofline_hash();
[[nodiscard]] std::uint64_t roofline_hash(const RooflineConstants& constants);

// Arithmetic ceiling in TFLOP/s; 0 when the device has no unit for it.
[[nodiscard]] double peak_tflops(const Device& device, Math math);
// Why the device cannot run this precision at its own rate; nullopt when it can.
[[nodiscard]] std::optional<std::string> precision_problem(const Device& device, Precision precision);

[[nodiscard]] KernelTime time_kernel(const Kernel& kernel, const Device& device, const RooflineConstants& constants);

// Memory figures of a graph that do not depend on the device.
struct MemoryFacts {
  double weight_bytes = 0, parameters = 0;
  double peak_bytes = 0,
         saved_bytes = 0;  // activations: live at once (in training with the weights' gradients), kept for backward
  bool has_products = false;
  // Of a training step, where the reader knows the layers: for activation checkpointing and sharded parameters.
  double activation_peak_bytes = 0;                       // peak_bytes without the gradients of weights
  double layers_saved_bytes = 0, scores_saved_bytes = 0;  // kept inside layers; by attention's scores alone
  double largest_layer_saved_bytes = 0;
  double layer_input_bytes = 0;  // what one layer hands to the next
  double largest_layer_parameters = 0, expert_parameters = 0;
  std::int64_t layers = 0;
};
[[nodiscard]] MemoryFacts count_memory(const Graph& graph, const std::vector<Kernel>& kernels,
                                       const Workload& workload);
[[nodiscard]] MemoryEstimate estimate_memory(const MemoryFacts& facts, const Workload& workload, const Device& device);

// Latency and power from the sums over a pass' kernels (time, and the shares of it that arithmetic and memory take) and
// the host's time; memory is left out.
[[nodiscard]] RooflineEstimate sum_up(double device_us, double compute_us, double memory_us, double host_us,
                                      const Device& device, const RooflineConstants& constants);

// `same_as`: for each kernel the first one equal to it, where it is known; such kernels are timed once. Once `cancel`
// has stopped the rest count nothing: callers look at it afterwards.
[[nodiscard]] RooflineEstimate estimate_roofline(const std::vector<Kernel>& kernels, const MemoryFacts& memory,
                                                 const Workload& workload, const Device& device,
                                                 const RooflineConstants& constants = shipped_constants(),
                                                 std::span<const std::uint32_t> same_as = {},
                                                 const CancelToken& cancel = {});
[[nodiscard]] RooflineEstimate estimate_roofline(const Graph& graph, const std::vector<Kernel>& kernels,
                                                 const Workload& workload, const Device& device,
                                                 const RooflineConstants& constants = shipped_constants());

}  // namespace forerun
