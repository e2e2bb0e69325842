#include "base/cancel_token.hpp"

namespace forerun {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};

}  // namespace

CancelToken CancelToken::until(Clock::time_point deadline) {
  CancelToken token;
  token.state_ = std::make_shared<State>();
  token.state_->deadline = deadline;
  return token;
}

CancelToken CancelToken::polling(std::function<bool()> is_interrupted) {
  CancelToken token;
  token.state_ = std::make_shared<State>();
  token.state_->is_interrupted = std::move(is_interrupted);
  token.state_->owner = std::this_thread::get_id();
  return token;
}

void CancelToken::cancel(StopReason reason) const noexcept {
  if (!state_) return;
  StopReason none = StopReason::None;
  state_->reason.compare_exchange_strong(none, reason, std::memory_order_relaxed);
}

StopReason CancelToken::reason() const {
  if (!state_) return StopReason::None;
  const StopReason known = state_->reason.load(std::memory_order_relaxed);
  if (known != StopReason::None) return known;
  if (state_->deadline != Clock::time_point::max() && Clock::now() >= state_->deadline) cancel(StopReason::Deadline);
  if (state_->is_interrupted && std::this_thread::get_id() == state_->owner) {
    const Clock::time_point now = Clock::now();
    if (now >= state_->next_poll) {
      state_->next_poll = now + kPollInterval;
      if (state_->is_interrupted()) cancel(StopReason::Interrupted);
    }
  }
  return state_->reason.load(std::memory_order_relaxed);
}

Status CancelToken::check() const {
  switch (reason()) {
    case StopReason::None: return ok();
    case StopReason::Deadline:
      return Error{ErrorKind::Deadline,
                   "the answer took too long to compute and was given up; ask for fewer devices or a smaller network"};
    case StopReason::Interrupted: return Error{ErrorKind::Interrupted, "interrupted: the answer was given up"};
  }
  return ok();
}

}  // namespace forerun
