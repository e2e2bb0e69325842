#include "cli/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

namespace forerun {

std::string progress_line(double share, double seconds, const std::string& what) {
  constexpr int kCells = 24;
  if (share < 0) return fmt::format("{:.0f} s  {} …", seconds, what);
  const int full = int(std::clamp(share, 0.0, 1.0) * kCells);
  return fmt::format("[{}{}] {:.0f} %  {:.0f} s  {}", std::string(std::size_t(full), '#'),
                     std::string(std::size_t(kCells - full), ' '), 100 * std::clamp(share, 0.0, 1.0), seconds, what);
}

ProgressBar::ProgressBar(std::shared_ptr<const Progress> progress, std::string what) {
  if (::isatty(STDERR_FILENO) != 1) return;
  thread_ = std::jthread([progress = std::move(progress), what = std::move(what)](const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    auto pause = std::chrono::milliseconds(1000);
    bool is_shown = false;
    while (!changed.wait_for(lock, stop, pause, [] { return false; }) && !stop.stop_requested()) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      std::fprintf(stderr, "\r\x1b[K%s", progress_line(progress ? progress->share.load() : -1, seconds, what).c_str());
      std::fflush(stderr);
      is_shown = true;
      pause = std::chrono::milliseconds(200);
    }
    if (is_shown) std::fprintf(stderr, "\r\x1b[K");
  });
}

}  // namespace forerun
