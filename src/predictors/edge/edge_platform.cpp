#include "predictors/edge/edge_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace forerun {
namespace {

constexpr double kWidest = 1.61;                 // 90 % half width on the log scale, a factor of 5: wider is no answer
constexpr double kHardlyMeasured = 0.25;         // share of MACs in a class below which it is as if never measured
constexpr double kSharesApart = 0.1;             // of MACs in a class, beyond the most that was measured
constexpr double kFarther = 1.25, kTooFar = 10;  // times the MACs of the networks measured

}  // namespace

double EdgeRates::predict(const OperatorSums& sums) const {
  return std::inner_product(sums.begin(), sums.end(), ms.begin(), 0.0);
}

Result<EdgeAnswer> predict_on_edge(const EdgePlatform& platform, const std::vector<Kernel>& kernels,
                                   const Workload& workload, std::int64_t batch) {
  const auto refuse = [&](std::string_view why) { return bad_input(fmt::format("device '{}': {}", platform.id, why)); };
  if (workload.training) return refuse("only inference was measured there");
  if (batch != 1) return refuse("only batch 1 was measured there; take --batch 1");
  const auto found = platform.rates.find(workload.precision);
  if (found == platform.rates.end()) {
    std::string known;
    for (const auto& [precision, rates] : platform.rates)
      known += (known.empty() ? "" : ", ") + std::string(name_of(precision));
    return refuse(fmt::format("{} was not measured there; take --precision {}", name_of(workload.precision), known));
  }
  const EdgeRates& rates = found->second;
  const OperatorSums sums = sum_operators(kernels);
  const double gmacs = gmacs_of(sums);
  if (!(gmacs > 0))
    return refuse("the network has no convolution or matrix product: nothing of its kind was measured there");
  EdgeAnswer answer;
  bool is_far = gmacs > kFarther * rates.most_gmacs || gmacs < rates.least_gmacs / kFarther;
  for (std::size_t c = 0; c < kOperatorClasses; ++c) {
    const double share = gmacs_of(sums, c) / gmacs, most = rates.most_share[c];
    if (share <= most + kSharesApart) continue;
    is_far = true;
    if (most >= kHardlyMeasured) continue;
    return refuse(
        fmt::format("{:.0f} % of the network's arithmetic is of class {}, of networks measured there at most {:.0f} %",
                    100 * share, kOperatorClassNames[c], 100 * most));
  }
  if (is_far && (gmacs > kTooFar * rates.most_gmacs || rates.far_half_width > kWidest)) {
    return refuse(fmt::format("the network ({:.3g} GMAC) is too far from those measured there ({:.3g} to {:.3g})",
                              gmacs, rates.least_gmacs, rates.most_gmacs));
  }
  const double ms = rates.predict(sums),
               half = is_far ? std::max(rates.half_width, rates.far_half_width) : rates.half_width;
  if (!(ms > 0)) return refuse("its rates give no latency for this network");
  answer.latency = {ms, ms * std::exp(-half), ms * std::exp(half), Basis::Learned, kEdgeName};
  answer.warnings.push_back(
      fmt::format("{}: latency alone, linear in the network's operators, fitted to {} networks ({})", platform.name,
                  rates.networks, platform.source));
  if (is_far) {
    answer.warnings.push_back(fmt::format(
        "the network ({:.3g} GMAC) is unlike those measured there ({:.3g} to {:.3g}): the interval is wider", gmacs,
        rates.least_gmacs, rates.most_gmacs));
  }
  const double constant_us = rates.ms.back() * 1e3;
  for (const Kernel& kernel : kernels) {
    const double* rate = &rates.ms[3 * std::size_t(operator_class_of(kernel))];
    KernelTerms terms;
    terms.compute = rate[0] * kernel.macs * kernel.runs / 1e6;
    terms.memory = rate[1] * (kernel.read_bytes + kernel.write_bytes) * kernel.runs / 1e3;
    terms.launch = rate[2] * kernel.runs * 1e3 + constant_us / double(kernels.size());
    answer.kernels.push_back(terms);
  }
  return answer;
}

}  // namespace forerun
