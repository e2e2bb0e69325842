// Measured examples as graph networks take them: one row per example and runtime, encoded in each of the three ways.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"
#include "devices/catalogue.hpp"
#include "features/kernel_encoding.hpp"

namespace forerun {

// A metric that was not measured is 0.
struct GnnTargets {
  double latency_ms = 0, memory_mb = 0, power_w = 0, energy_j = 0;
};

struct GnnRow {
  std::size_t example = 0;   // index into Dataset::examples
  Workload workload;         // with the runtime of this row
  std::string latency_name;  // kLatencyEager, kLatencyGraph or kStep
  KernelTensors kernels;
  GnnTargets targets;
  double roofline_latency_ms = 0;
};

// Eager rows carry all metrics, graph rows the latency alone. Examples that cannot be analysed are counted, not fatal.
struct GnnRows {
  std::vector<GnnRow> rows;
  std::size_t skipped = 0;
};
[[nodiscard]] Result<GnnRows> make_gnn_rows(const Dataset& dataset, const Catalogue& catalogue);

// The published encodings of one example.
struct PublishedTensors {
  GraphTensors inference_chain, inference_flow, training_flow;
};
[[nodiscard]] Result<PublishedTensors> encode_published(const Example& example);

}  // namespace forerun
