// Questions by the thousand: lines of JSON in, flat rows out. A row is an answer about one device, or an error.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel_token.hpp"
#include "service/service.hpp"

namespace forerun {

// The numbers of a row, by name: every metric (with _low and _high, of a pass), the network's size, prices and carbon.
struct AnswerColumn {
  std::string name;
  bool is_lower_better = true;
};
[[nodiscard]] const std::vector<AnswerColumn>& answer_columns();
[[nodiscard]] std::optional<std::size_t> find_answer_column(std::string_view name);

struct AnswerRow {
  std::int64_t question = 0;  // its number
  std::string device;
  std::vector<double> numbers;  // by answer_columns(); NaN where the quantity cannot be estimated; empty with an error
  bool fits = false;
  std::string warnings;  // one a line
  std::string error;     // why there is no answer; empty where there is one
};

// At least one row for each question, in order; what fails costs its own rows. The first question's number is `first`.
// Neighbours about the same described network ("config" first) share its analysis. `threads` 0: all cores.
[[nodiscard]] std::vector<AnswerRow> answer_questions(const Service& service, std::span<const std::string> questions,
                                                      std::int64_t first = 0, unsigned threads = 0,
                                                      const CancelToken& cancel = {});

// One line, with the question as it was asked; absent numbers are left out.
[[nodiscard]] std::string to_json_line(const AnswerRow& row, std::string_view question);

}  // namespace forerun
