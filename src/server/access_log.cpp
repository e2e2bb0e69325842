// The access log. Paths come from clients, so they are escaped as JSON; bytes that are no UTF-8 are replaced.
#include "server/access_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace forerun::server {

Result<AccessLog> AccessLog::open(const std::string& where) {
  if (where == "off") return AccessLog(nullptr, false);
  if (where == "-") return AccessLog(stderr, false);
  std::FILE* file = std::fopen(where.c_str(), "ae");
  if (file == nullptr)
    return Error{ErrorKind::Io, fmt::format("cannot write the access log {}: {}", where, std::strerror(errno))};
  return AccessLog(file, true);
}

AccessLog::AccessLog(AccessLog&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), owned_(std::exchange(other.owned_, false)) {}

AccessLog::~AccessLog() {
  if (owned_ && file_ != nullptr) std::fclose(file_);
}

void AccessLog::write(const ExchangeRecord& record) {
  if (file_ == nullptr) return;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto milliseconds = now.time_since_epoch().count() % 1000;
  const std::string time =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
  const std::string line = access_line(record, time);
  std::fwrite(line.data(), 1, line.size(), file_);
  if (file_ == stderr) std::fflush(file_);
}

std::string access_line(const ExchangeRecord& record, const std::string& time) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return fmt::format(
      "{{\"time\":\"{}\",\"peer\":\"{}\",\"method\":{},\"path\":{},\"status\":{},\"ms\":{:.3f},\"bytes_in\":{},\"bytes_"
      "out\":{}}}\n",
      time, record.peer, quoted(record.method), quoted(record.path), record.status, record.seconds * 1e3,
      record.bytes_in, record.bytes_out);
}

}  // namespace forerun::server
