// Writes a row of features once for both uses: its numbers, or the names of its columns in the same order.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forerun {

class FeatureRow {
 public:
  explicit FeatureRow(std::vector<float>& numbers) : numbers_(&numbers) {}
  FeatureRow() = default;  // collects names

  void plain(std::string_view name, double value) {
    if (numbers_ != nullptr) {
      numbers_->push_back(static_cast<float>(value));
    } else {
      names_.emplace_back(name);
    }
  }
  void log(std::string_view name, double value) {
    if (numbers_ != nullptr) {
      numbers_->push_back(static_cast<float>(std::log1p(std::max(0.0, value))));
    } else {
      names_.push_back("log_" + std::string(name));
    }
  }
  // `chosen` >= count: all zero.
  template <typename Name>
  void one_hot(std::string_view group, std::size_t chosen, std::size_t count, Name name) {
    each(group, count, name, [chosen](std::size_t i) { return i == chosen ? 1.0 : 0.0; });
  }
  template <typename Name, typename Number>
  void each(std::string_view group, std::size_t count, Name name, Number number) {
    for (std::size_t i = 0; i < count; ++i) {
      if (numbers_ != nullptr) {
        numbers_->push_back(static_cast<float>(number(i)));
      } else {
        names_.push_back(std::string(group) + ":" + std::string(name(i)));
      }
    }
  }
  [[nodiscard]] std::vector<std::string> take_names() { return std::move(names_); }

 private:
  std::vector<float>* numbers_ = nullptr;
  std::vector<std::string> names_;
};

}  // namespace forerun
