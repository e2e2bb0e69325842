// A bar on a terminal while something takes longer than a second; nothing elsewhere.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/progress.hpp"

namespace forerun {

// Shown on standard error when that is a terminal, and gone when the bar ends.
class ProgressBar {
 public:
  ProgressBar(std::shared_ptr<const Progress> progress, std::string what);

 private:
  std::jthread thread_;
};

// "[#####     ] 50 %  12 s  asking"; without a share the seconds alone.
[[nodiscard]] std::string progress_line(double share, double seconds, const std::string& what);

}  // namespace forerun
