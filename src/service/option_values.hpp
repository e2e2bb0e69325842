// Values of options as written, for the rows of the option table (options.cpp, limit_options.cpp).
#pragma once

#include <string>
#include <string_view>

#include "readers/printable.hpp"
#include "service/options.hpp"

namespace forerun {

// Rows of all_options() that are written in a file of their own.
[[nodiscard]] std::span<const Option> limit_options();

// A positive number in the range of the option's row.
Result<std::int64_t> whole(std::string_view name, std::string_view text);
Result<double> real(std::string_view name, std::string_view text);

// "; did you mean 'fp16'?": the choice that a word of other tools, or a misspelled one, stands for.
[[nodiscard]] std::string meant_of(std::string_view text, std::string_view choices);

template <typename T>
Status choose(std::string_view name, std::string_view text, std::optional<T> parsed, std::string_view choices,
              T& target) {
  if (!parsed) {
    return bad_input("--" + std::string(name) + ": " + in_quotes(text) + " is none of " + std::string(choices) +
                     meant_of(text, choices));
  }
  target = *parsed;
  return ok();
}

inline constexpr OptionRange kMilliseconds{1e-6, 1e9};

}  // namespace forerun

#define SET_WHOLE(option, target)                               \
  [](Request& r, std::string_view text) -> Status {             \
    FORERUN_TRY(const std::int64_t value, whole(option, text)); \
    r.target = value;                                           \
    return ok();                                                \
  }
#define SET_REAL(option, target)                         \
  [](Request& r, std::string_view text) -> Status {      \
    FORERUN_TRY(const double value, real(option, text)); \
    r.target = value;                                    \
    return ok();                                         \
  }
#define SET_TEXT(target)                            \
  [](Request& r, std::string_view text) -> Status { \
    r.target = std::string(text);                   \
    return ok();                                    \
  }
#define SET_FLAG(target)                       \
  [](Request& r, std::string_view) -> Status { \
    r.target = true;                           \
    return ok();                               \
  }
