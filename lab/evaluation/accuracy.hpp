// How far predictions lie from measurements.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace forerun {

// One held-out row: what was measured, what was predicted, and the 90 % interval (low = high = 0: none given).
struct Judged {
  double measured = 0, predicted = 0, low = 0, high = 0;
  std::string family, device, network;
};

struct Accuracy {
  std::size_t rows = 0;
  double mape = 0;         // mean of |predicted / measured - 1|, in percent
  double median_ape = 0;   // percent
  double rmse = 0;         // in the metric's unit
  double kendall_tau = 0;  // agreement of the ranking: 1 = same order
  double within_10 = 0;    // share of rows off by at most 10 %, in percent
  double coverage = 0;     // share of rows inside their interval, in percent
  double width = 0;        // median of high / low - 1, in percent
};

[[nodiscard]] Accuracy measure_accuracy(std::span<const Judged> rows);

// Mean and spread (standard deviation) of repeats.
struct Repeated {
  double mean = 0, spread = 0;
};
[[nodiscard]] Repeated repeated(std::span<const double> values);

// The q-quantile of values, linear between ranks; 0 of none. REQUIRES: 0 <= q <= 1
[[nodiscard]] double quantile(std::vector<double> values, double q);

}  // namespace forerun
