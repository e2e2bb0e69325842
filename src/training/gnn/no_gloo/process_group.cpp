// Stands where this LibTorch comes without Gloo's headers.
#include "training/gnn/process_group.hpp"

namespace forerun {

bool can_join_processes() { return false; }

Result<std::unique_ptr<ProcessGroup>> join_processes(const ProcessPlace&) {
  return bad_input("this build trains in one process: build it where Gloo's headers are installed (Debian: libgloo-dev)");
}

}  // namespace forerun
