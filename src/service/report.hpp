// Reports as structs; json.hpp turns them into JSON, whose keys must stay stable for scripts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advice/advice.hpp"
#include "analysis/totals.hpp"
#include "parallel/layout.hpp"
#include "parallel/rank_memory.hpp"
#include "parallel/step.hpp"
#include "predictors/predictor.hpp"
#include "predictors/predictor_set.hpp"
#include "predictors/roofline/traffic.hpp"
#include "records/estimate.hpp"
#include "records/roofline_estimate.hpp"
#include "records/workload.hpp"
#include "service/limits.hpp"
#include "service/serving_question.hpp"
#include "service/utilisation.hpp"
#include "service/verdict.hpp"

namespace forerun {

struct TensorInfo {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  bool shape_known = true;
  bool is_bound = false;  // the data decides its sizes: the largest possible
};

struct NodeInfo {  // one operator among the most expensive
  std::string name, op_type;
  std::int64_t macs = 0, flops = 0, parameters = 0, bytes_moved = 0;
};

struct InspectReport {
  std::string name, format;
  std::int64_t batch = 1;
  std::vector<TensorInfo> inputs, outputs;
  Totals totals;
  std::vector<NodeInfo> largest;  // by flops, then bytes
  std::vector<std::string> warnings;
};

struct WorkloadInfo {
  std::string name, format;
  std::string title;  // what the asker calls it: the file's or the shipped network's name
  std::int64_t batch = 1;
  Precision precision = Precision::Fp32;
  Runtime runtime = Runtime::Eager;
  Phase phase = Phase::Forward;
  std::optional<std::int64_t> sequence;
  bool training = false;
  Optimizer optimizer = Optimizer::Sgd;
  std::int64_t parameters = 0, macs = 0;
};

struct BreakdownRow {
  std::string kernel;
  std::vector<std::string> operators;
  KernelClass kernel_class = KernelClass::Other;
  std::int64_t count = 1;
  KernelTerms terms;  // µs; their sum is the row's time
  double flops = 0, bytes = 0;
  Traffic traffic;            // by level of the memory hierarchy
  double waiting_us = 0;      // of rows that are no kernel: messages between ranks, bubbles, input
  std::string_view waits_on;  // "communication", "bubble", "input" for such rows
  [[nodiscard]] double time_ms() const { return (terms.total() + waiting_us) / 1e3; }
  [[nodiscard]] Bound bound() const { return bound_of(terms); }
};

// What a rank of one or several alike stages of a pipeline holds.
struct StageMemory {
  std::int64_t first_stage = 0, stages = 1;
  RankMemory memory;
};

// Several devices, or a step of several micro-batches.
struct ParallelReport {
  Parallelism layout;
  StepOptions step;
  std::string system, fabric;
  std::int64_t nodes = 1;
  StepBreakdown times;
  RankMemory memory;  // of the rank that needs most
  std::vector<StageMemory> stages;
  double samples_per_s = 0;
  std::optional<double> tokens_per_s, instance_usd_per_hour;
};

// One runtime's answer.
struct RuntimeAnswer {
  Runtime runtime = Runtime::Eager;
  Estimates estimates;
  Bound bound = Bound::Memory;  // what takes the most of its time
  double host_share = 0;        // of the latency that waits for the host
};

struct DeviceResult {
  std::string device;
  Estimates estimates;
  bool was_measured = false;  // networks were measured on this device
  double host_share = 0;      // of an eager latency: what waits for the host
  std::optional<Utilisation> utilisation;
  std::vector<RuntimeAnswer> runtimes;  // where asked for: all that apply
  std::map<Metric, double> measured;    // of exactly this workload, from the store
  Advice advice;
  std::vector<BreakdownRow> breakdown;  // of the predictor that answered; times add up to the latency
  std::vector<FeatureEffect> explanation;
  std::optional<ParallelReport> parallel;
  std::optional<ServingReport> serving;
  std::optional<LimitReport> limits;       // where limits, remedies or a verdict are asked for
  std::map<std::string, double> capacity;  // largest batch or context under --memory-budget
  std::vector<std::string> warnings;
};

// One of the request's assertions on one device.
struct Checked {
  std::string assertion, device;
  std::optional<double> value;  // absent: not estimated, which does not hold
  bool holds = false;
};

struct PredictReport {
  std::string id;  // of the request, as JSON; "": it has none
  WorkloadInfo workload;
  std::optional<Verdict> verdict;  // of several devices, or under limits
  std::optional<Load> load;        // of a serving question
  bool limited = false;            // limits were asked for
  bool is_sorted = false;          // results are in the order to show them
  std::vector<DeviceResult> results;
  std::vector<Checked> assertions;
};

struct MigReport {
  WorkloadInfo workload;
  std::string device;
  std::optional<MigAdvice> advice;  // nullopt: no slice holds it
  std::vector<SliceEstimate> slices;
  double memory_mb = 0, device_memory_mb = 0;
  std::optional<Utilisation> utilisation;
  std::vector<std::string> warnings;
};

struct RooflinePoint {
  std::string variant;  // of a sweep: "stride=2"; else empty
  std::string kernel;
  Stage stage = Stage::Forward;
  Traffic traffic;  // over all runs
  std::int64_t count = 1;
  double flops = 0, bytes = 0, time_ms = 0, gflops_per_s = 0, intensity = 0;
  Bound bound = Bound::Memory;
  std::string why;
};

struct Ceiling {
  std::string name;
  double value = 0;  // TFLOP/s or GB/s
  bool is_bandwidth = false;
  bool is_measured = false;
  bool is_used = false;  // by a kernel of the report: its arithmetic unit; every level of the memory hierarchy
};

struct RooflineReport {
  WorkloadInfo workload;
  std::string device, device_name;
  std::vector<Ceiling> ceilings;
  std::vector<RooflinePoint> points;  // longest first
  std::vector<std::string> warnings;
};

}  // namespace forerun
