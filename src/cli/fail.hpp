// The one place where an error becomes an exit status and a line on stderr.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>

#include "base/result.hpp"

namespace forerun {

inline constexpr int kInterruptedStatus = 130;  // as shells say of a program that SIGINT ended

inline int fail(const Error& error, std::ostream& err) {
  std::string line = error.message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  err << "forerun: " << line << "\n";
  return error.kind == ErrorKind::Internal ? 1 : error.kind == ErrorKind::Interrupted ? kInterruptedStatus : 2;
}

}  // namespace forerun
