// An engine's pass as sums by what an engine's efficiency depends on, from the analytic times of its kernels.
#pragma once

#include <span>
#include <vector>

#include "analysis/kernels.hpp"
#include "devices/device.hpp"
#include "records/roofline_estimate.hpp"
#include "serving/engine.hpp"
#include "serving/step_times.hpp"

namespace forerun {

// Milliseconds on one device.
struct PassParts {
  double batch = 1, context = 1;                                      // as in StepPoint
  double linear = 0, linear_fp8 = 0, linear_fp4 = 0, linear_int = 0;  // products, by the weights' format
  double expert_memory = 0, expert_compute = 0, expert_launch = 0;
  double attention = 0, latent_attention = 0, other = 0, exchange = 0;
  double layers = 0;
  double power_w = 0;
};

// How the devices of one instance divide the work. Experts are divided over all of them.
struct ServingLayout {
  std::int64_t tensor = 1;          // devices that share attention and dense layers
  std::int64_t pipeline = 1;        // stages of layers: as many batches are under way at once
  std::int64_t split = 1;           // stages of layers that take turns on one batch
  std::int64_t attention_data = 1;  // groups of those that each serve some of the requests
  std::int64_t kv_shards = 1;       // devices that a KV cache is divided over; the latent of MLA is not divided
  double hidden = 0, layers = 0;
  double kv_bytes_per_token = 0;  // of one device and sequence
  // That work on one layer.
  [[nodiscard]] std::int64_t devices() const { return tensor * attention_data; }
};

// One device's kernels of a pass, as tensor parallelism leaves them. With data-parallel attention, `dense` is a pass
// over one group's tokens, and `experts` a pass over all groups' tokens, of which only the experts' kernels are taken.
struct PassKernels {
  double batch = 1, context = 1, tokens = 1;  // tokens of one group
  std::vector<Kernel> dense, experts;
};
[[nodiscard]] PassKernels share_pass(PassKernels pass, const ServingLayout& layout);

[[nodiscard]] PassParts sum_parts(const PassKernels& pass, const ServingLayout& layout, const Device& device);

// The step table of an engine from its passes. `is_decode` points make a grid.
[[nodiscard]] StepPoint step_point(const PassParts& parts, const Engine& engine);
[[nodiscard]] StepTimes make_step_times(std::span<const PassParts> decodes, std::span<const PassParts> prompts,
                                        const Engine& engine);

}  // namespace forerun
