// What an answer means: does it fit, which slice, what price, how much carbon. One table of advisors
// (advice/advisors.cpp): a new one is a file and a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advice/carbon.hpp"
#include "advice/mig.hpp"
#include "base/result.hpp"
#include "devices/device.hpp"
#include "records/estimate.hpp"

namespace forerun {

// What one cloud asks for the devices of a question.
struct VendorPrice {
  std::string cloud, instance;           // instance "": a device at the cloud's median price
  std::int64_t gpus = 1;                 // of one instance
  std::int64_t instances = 1;            // that the question needs
  double usd_per_hour = 0;               // of all of them
  double usd_per_million = 0;            // every device of an instance is used by a copy
  std::optional<double> usd_total = {};  // of the run: whole instances are rented
  std::string date = {};
};

struct Advice {
  bool fits = true;
  std::optional<MigAdvice> mig;       // nullopt: no slice holds it, or the device has none
  std::vector<SliceEstimate> slices;  // every MIG profile of the device, smallest first
  std::optional<double> usd_per_hour, usd_per_million, usd_total, co2_g_per_million, co2_g_total, hours_total,
      energy_kwh_total;
  std::optional<double> epoch_s, epoch_steps;
  std::vector<VendorPrice> vendors;  // where --cloud asks: the cheapest million first
  std::string price_kind, price_date, region;
};

struct AdviceOptions {
  std::string price = "on_demand";
  std::optional<double> pue;  // of the data centre; absent: the region's
  std::optional<double> max_latency_ms;
  std::string mig_rule;  // "" = default, "memory", "utilisation": the published rules
  // Length of the run whose totals are asked for: a number of passes or training steps, or of samples.
  std::optional<std::int64_t> steps, samples;
  std::optional<double> usd_per_hour;                   // of all devices, where a system names its own price
  std::optional<std::int64_t> dataset_samples, epochs;  // of a training run
  std::string cloud;                                    // "": the median of all, "all": that and a table
};

// REQUIRES: latency, energy and memory are estimated.
struct AdviceInput {
  const Device& device;
  const Estimates& estimates;
  std::span<const MigSlice> slices;          // of the device; empty where the request does not ask for slices
  std::span<const double> slice_latency_ms;  // of each slice
  double batch = 1;                          // samples of one pass
  double devices = 1;                        // working together on the pass
  double gpu_busy = 1;                       // share of the time in which kernels run
  const Grid& grid;
  const AdviceOptions& options;
};

// Device memory that must be free; for serving, with every KV cache full.
[[nodiscard]] double needed_memory_mb(const Estimates& estimates);

struct Advisor {
  std::string_view name;
  // Fills in its part of the advice; what cannot be determined is left out, with a warning.
  Status (*advise)(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);
};
[[nodiscard]] std::span<const Advisor> all_advisors();  // in the order they run
[[nodiscard]] Status advise(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);

// One function per row of the table.
Status advise_fit(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);
Status advise_slices(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);
Status advise_cost(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);
Status advise_carbon(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);
Status advise_totals(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);
Status advise_vendors(const AdviceInput& input, Advice& advice, std::vector<std::string>& warnings);

}  // namespace forerun
