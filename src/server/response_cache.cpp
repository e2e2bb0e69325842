// Least recently used first out: a list in order of use, and an index by key.
#include "server/response_cache.hpp"

#include <utility>

namespace forerun::server {

std::shared_ptr<const std::string> ResponseCache::find(std::string_view question) {
  const std::lock_guard lock(mutex_);
  const auto found = by_question_.find(question);
  if (found == by_question_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void ResponseCache::insert(std::string_view question, std::shared_ptr<const std::string> answer) {
  Entry entry{std::string(question), std::move(answer)};
  if (entry.bytes() > max_bytes_ / 8) return;
  const std::lock_guard lock(mutex_);
  if (by_question_.contains(question)) return;
  bytes_ += entry.bytes();
  entries_.push_front(std::move(entry));
  by_question_.emplace(entries_.front().question, entries_.begin());
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().bytes();
    by_question_.erase(entries_.back().question);
    entries_.pop_back();
  }
}

std::size_t ResponseCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace forerun::server
