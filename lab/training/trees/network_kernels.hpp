// Kernels learned from whole networks on many devices: how far each kernel lies from the roofline, taught by the sums
// that were measured. This answers for devices of which no network was measured.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "dataset/tree_rows.hpp"
#include "training/trees/tree_trainer.hpp"

namespace forerun {

// A run that teaches kernels: a language model's, timed without the host's gaps. (Left-out devices are not closer for
// image networks than the roofline is: docs/accuracy/detail.md.)
[[nodiscard]] bool teaches_kernels(const Example& example, const TreeInput& input);

// CUDA's major version of the run's device; 0 where it has none.
[[nodiscard]] int generation_of(const TreeInput& input);
// How much longer than the roofline's host time the host took, by campaign: the median over the rows it decides. Hosts
// are as old as their cards: where a campaign has devices of that generation, theirs.
[[nodiscard]] std::map<std::string, double> host_factors(const TreeRows& rows, std::span<const std::size_t> train,
                                                         int generation);

// Trees on kernel facts; scores are log(real / roofline). Facts that tell one device from another without saying why it
// is faster (its size, bandwidth, generation) are hidden: with few devices, trees would learn their names.
struct TeachingRun {
  const Example* example = nullptr;
  const TreeInput* input = nullptr;
};
Result<TreeNodes> train_network_kernels(std::span<const TeachingRun> train,
                                        std::uint64_t seed = 1);  // REQUIRES: they teach kernels

}  // namespace forerun
