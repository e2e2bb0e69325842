#include "base/on_cores.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace forerun {

void on_cores(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t most = threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : threads;
  std::vector<std::jthread> pool;  // joined on return
  for (std::size_t t = 1; t < std::min(most, count); ++t) pool.emplace_back(take);
  take();
}

}  // namespace forerun
