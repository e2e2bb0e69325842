// Serving engines as data: one file an engine in data/engines/, one entry a version. A version inherits what it does
// not state from the one before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "devices/device.hpp"
#include "serving/simulator.hpp"

namespace forerun {

// Factors on the analytic times of an engine's kernels, by what they depend on.
struct EngineFactors {
  double linear = 1, linear_fp8 = 1, linear_fp4 = 1, linear_int = 1;  // products, by the weights' format
  double prompt = 1;  // on all of the above, in prompts beyond the largest decode batch
  double attention = 1, latent_attention = 1, prompt_attention = 1;  // decode steps (latent: MLA's), prompts
  double expert_memory = 1, expert_compute = 1;  // grouped products of experts: reading weights, arithmetic
  double other = 1;                              // norms, activations, sampling
  double exchange = 1;                           // between devices
  double step = 1;                               // on all of a step, its CPU time too: a user's own correction
};

struct EngineHost {
  double step_ms = 0, request_ms = 0;                         // CPU time of a step, and per sequence in it
  double layer_ms = 0;                                        // per layer and step, on the device: gaps between kernels
  double api_ms = 0;                                          // HTTP, before the scheduler sees a request
  double api_serial_ms = 0, api_serial_ms_per_1k_tokens = 0;  // tokeniser: one request after the other
};

// Half widths of the 90 % intervals, as logarithms.
struct EngineIntervals {
  double ttft = 0.9, tpot = 0.4, rate = 0.4;
};

struct Engine {
  std::string name, version;
  bool runs_framework_kernels = false;  // PyTorch's own kernels, launched one by one, instead of fused ones
  bool overlaps_host = false;
  bool splits_layers = false;  // several devices hold some layers each and take turns
  std::int64_t block_tokens = 16, max_batch = 256, step_tokens = 8192;
  bool chunks_prompts = true, mixes_phases = true, streams_from_decode = false;
  double output_reserve = 0;
  double memory_share = 0.9;             // of the device's memory, for everything the engine holds
  bool share_is_of_free_memory = false;  // the share is of what weights and activations leave, for the caches alone
  double graph_pool_mb = 0;              // CUDA graphs
  double transfer_ms = 2;                // fixed time of handing a KV cache over
  EngineFactors factors;
  EngineHost host;
  EngineIntervals intervals;
  std::string fitted_on;  // the rows its factors come from; empty: none, the analytic times are taken as they are
};

// An engine on a device: `version` empty is the newest one known. `warnings` says when an unknown version inherits,
// when the constants were not set on this maker's devices, and when the user's own benchmark corrects them.
Result<Engine> find_engine(std::string_view name, std::string_view version, const Device& device,
                           std::vector<std::string>& warnings);
[[nodiscard]] std::vector<std::string> list_engines();

// Where the correction of an engine on a device lies (forerun-lab adapt --serving); empty: no folder of the user's.
[[nodiscard]] std::string correction_path(std::string_view engine, std::string_view device);

[[nodiscard]] SchedulerLimits limits_of(const Engine& engine);

// Every number of an engine by its name in data/engines/, for reading and fitting.
struct EngineNumber {
  std::string_view name;
  double* value;
};
[[nodiscard]] std::vector<EngineNumber> name_numbers(Engine& engine);

}  // namespace forerun
