// Everything the trees look at, made once per workload and device: by serving and by training alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "devices/device.hpp"
#include "features/kernel_facts.hpp"
#include "features/table.hpp"
#include "predictors/pass_power.hpp"
#include "predictors/trees/forest.hpp"
#include "predictors/trees/known_kernels.hpp"
#include "records/kernel_terms.hpp"
#include "records/roofline_estimate.hpp"
#include "records/run_kind.hpp"
#include "records/workload.hpp"

namespace forerun {

// Which facts of kernels an input has: those of a measured device, or also those that carry over to one that was not
// measured.
enum class KernelBasis : std::uint8_t { Measured, Transfer };

// So many inputs at once are as fast as more, and take little memory.
inline constexpr std::size_t kInputsAtOnce = 64;

inline constexpr std::size_t kKernelClasses = std::size_t(KernelClass::Count);

struct TreeInput {
  RunKind domain = RunKind::VisionInference;
  std::vector<float> table;  // columns of table_schema()
  // Distinct kernels: facts row by row, time at the data sheet's rates over all runs, class.
  std::vector<float> facts;
  std::vector<double> ideal_us;
  std::vector<double> roofline_us;  // the roofline's time of the same kernels
  std::vector<std::uint8_t> classes;
  std::vector<std::uint64_t> keys;  // known_kernel_key()
  // KernelBasis::Transfer: the same kernels by transfer_facts.hpp, their physical time over all runs, and their kinds.
  std::vector<float> transfer_facts;
  std::vector<double> physics_us;
  std::vector<KernelTerms> physics_terms;  // physics_us by cause
  std::vector<std::string> kinds;
  // the roofline's own answers
  double device_ms = 0, host_ms = 0, eager_ms = 0, graph_ms = 0, memory_mb = 0, device_memory_mb = 0, power_w = 0;
  double power_graph_w = 0;
  double power_limit_w = 0;  // of the device
  CountedAs counted;         // its energy
  std::vector<std::pair<std::uint32_t, double>>
      grouped;             // in_groups(): which kernel, and its runs over the roofline's host time in µs
  double host_factor = 1;  // filled by time_grouped_host(): of host_ms
  // filled by sum_kernels(): learned device time, of each kernel and of all, and each class's share of it
  std::vector<double> kernel_us;
  double kernel_ms = 0;
  std::array<float, kKernelClasses> class_share{};
};

// `groups`: group_kernels(kernels), where it is there already.
[[nodiscard]] TreeInput make_tree_input(const Graph& graph, const Totals& totals, const std::vector<Kernel>& kernels,
                                        const Workload& workload, const Device& device,
                                        const RooflineEstimate& roofline, std::span<const KernelGroup> groups = {},
                                        KernelBasis basis = KernelBasis::Measured);

// exp(forest, or what was measured of a known kernel) x ideal, of each kernel.
[[nodiscard]] std::vector<double> learned_kernel_us(std::span<const float> facts, std::span<const double> ideal_us,
                                                    std::span<const std::uint64_t> keys, const Forest& kernel_forest,
                                                    const KnownKernels& known);
// Sums them, of all inputs at once: the kernels of many go through each tree together.
void sum_kernels(std::span<TreeInput> inputs, const Forest& kernel_forest, const KnownKernels& known = {});
inline void sum_kernels(TreeInput& input, const Forest& kernel_forest, const KnownKernels& known = {}) {
  sum_kernels(std::span(&input, 1), kernel_forest, known);
}
// The same for trees taught by whole networks: exp(forest) x the roofline's time.
void sum_network_kernels(TreeInput& input, const Forest& network_forest);
// How much longer the host takes for convolutions that it launches group by group: exp(forest) x kUsualHostUs a call.
inline constexpr double kUsualHostUs = 40;
void time_grouped_host(std::span<TreeInput> inputs, const Forest& host_forest);
inline void time_grouped_host(TreeInput& input, const Forest& host_forest) {
  time_grouped_host(std::span(&input, 1), host_forest);
}
[[nodiscard]] inline double host_time_ms(const TreeInput& input) {
  return std::max(1e-6, input.host_ms * input.host_factor);
}
// Whether an eager pass may wait for its host where that was never measured: old ones take three times as long as ours.
// REQUIRES: kernel_ms
[[nodiscard]] inline bool host_may_decide(const TreeInput& input) { return 3 * host_time_ms(input) > input.kernel_ms; }

// Trees on transfer facts, and the kinds of kernels they were trained on: others keep their physical time.
struct TransferForest {
  Forest forest;
  std::set<std::string> kinds;
};
// One time per kernel, in µs.
[[nodiscard]] std::vector<double> time_kernels(std::span<const float> transfer_facts,
                                               std::span<const double> physics_us, std::span<const std::string> kinds,
                                               const TransferForest& transfer);
void sum_transferred(TreeInput& input, const TransferForest& transfer);  // REQUIRES: KernelBasis::Transfer

// The row that the trees of a metric read: the table, then what the kernel sum adds. REQUIRES: sum_kernels
[[nodiscard]] const std::vector<std::string>& tree_column_names();
[[nodiscard]] std::vector<float> tree_row(const TreeInput& input);

// What trees predict the log ratio to. REQUIRES: sum_kernels
[[nodiscard]] double tree_base(const TreeInput& input, RunMetric metric);
// The roofline's answer for a metric: the baseline of every table of results.
[[nodiscard]] double roofline_answer(const TreeInput& input, RunMetric metric);

}  // namespace forerun
