// Answers already made, by the exact text of their question: the same question gets the same bytes. Least recently used
// ones go first when the memory set aside is full.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace forerun::server {

// Safe to use from several threads.
class ResponseCache {
 public:
  explicit ResponseCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // nullptr when it is not there.
  std::shared_ptr<const std::string> find(std::string_view question);
  void insert(std::string_view question, std::shared_ptr<const std::string> answer);
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Entry {
    std::string question;
    std::shared_ptr<const std::string> answer;
    [[nodiscard]] std::size_t bytes() const { return question.size() + answer->size() + kOverhead; }
    static constexpr std::size_t kOverhead = 256;
  };
  mutable std::mutex mutex_;
  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;                                                      // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_question_;  // keys live in entries_
};

}  // namespace forerun::server
