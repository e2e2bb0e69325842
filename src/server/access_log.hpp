// One JSON object per answer, one per line: {"time","peer","method","path","status","ms","bytes_in","bytes_out"}.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.hpp"
#include "server/http_handler.hpp"

namespace forerun::server {

// Used from the server's thread only.
class AccessLog {
 public:
  // "-" writes to stderr, "off" nowhere, anything else appends to that file.
  static Result<AccessLog> open(const std::string& where);
  AccessLog(AccessLog&& other) noexcept;
  AccessLog& operator=(AccessLog&&) = delete;
  AccessLog(const AccessLog&) = delete;
  ~AccessLog();

  void write(const ExchangeRecord& record);

 private:
  AccessLog(std::FILE* file, bool owned) : file_(file), owned_(owned) {}
  std::FILE* file_;  // nullptr: off
  bool owned_;
};

[[nodiscard]] std::string access_line(const ExchangeRecord& record, const std::string& time);

}  // namespace forerun::server
