// How far a long computation is; written by the one that computes, read by one that shows it.
#pragma once

#include <atomic>

namespace forerun {

struct Progress {
  std::atomic<double> share{-1};  // 0 … 1; below 0: not known
};

}  // namespace forerun
