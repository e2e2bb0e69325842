// Two networks, or two exports of one, side by side: sizes, shapes, operators, and what their kernels cost on a device.
#pragma once

#include <string>
#include <vector>

#include "service/service.hpp"

namespace forerun {

// Kernels of one kind in both; their differences add up to that of the latencies.
struct KindDifference {
  std::string kind;  // the operators they run: "Conv", "Add, Relu"
  std::int64_t count_a = 0, count_b = 0;
  double ms_a = 0, ms_b = 0;
  [[nodiscard]] double difference_ms() const { return ms_b - ms_a; }
};

struct DeviceComparison {
  std::string device;
  Estimate a, b;                      // latency
  std::vector<KindDifference> kinds;  // the largest difference first
  std::string text;                   // how much faster which one is, and why
};

struct OperatorDifference {
  std::string name;
  std::int64_t count_a = 0, count_b = 0;
};

struct CompareReport {
  std::string title_a, title_b;
  InspectReport a, b;
  std::vector<OperatorDifference> operators;  // those whose counts differ
  std::vector<DeviceComparison> devices;
  std::vector<std::string> warnings;
  std::string text;  // what differs, in a sentence
};

// `request` names the first network and how both run; `other` the second. Without a device: what the files hold.
Result<CompareReport> compare_networks(const Service& service, const Request& request, const std::string& other);
[[nodiscard]] std::string to_json(const CompareReport& report);

}  // namespace forerun
