// A serving question: the passes of an engine that its step table is made of, built once and asked of every device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "service/request.hpp"
#include "service/workspace.hpp"
#include "serving/engine.hpp"
#include "serving/pass_parts.hpp"
#include "serving/summary.hpp"

namespace forerun {

// One group of instances that share a layout: all of them, or those of prefill or of decode.
struct ServingGroup {
  ServingLayout layout;
  std::int64_t count = 1;
  std::vector<PassKernels> decodes, prompts;  // of one instance; decodes form a grid
  double weights_mb = 0, activations_mb = 0;  // of one device
  double kv_mb_per_token = 0;                 // of one device and sequence, at the load's mean length
};

struct ServingQuestion {
  std::string engine, version;
  std::optional<Precision> precision;
  Load load;
  LatencyLimits limits;
  bool finds_rate = true;  // look for the highest rate under the limits
  ServingGroup decode;
  std::optional<ServingGroup> prefill;  // disaggregated
  bool eager = false;                   // the engine runs the framework's own kernels
  double kv_mb_per_request = 0;         // on all devices of an instance: what a disaggregated cache sends
  std::vector<std::string> warnings;
  CancelToken cancel;  // of the request
  [[nodiscard]] double devices() const;
};

inline constexpr const char* kDefaultEngine = "vllm";

// Whether a request asks for serving.
[[nodiscard]] bool asks_for_serving(const Request& request);

// REQUIRES: asks_for_serving(). Errors: not a language model, contradicting options, a layout that does not divide it.
Result<ServingQuestion> make_serving_question(Workspace& workspace, const Request& request);

struct ServingReport {
  std::string engine, version;
  bool saturated = false;
  std::vector<ServingMetric> metrics;
  std::optional<double> highest_rate;  // under the limits, requests a second
  std::int64_t max_concurrency = 0;    // requests of the load's mean length whose caches fit at once, on all instances
  double kv_capacity_tokens = 0;
  double needed_mb = 0, usable_mb = 0;  // of one device: for the load's requests in flight; what the engine may hold
  double devices = 1;                   // of the whole deployment
  std::int64_t preemptions = 0, steps = 0;
  std::vector<std::string> warnings;
};

Result<ServingReport> answer_serving(const ServingQuestion& question, const Device& device);

// The same with an engine given: what studies and fits ask.
[[nodiscard]] ServingReport simulate_serving(const ServingQuestion& question, const Device& device,
                                             const Engine& engine);

}  // namespace forerun
