#include "cli/interrupt.hpp"

#include <atomic>

namespace forerun {
namespace {

// A signal's handler sees only globals. cancel() is a lock-free exchange, so the handler may call it.
std::atomic<const CancelToken*> interrupted_token{nullptr};

void on_interrupt(int) {
  if (const CancelToken* token = interrupted_token.load()) token->cancel(StopReason::Interrupted);
}

}  // namespace

InterruptScope::InterruptScope() : token_(CancelToken::until(CancelToken::Clock::time_point::max())) {
  interrupted_token = &token_;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = int(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, &before_);
}

InterruptScope::~InterruptScope() {
  ::sigaction(SIGINT, &before_, nullptr);
  interrupted_token = nullptr;
}

}  // namespace forerun
