// Result<T>: a value or an Error. Everything that touches a file, a database, the network or a device returns one.
// The edges (cli, server, python) map Error::kind to an exit status, an HTTP status or an exception; nobody else does.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace forerun {

enum class ErrorKind {
  BadInput,     // the request or the file is wrong: exit 2, HTTP 400
  NotFound,     // a file, device, network or region that does not exist: exit 2, HTTP 404
  TooLarge,     // a limit was exceeded: exit 2, HTTP 413
  TooCostly,    // more work than one request may cause: exit 2, HTTP 422
  Deadline,     // given up because the time was over: exit 2, HTTP 504
  Interrupted,  // given up because the program is to end: exit 130, HTTP 503
  Io,           // the system refused a read or write: exit 2, HTTP 500
  Internal,     // our own fault: exit 1, HTTP 500
};

struct Error {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;  // one line: what, where, what to do
};

inline Error bad_input(std::string message) { return {ErrorKind::BadInput, std::move(message)}; }
inline Error not_found(std::string message) { return {ErrorKind::NotFound, std::move(message)}; }
inline Error internal_error(std::string message) { return {ErrorKind::Internal, std::move(message)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // REQUIRES: has_value()
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // REQUIRES: !has_value()
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<std::monostate>;
inline Status ok() { return std::monostate{}; }

#define FORERUN_CONCAT_INNER(a, b) a##b
#define FORERUN_CONCAT(a, b) FORERUN_CONCAT_INNER(a, b)
// FORERUN_TRY(auto x, expression): x = the value, or return the error.
#define FORERUN_TRY(declaration, expression) \
  FORERUN_TRY_INNER(FORERUN_CONCAT(forerun_result_, __LINE__), declaration, expression)
#define FORERUN_TRY_INNER(result, declaration, expression) \
  auto result = (expression);                              \
  if (!result) return result.error();                      \
  declaration = std::move(result).value()
// FORERUN_CHECK(expression): return the error of a Status, or go on.
#define FORERUN_CHECK(expression)                                                           \
  do {                                                                                      \
    if (auto forerun_status = (expression); !forerun_status) return forerun_status.error(); \
  } while (false)

}  // namespace forerun
