// Inputs of the trees for one workload and device; prediction and training use the same code.
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
#include "base/cancel_token.hpp"
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

// Which kernel facts an input holds: those for measured devices, or also those that transfer to devices that were not
// measured.
enum class KernelBasis : std::uint8_t { Measured, Transfer };

// Batch size beyond which throughput no longer grows.
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
  // KernelBasis::Transfer: transfer facts of the same kernels, their analytic time over all runs, and their kinds.
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
  double host_factor = 1;  // factor on host_ms, set by time_grouped_host()
  // set by sum_kernels(): learned device time of each kernel and in total, and the share of each class
  std::vector<double> kernel_us;
  double kernel_ms = 0;
  std::array<float, kKernelClasses> class_share{};
  CancelToken cancel;  // once it has stopped, figures are incomplete
};

// `groups`: group_kernels(kernels) when already computed.
[[nodiscard]] TreeInput make_tree_input(const Graph& graph, const Totals& totals, const std::vector<Kernel>& kernels,
                                        const Workload& workload, const Device& device,
                                        const RooflineEstimate& roofline, std::span<const KernelGroup> groups = {},
                                        KernelBasis basis = KernelBasis::Measured, const CancelToken& cancel = {});

// Time of each kernel: ideal time x exp(forest score, or the measured score of a known kernel).
[[nodiscard]] std::vector<double> learned_kernel_us(std::span<const float> facts, std::span<const double> ideal_us,
                                                    std::span<const std::uint64_t> keys, const Forest& kernel_forest,
                                                    const KnownKernels& known, const CancelToken& cancel = {});
// Sums the kernel times of all inputs, whose kernels go through the forest as one batch.
void sum_kernels(std::span<TreeInput> inputs, const Forest& kernel_forest, const KnownKernels& known = {});
inline void sum_kernels(TreeInput& input, const Forest& kernel_forest, const KnownKernels& known = {}) {
  sum_kernels(std::span(&input, 1), kernel_forest, known);
}
// The same with the forest trained on whole networks: exp(forest) x the roofline's time.
void sum_network_kernels(TreeInput& input, const Forest& network_forest);
// Additional host time for convolutions launched group by group: exp(forest) x kUsualHostUs per call.
inline constexpr double kUsualHostUs = 40;
void time_grouped_host(std::span<TreeInput> inputs, const Forest& host_forest);
inline void time_grouped_host(TreeInput& input, const Forest& host_forest) {
  time_grouped_host(std::span(&input, 1), host_forest);
}
[[nodiscard]] inline double host_time_ms(const TreeInput& input) {
  return std::max(1e-6, input.host_ms * input.host_factor);
}
// Whether an eager pass may be host-bound on an unknown host: old hosts take three times as long as the reference host.
// REQUIRES: kernel_ms
[[nodiscard]] inline bool host_may_decide(const TreeInput& input) { return 3 * host_time_ms(input) > input.kernel_ms; }

// Forest on transfer facts, and the kinds of kernels it was trained on; other kinds keep the analytic time.
struct TransferForest {
  Forest forest;
  std::set<std::string> kinds;
};
// One time per kernel, in µs.
[[nodiscard]] std::vector<double> time_kernels(std::span<const float> transfer_facts,
                                               std::span<const double> physics_us, std::span<const std::string> kinds,
                                               const TransferForest& transfer, const CancelToken& cancel = {});
void sum_transferred(TreeInput& input, const TransferForest& transfer);  // REQUIRES: KernelBasis::Transfer

// Feature row of the trees: the table, then features of the kernel sum. REQUIRES: sum_kernels
[[nodiscard]] const std::vector<std::string>& tree_column_names();
[[nodiscard]] std::vector<float> tree_row(const TreeInput& input);

// The base that the trees predict a log ratio to. REQUIRES: sum_kernels
[[nodiscard]] double tree_base(const TreeInput& input, RunMetric metric);
// The roofline's answer for a metric: the baseline of every table of results.
[[nodiscard]] double roofline_answer(const TreeInput& input, RunMetric metric);

}  // namespace forerun
