// A parallel loop over the cores.
#pragma once

#include <cstddef>
#include <functional>

namespace forerun {

// Calls work(0) … work(count - 1), each once, on `threads` cores (0: all of them); returns when all are done. REQUIRES:
// work does not throw.
void on_cores(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads = 0);

}  // namespace forerun
