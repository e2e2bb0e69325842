// Time, energy, price and carbon of a whole run, given by its number of steps or of samples.
#include <cmath>

#include "advice/advice.hpp"

namespace forerun {

Status advise_totals(const AdviceInput& input, Advice& advice, std::vector<std::string>&) {
  const AdviceOptions& options = input.options;
  if (!options.steps && !options.samples) return ok();
  const double passes = options.steps ? double(*options.steps) : std::ceil(double(*options.samples) / input.batch);
  const double joules = passes * input.estimates.at(Metric::Energy).value;
  advice.hours_total = passes * input.estimates.at(Metric::Latency).value / 3.6e6;
  advice.energy_kwh_total = joules / 3.6e6;
  advice.co2_g_total = joules * grams_per_joule(input.grid, options.pue);
  if (advice.usd_per_hour) advice.usd_total = *advice.usd_per_hour * *advice.hours_total;
  return ok();
}

}  // namespace forerun
