// For tests: a real PostgreSQL server on a private port and folder, gone when the object is.
#pragma once

#include <memory>
#include <string>

namespace forerun {

class TemporaryPostgres {
 public:
  // nullptr when the server's programs are not installed or it does not start; `why` says which.
  static std::unique_ptr<TemporaryPostgres> start(std::string& why);
  TemporaryPostgres(const TemporaryPostgres&) = delete;
  TemporaryPostgres& operator=(const TemporaryPostgres&) = delete;
  ~TemporaryPostgres();

  [[nodiscard]] const std::string& url() const { return url_; }
  // pg_ctl stop -m immediate: no checkpoint, connections are cut, the next start recovers from the log.
  [[nodiscard]] bool stop_immediately();
  // Starts again after a stop, on the same port.
  [[nodiscard]] bool restart();

 private:
  TemporaryPostgres() = default;
  std::string folder_;
  std::string programs_;
  std::string url_;
  std::string options_;  // of the server
};

}  // namespace forerun
