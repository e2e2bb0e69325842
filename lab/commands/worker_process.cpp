#include "commands/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

extern "C" char** environ;

namespace forerun {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

volatile std::sig_atomic_t interrupt_count = 0;
void on_interrupt(int) { interrupt_count = interrupt_count + 1; }

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<long>(0, std::min<long>(left, 1000)));
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_count != 0; }

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::vector<std::string>& command,
                                                            const std::string& log_path) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0)
    return Error{ErrorKind::Io, std::string("cannot make a pipe: ") + std::strerror(errno)};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    ::close(in[0]);
    ::close(in[1]);
    return Error{ErrorKind::Io, std::string("cannot make a pipe: ") + std::strerror(errno)};
  }
  ::signal(SIGPIPE, SIG_IGN);  // a worker that is gone shows as EPIPE
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawnattr_t attributes{};  // a group of its own: Ctrl-C reaches this program, which then ends the worker
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess);
  const int failure = ::posix_spawnp(&worker->pid_, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(in[0]);
  ::close(out[1]);
  worker->to_worker_ = in[1];
  worker->from_worker_ = out[0];
  if (failure != 0) {
    worker->pid_ = -1;
    const ErrorKind kind = failure == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
    return Error{kind, fmt::format("{}: cannot start: {}", command[0], std::strerror(failure))};
  }
  return worker;
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    reap();
  }
  if (to_worker_ >= 0) ::close(to_worker_);
  if (from_worker_ >= 0) ::close(from_worker_);
}

bool WorkerProcess::send(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t wrote = ::write(to_worker_, text.data() + sent, text.size() - sent);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    sent += static_cast<std::size_t>(wrote);
  }
  return true;
}

std::optional<nlohmann::json> WorkerProcess::receive(double timeout_s, WorkerSilence& silence) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  while (true) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      auto answer = nlohmann::json::parse(pending_.substr(0, end), nullptr, false);
      pending_.erase(0, end + 1);
      if (answer.is_object()) return answer;
      silence = {WorkerSilence::Kind::Ended, "answered with something that is not a JSON object"};
      return std::nullopt;
    }
    if (interrupted()) {
      silence = {WorkerSilence::Kind::Interrupted, "interrupted"};
      return std::nullopt;
    }
    if (Clock::now() >= deadline) {
      silence = {WorkerSilence::Kind::TimedOut, fmt::format("gave no answer in {:g} s", timeout_s)};
      return std::nullopt;
    }
    pollfd waiting{from_worker_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds_until(deadline)) <= 0) continue;
    std::array<char, 65536> chunk{};
    const ssize_t got = ::read(from_worker_, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      silence = {WorkerSilence::Kind::Ended, reap()};
      return std::nullopt;
    }
    pending_.append(chunk.data(), static_cast<std::size_t>(got));
    if (pending_.size() > kMaxLineBytes) {
      silence = {WorkerSilence::Kind::Ended, "answered with a line of more than 16 MiB"};
      return std::nullopt;
    }
  }
}

void WorkerProcess::stop() {
  if (pid_ <= 0) return;
  (void)send(R"({"command": "quit"})");
  ::close(to_worker_);
  to_worker_ = -1;
  for (int i = 0; i < 100; ++i) {  // 5 s
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ::kill(-pid_, SIGKILL);
  reap();
}

std::string WorkerProcess::reap() {
  if (pid_ <= 0) return "ended";
  int status = 0;
  for (int i = 0; i < 40; ++i) {  // it closed its end and should be gone in a moment
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return "closed its output";
  }
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace forerun
