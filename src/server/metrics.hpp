// Counters and timings of the server in Prometheus' text format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "server/http_handler.hpp"

namespace forerun::server {

// Upper ends of the histogram's buckets, in seconds.
inline constexpr std::array kLatencyBuckets = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                               0.1,    0.25,  0.5,    1.0,   2.5,  10.0};

// Safe to use from several threads.
class Metrics {
 public:
  // `route` is a path of the table, never the client's own text, so that the number of series stays small.
  void count(std::string_view route, const ExchangeRecord& record);

  struct Gauges {
    std::size_t open_connections = 0;
    std::size_t waiting_requests = 0;
    std::size_t most_waiting = 0;  // what the queue takes
  };
  [[nodiscard]] std::string to_text(const Gauges& gauges) const;

 private:
  struct Series {
    std::map<int, std::uint64_t> by_status;
    std::array<std::uint64_t, kLatencyBuckets.size()> buckets{};  // not cumulative
    std::uint64_t count = 0;
    double seconds = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Series, std::less<>> routes_;
};

}  // namespace forerun::server
