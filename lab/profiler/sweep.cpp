#include "profiler/sweep.hpp"

#include <algorithm>
#include <limits>

namespace forerun {
namespace {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Plateau plateau_of(const std::vector<BandwidthPoint>& points, std::size_t first, std::size_t last) {
  std::vector<double> rates;
  for (std::size_t i = first; i <= last; ++i) rates.push_back(points[i].gb_per_s);
  return {points[first].working_set_bytes, points[last].working_set_bytes, median_of(rates),
          static_cast<int>(rates.size())};
}

}  // namespace

std::optional<Plateau> find_plateau(std::vector<BandwidthPoint> sweep, double from_bytes, double to_bytes,
                                    double tolerance) {
  std::erase_if(sweep, [&](const BandwidthPoint& p) {
    return p.working_set_bytes < from_bytes || p.working_set_bytes > to_bytes || p.gb_per_s <= 0;
  });
  std::ranges::sort(sweep, {}, &BandwidthPoint::working_set_bytes);
  std::optional<Plateau> best;
  double best_width = 0;
  for (std::size_t first = 0; first < sweep.size(); ++first) {
    double low = sweep[first].gb_per_s;
    double high = low;
    std::size_t last = first;
    while (last + 1 < sweep.size()) {
      const double next = sweep[last + 1].gb_per_s;
      if (std::max(high, next) - std::min(low, next) > tolerance * std::max(high, next)) break;
      low = std::min(low, next);
      high = std::max(high, next);
      ++last;
    }
    const double width = sweep[last].working_set_bytes / sweep[first].working_set_bytes;
    if (width > best_width) {
      best_width = width;
      best = plateau_of(sweep, first, last);
    }
  }
  return best;
}

std::optional<double> memory_bandwidth_gb_per_s(const Characterization& result) {
  if (result.l2_bytes <= 0) return std::nullopt;
  const auto plateau = find_plateau(result.shared_sweep, 8 * result.l2_bytes, std::numeric_limits<double>::max());
  if (plateau) return std::max(plateau->gb_per_s, result.copy_gb_per_s);
  return result.copy_gb_per_s > 0 ? std::optional(result.copy_gb_per_s) : std::nullopt;
}

std::optional<double> l2_bandwidth_gb_per_s(const Characterization& result) {
  const auto plateau = find_plateau(result.shared_sweep, result.l2_bytes / 16, 0.9 * result.l2_bytes);
  return plateau ? std::optional(plateau->gb_per_s) : std::nullopt;
}

std::optional<double> l1_bandwidth_gb_per_s(const Characterization& result) {
  double fastest = 0;
  for (const BandwidthPoint& point : result.private_sweep) fastest = std::max(fastest, point.gb_per_s);
  std::vector<BandwidthPoint> near_top = result.private_sweep;
  std::erase_if(near_top, [&](const BandwidthPoint& p) { return p.gb_per_s < 0.9 * fastest; });
  const auto plateau = find_plateau(std::move(near_top), 0, std::numeric_limits<double>::max(), 0.1);
  return plateau ? std::optional(plateau->gb_per_s) : std::nullopt;
}

}  // namespace forerun
