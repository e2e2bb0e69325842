// Time, energy, price and carbon of a whole run, given by its number of steps, of samples, or of epochs.
#include <cmath>

#include "advice/advice.hpp"

namespace forerun {

Status advise_totals(const AdviceInput& input, Advice& advice, std::vector<std::string>&) {
  const AdviceOptions& options = input.options;
  const double pass_s = input.estimates.at(Metric::Latency).value / 1e3;
  double passes = 0;
  if (options.dataset_samples) {
    advice.epoch_steps = std::ceil(double(*options.dataset_samples) / input.batch);
    advice.epoch_s = *advice.epoch_steps * pass_s;
    passes = *advice.epoch_steps * double(options.epochs.value_or(1));
  } else if (options.steps) {
    passes = double(*options.steps);
  } else if (options.samples) {
    passes = std::ceil(double(*options.samples) / input.batch);
  } else {
    return ok();
  }
  const double joules = passes * input.estimates.at(Metric::Energy).value;
  advice.hours_total = passes * pass_s / 3600;
  advice.energy_kwh_total = joules / 3.6e6;
  advice.co2_g_total = joules * grams_per_joule(input.grid, options.pue);
  if (advice.usd_per_hour) advice.usd_total = *advice.usd_per_hour * *advice.hours_total;
  return ok();
}

}  // namespace forerun
