// A child process that answers JSON lines: the measuring worker. Protocol: measuring/worker/PROTOCOL.md.
#pragma once

#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace forerun {

// Why no line came.
struct WorkerSilence {
  enum class Kind { Ended, TimedOut, Interrupted } kind = Kind::Ended;
  std::string message;  // "ended with status 1", "was killed by signal 9", …
};

class WorkerProcess {
 public:
  // Starts `command` (found in PATH); its stderr is appended to `log_path`.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::vector<std::string>& command,
                                                      const std::string& log_path);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();  // kills what still runs

  // Sends one line; false when the worker is gone.
  [[nodiscard]] bool send(const std::string& line);
  // The next answer. A line that is not a JSON object counts as an ended worker: it cannot be trusted any more.
  [[nodiscard]] std::optional<nlohmann::json> receive(double timeout_s, WorkerSilence& silence);
  // Asks it to quit, waits a little, then kills it.
  void stop();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  WorkerProcess() = default;
  std::string reap();  // waits for the process to end; says how it did

  pid_t pid_ = -1;
  int to_worker_ = -1;
  int from_worker_ = -1;
  std::string pending_;
};

// Set by SIGINT and SIGTERM once catch_interrupts() was called: the campaign ends after keeping what it has.
void catch_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace forerun
