// A map that keeps the values used last: the least recently used goes when it is full.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <utility>

namespace forerun {

// Not safe to use from several threads: callers lock.
template <typename Key, typename Value>
class LruMap {
 public:
  explicit LruMap(std::size_t most) : most_(most) {}

  // nullptr when it is not there; valid until the next insert.
  Value* find(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  // Returns what had to go, if anything: callers may drop it after they unlocked.
  std::optional<Value> insert(const Key& key, Value value) {
    if (Value* known = find(key)) return std::exchange(*known, std::move(value));
    entries_.emplace_front(key, std::move(value));
    index_.emplace(key, entries_.begin());
    if (entries_.size() <= most_) return std::nullopt;
    index_.erase(entries_.back().first);
    std::optional<Value> gone = std::move(entries_.back().second);
    entries_.pop_back();
    return gone;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;
  std::size_t most_;
  Entries entries_;  // most recently used first
  std::map<Key, typename Entries::iterator> index_;
};

}  // namespace forerun
