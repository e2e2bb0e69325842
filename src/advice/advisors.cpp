#include <algorithm>
#include <array>

#include "advice/advice.hpp"

namespace forerun {
namespace {

// Totals add up what cost and carbon found, vendors what totals found.
constexpr std::array<Advisor, 6> kAdvisors = {{{"fit", advise_fit},
                                               {"mig", advise_slices},
                                               {"cost", advise_cost},
                                               {"carbon", advise_carbon},
                                               {"totals", advise_totals},
                                               {"vendors", advise_vendors}}};

}  // namespace

std::span<const Advisor> all_advisors() { return kAdvisors; }

Status advise(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings) {
  for (const Advisor& advisor : kAdvisors) FORERUN_CHECK(advisor.advise(input, advice, warnings));
  return ok();
}

}  // namespace forerun
