// Phones, boards and processors of which nobody has a physical model: latency as a linear model of the network's
// operator sums, fitted to what others measured (`forerun-lab fit-platforms`) or to the user's own rows (`forerun-lab
// adapt
// --platform`). One JSON file each: data/edge, and edge/ of the user's folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "features/operator_sums.hpp"
#include "records/estimate.hpp"
#include "records/kernel_terms.hpp"
#include "records/workload.hpp"

namespace forerun {

inline constexpr const char* kEdgeName = "edge";

// The rates of one platform in one precision, and what they were fitted to.
struct EdgeRates {
  OperatorSums ms{};                                  // per 10^9 MACs, 10^6 bytes and kernels of a class; then per pass
  double half_width = 0;                              // 90 %, log scale, for networks like those measured
  double far_half_width = 0;                          // for others
  double least_gmacs = 0, most_gmacs = 0;             // of the networks measured
  std::array<double, kOperatorClasses> most_share{};  // of a network's MACs in each class
  std::int64_t networks = 0;
  [[nodiscard]] double predict(const OperatorSums& sums) const;
};

struct EdgePlatform {
  std::string id, name, kind;  // "phone", "board", "cpu", "asic", "fpga"
  std::string description;     // in plain text: processor, memory, software
  std::string source, date, command;
  std::map<Precision, EdgeRates> rates;
};

[[nodiscard]] Result<EdgePlatform> parse_edge_platform(std::string_view json, const std::string& what);
[[nodiscard]] std::string to_json(const EdgePlatform& platform);       // as its file
[[nodiscard]] std::string to_json_line(const EdgePlatform& platform);  // the same on one line

// The shipped ones and the user's, by id. A file of the user's that cannot be used is named in `problems`.
struct EdgePlatforms {
  std::vector<EdgePlatform> platforms;
  std::vector<std::string> problems;
  [[nodiscard]] const EdgePlatform* find(std::string_view id) const;
  static EdgePlatforms load();
  static EdgePlatforms shipped();
};

struct EdgeAnswer {
  Estimate latency;
  std::vector<KernelTerms> kernels;  // parallel to the input's; they add up to the latency
  std::vector<std::string> warnings;
};
// Errors: what was never measured there: another precision, batch, phase, operators, or a size far beyond.
[[nodiscard]] Result<EdgeAnswer> predict_on_edge(const EdgePlatform& platform, const std::vector<Kernel>& kernels,
                                                 const Workload& workload, std::int64_t batch);

}  // namespace forerun
