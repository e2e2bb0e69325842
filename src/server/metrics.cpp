// Prometheus' text format, version 0.0.4.
#include "server/metrics.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace forerun::server {
namespace {

// Resident bytes of this process, 0 where /proc does not say.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void heading(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(text), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

}  // namespace

void Metrics::count(std::string_view route, const ExchangeRecord& record) {
  const std::lock_guard lock(mutex_);
  auto found = routes_.find(route);
  if (found == routes_.end()) found = routes_.emplace(std::string(route), Series{}).first;
  Series& series = found->second;
  ++series.by_status[record.status];
  ++series.count;
  series.seconds += record.seconds;
  series.bytes_in += record.bytes_in;
  series.bytes_out += record.bytes_out;
  const auto bucket = std::lower_bound(kLatencyBuckets.begin(), kLatencyBuckets.end(), record.seconds);
  if (bucket != kLatencyBuckets.end()) ++series.buckets[static_cast<std::size_t>(bucket - kLatencyBuckets.begin())];
}

std::string Metrics::to_text(const Gauges& gauges) const {
  std::string text;
  const auto out = std::back_inserter(text);
  const std::lock_guard lock(mutex_);
  heading(text, "forerun_http_requests_total", "counter", "Answers sent.");
  for (const auto& [route, series] : routes_) {
    for (const auto& [status, count] : series.by_status) {
      fmt::format_to(out, "forerun_http_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", route, status, count);
    }
  }
  heading(text, "forerun_http_request_seconds", "histogram", "From a request's first byte to its answer's last.");
  for (const auto& [route, series] : routes_) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kLatencyBuckets.size(); ++i) {
      below += series.buckets[i];
      fmt::format_to(out, "forerun_http_request_seconds_bucket{{route=\"{}\",le=\"{}\"}} {}\n", route,
                     kLatencyBuckets[i], below);
    }
    fmt::format_to(out, "forerun_http_request_seconds_bucket{{route=\"{}\",le=\"+Inf\"}} {}\n", route, series.count);
    fmt::format_to(out, "forerun_http_request_seconds_sum{{route=\"{}\"}} {:.9g}\n", route, series.seconds);
    fmt::format_to(out, "forerun_http_request_seconds_count{{route=\"{}\"}} {}\n", route, series.count);
  }
  heading(text, "forerun_http_received_bytes_total", "counter", "Bytes of requests.");
  for (const auto& [route, series] : routes_)
    fmt::format_to(out, "forerun_http_received_bytes_total{{route=\"{}\"}} {}\n", route, series.bytes_in);
  heading(text, "forerun_http_sent_bytes_total", "counter", "Bytes of answers.");
  for (const auto& [route, series] : routes_)
    fmt::format_to(out, "forerun_http_sent_bytes_total{{route=\"{}\"}} {}\n", route, series.bytes_out);
  heading(text, "forerun_http_connections", "gauge", "Connections open now.");
  fmt::format_to(out, "forerun_http_connections {}\n", gauges.open_connections);
  heading(text, "forerun_http_waiting_requests", "gauge", "Requests read and not yet answered.");
  fmt::format_to(out, "forerun_http_waiting_requests {}\n", gauges.waiting_requests);
  heading(text, "process_resident_memory_bytes", "gauge", "Memory of the process.");
  fmt::format_to(out, "process_resident_memory_bytes {}\n", resident_bytes());
  return text;
}

}  // namespace forerun::server
