// A map that keeps the values used last: the least recently used go when it holds too many or too heavy ones.
#pragma once

#include <cstddef>
#include <limits>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace forerun {

// Not safe to use from several threads: callers lock.
template <typename Key, typename Value>
class LruMap {
 public:
  explicit LruMap(std::size_t most, std::size_t most_weight = std::numeric_limits<std::size_t>::max())
      : most_(most), most_weight_(most_weight) {}

  // nullptr when it is not there; valid until the next insert.
  Value* find(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }
  // Returns what had to go: callers may drop it after they unlocked. The value itself stays, however heavy it is.
  std::vector<Value> insert(const Key& key, Value value, std::size_t weight = 0) {
    std::vector<Value> gone;
    if (Value* known = find(key)) {
      gone.push_back(std::exchange(*known, std::move(value)));
      return gone;
    }
    entries_.push_front({key, std::move(value), weight});
    index_.emplace(key, entries_.begin());
    weight_ += weight;
    while (entries_.size() > 1 && (entries_.size() > most_ || weight_ > most_weight_)) {
      Entry& last = entries_.back();
      index_.erase(last.key);
      weight_ -= last.weight;
      gone.push_back(std::move(last.value));
      entries_.pop_back();
    }
    return gone;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Key key;
    Value value;
    std::size_t weight;
  };
  using Entries = std::list<Entry>;
  std::size_t most_, most_weight_, weight_ = 0;
  Entries entries_;  // most recently used first
  std::map<Key, typename Entries::iterator> index_;
};

}  // namespace forerun
