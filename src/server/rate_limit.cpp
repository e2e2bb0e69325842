#include "server/rate_limit.hpp"

#include <algorithm>

namespace forerun::server {
namespace {

constexpr std::size_t kMostClients = 65'536;

double seconds(RateLimit::Time from, RateLimit::Time to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace

double RateLimit::take(const std::string& client, Time now) {
  if (per_s_ <= 0) return 0;
  const std::lock_guard lock(mutex_);
  if (buckets_.size() >= kMostClients && !buckets_.contains(client)) forget_full(now);
  const auto [found, is_new] = buckets_.try_emplace(client, Bucket{burst_, now});
  Bucket& bucket = found->second;
  bucket.tokens = std::min(burst_, bucket.tokens + per_s_ * std::max(0.0, seconds(bucket.filled, now)));
  bucket.filled = now;
  if (bucket.tokens < 1) return (1 - bucket.tokens) / per_s_;
  bucket.tokens -= 1;
  return 0;
}

// A bucket that is full again says nothing. Where all are in use, all start anew: memory stays bounded.
void RateLimit::forget_full(Time now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return entry.second.tokens + per_s_ * seconds(entry.second.filled, now) >= burst_;
  });
  if (buckets_.size() >= kMostClients) buckets_.clear();
}

}  // namespace forerun::server
