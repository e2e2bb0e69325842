// What an estimate means: which slice, what price, how much carbon.
#include <algorithm>
#include <cmath>

#include "advice/cost.hpp"
#include "predictors/roofline/roofline.hpp"
#include "service/estimate.hpp"

namespace forerun {

Status advise(const Plan& plan, const Request& request, const Grid& grid, const Target& target,
              const RooflineEstimate& roofline, double batch, DeviceResult& result) {
  const Device& device = target.device;
  Estimates& e = result.estimates;
  Advice& advice = result.advice;
  const double time_ms = e["latency_ms"].value;
  const double device_memory = e["device_memory_mb"].value;
  const double devices = double(request.tensor_parallel * request.pipeline_parallel * request.data_parallel);
  advice.fits = device_memory <= device.memory_gib * 1024;
  if (!target.slices.empty() && devices == 1) {
    Workload workload = plan.workload;
    workload.runtime = request.runtime;
    const double latency = roofline.latency_ms(request.runtime);
    const double scale = latency > 0 ? time_ms / latency : 1;
    // No slice is faster than the card, whatever the roofline says of it.
    advice.slices = estimate_slices(target.slices, device_memory, batch, [&](const Device& slice) {
      return std::max(
          time_ms,
          scale * estimate_roofline(plan.distinct_kernels, plan.memory, workload, slice).latency_ms(request.runtime));
    });
    if (request.mig_rule == "memory") {
      if (device.id.find("40gb") == std::string::npos || !device.id.starts_with("a100")) {
        return bad_input("--rule memory is the A100-40GB's; " + device.id + " is another card");
      }
      advice.mig = advise_mig_by_memory_rule(advice.slices, e["memory_mb"].value);
    } else {
      advice.mig = advise_mig(advice.slices, device_memory, request.max_latency_ms);
    }
  }
  const bool serving = e.contains("tokens_per_s");
  // A million of what the workload makes: samples, or generated tokens when serving was asked for.
  const double seconds_per_unit = serving ? 1 / e["tokens_per_s"].value : time_ms / 1e3 / batch;
  const double joules_per_unit = serving ? e["energy_per_token_j"].value : e["energy_j"].value / batch;
  if (const auto price = find_price(device.id, request.price)) {
    advice.usd_per_hour = price->usd_per_hour * devices;
    advice.price_kind = price->kind;
    advice.price_date = price->date;
    advice.usd_per_million = *advice.usd_per_hour / 3600 * seconds_per_unit * 1e6;
  } else {
    result.warnings.push_back("no " + request.price + " price is known for " + device.id);
  }
  const double grams_per_joule = grid.g_per_kwh * request.pue.value_or(grid.pue) / 3.6e6;
  advice.co2_g_per_million = joules_per_unit * 1e6 * grams_per_joule;
  const std::optional<double> passes = request.steps && request.train ? std::optional(double(*request.steps))
                                       : request.samples ? std::optional(std::ceil(double(*request.samples) / batch))
                                                         : std::nullopt;
  if (passes) {
    advice.hours_total = *passes * time_ms / 3.6e6;
    advice.energy_kwh_total = *passes * e["energy_j"].value / 3.6e6;
    advice.co2_g_total = *passes * e["energy_j"].value * grams_per_joule;
    if (advice.usd_per_hour) advice.usd_total = *advice.usd_per_hour * *advice.hours_total;
  }
  return ok();
}

}  // namespace forerun
