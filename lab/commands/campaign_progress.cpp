#include "commands/campaign_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace forerun {
namespace {

// The latency to show, in milliseconds.
std::optional<double> shown_latency_ms(const Measurement& row) {
  constexpr std::array<std::pair<const char*, double>, 5> kNames = {{{"latency_ms_median", 1},
                                                                     {"latency_ms", 1},
                                                                     {"graph_replay_ms_median", 1},
                                                                     {"latency_us", 1e-3},
                                                                     {"latency_us_median", 1e-3}}};
  for (const auto& [name, factor] : kNames) {
    if (const auto found = row.metrics.find(name); found != row.metrics.end()) return found->second * factor;
  }
  return std::nullopt;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string duration_text(double seconds) {
  const long whole = std::lround(std::max(0.0, seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

void CampaignProgress::add(const Measurement& row) {
  ++done_;
  const std::string status = row.status.starts_with("error") ? "error" : row.status;
  ++counts_[status];
  Family& family = families_[row.family.empty() ? "(no family)" : row.family];
  ++family.rows;
  last_ = row.network.empty() ? row.row_id : row.network;
  if (status != "ok") {
    last_ += " " + status;
    return;
  }
  ++family.ok;
  if (const auto latency_ms = shown_latency_ms(row)) {
    family.latencies_ms.push_back(*latency_ms);
    last_ += fmt::format(" {:.4g} ms", *latency_ms);
  }
}

std::string CampaignProgress::line(double elapsed_s) const {
  std::string text = fmt::format("{}/{} rows", done_before_ + done_, total_);
  if (done_before_ > 0) text += fmt::format(" ({} from before)", done_before_);
  const char* separator = ": ";
  for (const auto& [status, count] : counts_) {
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), count, status);
  }
  if (done_ > 0 && elapsed_s > 0) {
    const double rate = static_cast<double>(done_) / elapsed_s;
    const double left = static_cast<double>(total_ - done_before_ - done_) / rate;
    text += fmt::format("; {:.2f} rows/s, {} left; last: {}", rate, duration_text(left), last_);
  }
  return text;
}

std::string CampaignProgress::summary() const {
  std::string text;
  for (const auto& [name, family] : families_) {
    text += fmt::format("  {:<20} {:>6} rows, {:>6} ok", name, family.rows, family.ok);
    if (!family.latencies_ms.empty()) text += fmt::format(", median latency {:.4g} ms", median_of(family.latencies_ms));
    text += '\n';
  }
  return text;
}

}  // namespace forerun
