// `forerun plan --serve`: deployments that serve a load within limits of latency, and what they cost.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "service/plan_layouts.hpp"
#include "service/serving_question.hpp"
#include "serving/launch.hpp"

namespace forerun {

// Instances of one role, and the command that starts one of them.
struct PlannedInstances {
  InstanceRole role = InstanceRole::Whole;
  std::int64_t instances = 1, tensor = 1, pipeline = 1, attention_data = 1;
  std::string command;  // empty: the engine has no server
  [[nodiscard]] std::int64_t devices() const { return instances * tensor * pipeline * attention_data; }
};

struct PlannedDeployment {
  std::string device, engine, version;
  std::optional<Precision> precision;            // absent: as the checkpoint states
  std::vector<PlannedInstances> groups;          // one, or prefill and decode
  std::vector<ServingMetric> metrics;            // of the load asked about
  double usd_per_hour = 0, usd_per_million = 0;  // a million output tokens
  double latency_ms = 0;                         // 90th percentile of the whole request: the front's other axis
  bool is_on_front = false;
  [[nodiscard]] std::int64_t devices() const;
  [[nodiscard]] const ServingMetric* find(std::string_view key) const;
};

struct ServingPlan {
  std::string network;
  double rate = 0;
  LatencyLimits limits;
  TokenLength input, output;
  std::int64_t considered = 0;           // devices, formats, engines and layouts of an instance
  std::int64_t keeping = 0;              // deployments that keep the limits
  std::vector<PlannedDeployment> found;  // that keep the limits, by price: the front, and each device's cheapest
  std::vector<LayoutProblem> problems;   // why others do not
  std::vector<std::string> warnings;
};
[[nodiscard]] std::string to_json(const ServingPlan& plan);

using PlanReport = std::variant<LayoutReport, ServingPlan>;
[[nodiscard]] std::string to_json(const PlanReport& report);

struct ServingPlanner {
  Workspace& workspace;
  std::vector<const Device*> devices;
};
// REQUIRES: request.serve
Result<ServingPlan> plan_serving(const Request& request, const ServingPlanner& planner);

}  // namespace forerun
