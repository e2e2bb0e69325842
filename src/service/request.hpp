// A request, the same for every front end: command line, JSON lines, HTTP, Python.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advice/optimise/proposal.hpp"
#include "base/cancel_token.hpp"
#include "base/progress.hpp"
#include "parallel/layout.hpp"
#include "parallel/step.hpp"
#include "parallel/system.hpp"
#include "readers/reader.hpp"
#include "records/workload.hpp"
#include "service/assertion.hpp"
#include "serving/load.hpp"

namespace forerun {

// Several devices. Absent: not asked for.
struct ParallelRequest {
  std::string system, fabric;
  std::optional<std::int64_t> nodes, gpus;
  Parallelism degrees;
  StepOptions step;
  std::optional<std::int64_t> global_batch, micro_batch;
  std::optional<std::int64_t> tokens;         // of a whole training run
  std::optional<double> input_samples_per_s;  // what the input pipeline delivers to all devices
  // Set by the service: the devices a request is about, and the network's layers.
  std::optional<Cluster> cluster;
  std::int64_t layers = 0;
  std::optional<StepFactors> factors;  // set by studies; absent: those of data/parallel/steps.json
  [[nodiscard]] bool is_asked() const {
    return !system.empty() || !fabric.empty() || nodes || gpus || degrees != Parallelism{};
  }
};

// A limit on an estimate: at most, or at least.
struct Constraint {
  Metric metric = Metric::Latency;
  bool is_most = true;
  double limit = 0;
};

struct Request {
  std::string id;                   // JSON of the asker's name for it: echoed, not read
  std::string model;                // a file, a folder or a shipped network's name
  std::string one_operator;         // of forerun roofline, instead of a model: service/operator_network.hpp
  std::vector<std::string> sweeps;  // of its sizes
  std::shared_ptr<const Network>
      network;                       // given directly (an upload, a configuration in memory): `model` only names it
  bool is_transient = false;         // `network` is asked about once: nothing of it is kept after the request
  std::vector<std::string> devices;  // ids, aliases, or "all"
  std::string device_file;
  std::string device_spec;  // a device's description as in such a file, as JSON text
  Binding binding;
  std::optional<Precision> precision;  // absent: the file's, else fp32
  std::optional<Runtime> runtime;      // absent: graph for several devices, else eager
  bool runtimes = false;               // answer for every runtime that applies beside the one asked about
  std::optional<double> host_speed;    // relative to the reference host
  bool train = false;
  Optimizer optimizer = Optimizer::Sgd;
  std::string predictor;  // empty: the best for the request
  bool explain = false;
  // advice
  std::string region;
  std::optional<double> pue;
  std::string price = "on_demand";
  std::optional<double> max_latency_ms;
  // Limits that a device must keep, besides the latencies above and below (service/limits.hpp).
  std::optional<double> min_throughput, fps, max_usd_per_hour;
  std::optional<std::int64_t> users;    // who wait for an answer of a language model at the same moment
  std::vector<Assertion> assertions;    // checked on every device
  bool remedies = false;                // look for the nearest change with which a device keeps what it misses
  bool fits_only = false;               // leave out devices that miss a limit
  std::string sort;                     // "": as asked; else a key of service/verdict.hpp
  std::optional<std::int64_t> top;      // that many results at most
  std::string mig_rule;                 // "" = default, "memory", "utilisation": the published rules
  std::optional<std::int64_t> steps;    // of a training run
  std::optional<std::int64_t> samples;  // whose total time and energy is wanted
  std::optional<std::int64_t> dataset_samples, epochs;  // of a training run
  std::string cloud;                                    // whose prices; "all": every one in a table
  // language models
  std::optional<std::int64_t> input_tokens, output_tokens, concurrency;
  std::optional<double> request_rate;  // per second
  double burstiness = 1;               // of the arrivals: 1 Poisson, below 1 bursts
  double input_cv = 0, output_cv = 0;  // spread of the lengths: standard deviation / mean
  std::string trace;                   // file of arrivals
  std::vector<TraceRow> trace_rows;    // the same, given directly
  std::string engine, engine_version;  // "": vllm, its newest version
  std::optional<double> slo_ttft_ms, slo_tpot_ms;
  bool serve = false;                                        // forerun plan: of deployments that serve a load
  std::optional<double> kv_bytes;                            // of one element of the KV caches; absent: 16 bits
  std::int64_t prefill_instances = 0, decode_instances = 0;  // disaggregated
  std::int64_t prefill_tensor_parallel = 0;                  // of a prefill instance; 0: as the others
  std::int64_t attention_data_parallel = 1;  // groups of an instance that each serve some requests and share experts
  std::int64_t prefill_attention_data_parallel = 0;
  std::uint64_t seed = 1;
  std::optional<double> memory_budget_mb;
  bool all_kernels = false;                 // a breakdown without a last row of small kernels
  bool finds_rate = true;                   // serving: look for the highest rate under the limits
  bool in_engine = false;                   // a pass of a serving engine, not of a framework; set by serving questions
  std::optional<std::int64_t> whole_batch;  // of all copies; set where copies or micro-batches divide it
  ParallelRequest parallel;
  Goal goal = Goal::Throughput;         // of forerun advise
  std::vector<Constraint> constraints;  // that its proposals must keep
  std::string store;                    // URL of a measurement store
  // set by the front end that asks, never by the request's text
  std::shared_ptr<Progress> progress;                          // nullptr: nobody watches
  CancelToken cancel;                                          // asked per device, per pass and per thousand nodes
  double most_work = std::numeric_limits<double>::infinity();  // kernel timings it may cause (service/work.hpp)
};

[[nodiscard]] inline Runtime runtime_of(const Request& request) { return request.runtime.value_or(Runtime::Eager); }

}  // namespace forerun
