// How many questions one client may ask: a bucket of tokens per address that fills at a steady rate.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace forerun::server {

// Safe to use from several threads.
class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // `per_s` 0: no limit. A client may ask for `burst` at once.
  RateLimit(double per_s, double burst) : per_s_(per_s), burst_(burst) {}

  // Seconds until the client may ask again; 0: now, and the question is counted.
  double take(const std::string& client, Time now);

 private:
  struct Bucket {
    double tokens = 0;
    Time filled = {};
  };
  void forget_full(Time now);

  const double per_s_, burst_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace forerun::server
