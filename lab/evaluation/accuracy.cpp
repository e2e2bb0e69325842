#include "evaluation/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace forerun {
namespace {

// Kendall's tau-a in n log n: inversions of the predictions in the order of the measurements.
std::size_t count_inversions(std::vector<double>& values, std::vector<double>& buffer, std::size_t begin,
                             std::size_t end) {
  if (end - begin < 2) return 0;
  const std::size_t middle = (begin + end) / 2;
  std::size_t count = count_inversions(values, buffer, begin, middle) + count_inversions(values, buffer, middle, end);
  std::size_t a = begin, b = middle, out = begin;
  while (a < middle || b < end) {
    if (b == end || (a < middle && values[a] <= values[b])) {
      buffer[out++] = values[a++];
    } else {
      count += middle - a;
      buffer[out++] = values[b++];
    }
  }
  std::copy(buffer.begin() + std::ptrdiff_t(begin), buffer.begin() + std::ptrdiff_t(end),
            values.begin() + std::ptrdiff_t(begin));
  return count;
}

double kendall(std::span<const Judged> rows) {
  if (rows.size() < 2) return 1;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rows[a].measured != rows[b].measured ? rows[a].measured < rows[b].measured
                                                : rows[a].predicted < rows[b].predicted;
  });
  std::vector<double> predicted, buffer(rows.size());
  for (const std::size_t i : order) predicted.push_back(rows[i].predicted);
  const double pairs = 0.5 * double(rows.size()) * double(rows.size() - 1);
  return 1 - 2 * double(count_inversions(predicted, buffer, 0, rows.size())) / pairs;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * double(values.size() - 1);
  const auto below = std::size_t(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - double(below)) * (values[above] - values[below]);
}

Accuracy measure_accuracy(std::span<const Judged> rows) {
  Accuracy a;
  a.rows = rows.size();
  if (rows.empty()) return a;
  std::vector<double> errors, widths;
  double squares = 0, close = 0, covered = 0;
  for (const Judged& row : rows) {
    const double error = std::abs(row.predicted / row.measured - 1);
    errors.push_back(error);
    squares += (row.predicted - row.measured) * (row.predicted - row.measured);
    close += error <= 0.1 + 1e-9 ? 1 : 0;
    if (row.high > 0) {
      covered += row.low <= row.measured && row.measured <= row.high ? 1 : 0;
      widths.push_back(row.high / std::max(row.low, 1e-12) - 1);
    }
  }
  const double n = double(rows.size());
  a.mape = 100 * std::accumulate(errors.begin(), errors.end(), 0.0) / n;
  a.median_ape = 100 * quantile(errors, 0.5);
  a.rmse = std::sqrt(squares / n);
  a.kendall_tau = kendall(rows);
  a.within_10 = 100 * close / n;
  if (!widths.empty()) {
    a.coverage = 100 * covered / double(widths.size());
    a.width = 100 * quantile(widths, 0.5);
  }
  return a;
}

Repeated repeated(std::span<const double> values) {
  Repeated r;
  if (values.empty()) return r;
  r.mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - r.mean) * (v - r.mean);
  r.spread = values.size() > 1 ? std::sqrt(squares / double(values.size() - 1)) : 0;
  return r;
}

}  // namespace forerun
