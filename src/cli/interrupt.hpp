// Ctrl-C while a request is computed: the first one stops the request, which ends with a message and status 130; a
// second one ends the program at once.
#pragma once

#include <csignal>

#include "base/cancel_token.hpp"

namespace forerun {

// SIGINT is caught while one exists; one at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  [[nodiscard]] const CancelToken& token() const { return token_; }

 private:
  CancelToken token_;
  struct sigaction before_ {};
};

}  // namespace forerun
