// Ends work that nobody waits for any more: a deadline passed, somebody cancelled it, or the program was interrupted.
// Long loops ask it per device, per pass and per thousand nodes; a default token never stops anything.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "base/result.hpp"

namespace forerun {

enum class StopReason : std::uint8_t { None, Deadline, Interrupted };

// Copies share one state. Safe to use from several threads.
class CancelToken {
 public:
  using Clock = std::chrono::steady_clock;

  CancelToken() = default;  // never stops
  // Stops at `deadline`, or when cancel() is called.
  [[nodiscard]] static CancelToken until(Clock::time_point deadline);
  // Stops when `is_interrupted` returns true. It is called at most every 20 ms, and only in the thread that made the
  // token: an interpreter looks for signals there alone.
  [[nodiscard]] static CancelToken polling(std::function<bool()> is_interrupted);

  // The first reason stays. No effect on a default token.
  void cancel(StopReason reason = StopReason::Interrupted) const noexcept;

  [[nodiscard]] bool stopped() const { return reason() != StopReason::None; }
  [[nodiscard]] StopReason reason() const;
  // An error that says why, once the token has stopped.
  [[nodiscard]] Status check() const;

 private:
  struct State {
    std::atomic<StopReason> reason{StopReason::None};
    Clock::time_point deadline = Clock::time_point::max();
    std::function<bool()> is_interrupted;
    std::thread::id owner;
    Clock::time_point next_poll{};  // of the owner alone
  };
  std::shared_ptr<State> state_;
};

// For loops over nodes or kernels: asks the token at every 1024th call, so that a call costs a nanosecond.
class PacedStop {
 public:
  explicit PacedStop(const CancelToken& token) : token_(token) {}
  [[nodiscard]] bool operator()() {
    if ((++calls_ & 1023U) == 0) stopped_ = token_.stopped();
    return stopped_;
  }

 private:
  const CancelToken& token_;
  unsigned calls_ = 0;
  bool stopped_ = false;
};

}  // namespace forerun
