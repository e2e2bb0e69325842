// A request, the same for every front end: command line, JSON lines, HTTP, Python.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel_token.hpp"
#include "readers/reader.hpp"
#include "records/workload.hpp"

namespace forerun {

struct Request {
  std::string model;  // a file, a folder or a shipped network's name
  std::shared_ptr<const Network>
      network;                       // given directly (an upload, a configuration in memory): `model` only names it
  bool is_transient = false;         // `network` is asked about once: nothing of it is kept after the request
  std::vector<std::string> devices;  // ids, aliases, or "all"
  std::string device_file;
  Binding binding;
  std::optional<Precision> precision;  // absent: the file's, else fp32
  Runtime runtime = Runtime::Eager;
  bool train = false;
  Optimizer optimizer = Optimizer::Sgd;
  std::string predictor;  // empty: the best for the request
  bool explain = false;
  // advice
  std::string region;
  std::optional<double> pue;
  std::string price = "on_demand";
  std::optional<double> max_latency_ms;
  std::string mig_rule;                 // "" = default, "memory" = the published A100-40GB rule
  std::optional<std::int64_t> steps;    // of a training run
  std::optional<std::int64_t> samples;  // whose total time and energy is wanted
  // language models
  std::optional<std::int64_t> input_tokens, output_tokens, concurrency;
  std::optional<double> memory_budget_mb;
  bool in_engine = false;                   // a pass of a serving engine, not of a framework; set by serving questions
  std::optional<std::int64_t> whole_batch;  // of all copies; set where data parallelism divides it
  std::int64_t gpus = 1, tensor_parallel = 1, pipeline_parallel = 1, data_parallel = 1;
  std::string store;  // URL of a measurement store
  // set by the front end that asks, never by the request's text
  CancelToken cancel;                                          // asked per device, per pass and per thousand nodes
  double most_work = std::numeric_limits<double>::infinity();  // kernel timings it may cause (service/work.hpp)
};

}  // namespace forerun
