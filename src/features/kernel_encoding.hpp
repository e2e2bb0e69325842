// Our own encoding: the kernels a runtime launches are the nodes, equal ones joined, with the data flow between them as
// edges; each carries its costs on a log scale, its roofline time on the target, how well it fills the machine and how
// often it runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "bundle/bundle.hpp"
#include "devices/device.hpp"
#include "features/graph_tensors.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"

namespace forerun {

struct SchemaSample;

struct KernelTensors {
  GraphTensors graph;  // edges in both directions; globals: the run's settings and the device, then the graph
  std::vector<float>
      device_ms;               // per node: all executions of its kernels, as `run_us` says; without it at the roofline
  std::vector<float> host_ms;  // per node: the host's dispatches, eager, at the roofline's constant
  double memory_mb = 0;        // the roofline's peak of the allocator
  std::vector<std::int32_t> node_of;  // node of each kernel
  std::vector<double> runs;           // per node: executions of all its kernels
};

// Edges between kernels: data flow in the forward pass, its reverse in the backward one, forward to its own backward,
// the last backward kernels to the optimiser. Kernels of bodies of control flow join their neighbours in order.
[[nodiscard]] std::vector<Edge> kernel_edges(const Graph& graph, std::span<const Kernel> kernels);

// `run_us`: learned µs of one run of each kernel; empty: the roofline's. REQUIRES: totals, `kernels` and `roofline`
// belong to this graph, workload and device. Both runtimes give the same features: the kernels are the same.
[[nodiscard]] KernelTensors encode_kernels(const Graph& graph, const Totals& totals, const std::vector<Kernel>& kernels,
                                           const RooflineEstimate& roofline, const Device& device,
                                           const Workload& workload, std::span<const double> run_us = {});

[[nodiscard]] std::vector<std::string> kernel_feature_names();         // of a node, in order
[[nodiscard]] std::vector<std::string> kernel_global_feature_names();  // of the globals, in order
[[nodiscard]] std::size_t kernel_timed_column();   // of a node: log of the learned time over the roofline's
[[nodiscard]] std::size_t kernel_setting_count();  // how many of the globals are settings and device figures: the first
// Of the names and the tensors of the sample.
[[nodiscard]] FeatureSchema kernel_schema();
[[nodiscard]] FeatureSchema kernel_schema(const SchemaSample& sample);

}  // namespace forerun
