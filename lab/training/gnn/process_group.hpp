// Several training processes that sum their gradients.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "training/gnn/torch.hpp"

namespace forerun {

struct ProcessPlace {
  int rank = 0, world = 1;
  int local = 0;                      // rank on this machine: which of its GPUs
  bool launched = false;              // somebody said which place this process has
  std::string address = "127.0.0.1";  // of rank 0
  int port = 29500;
};
// What torchrun (RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT) or mpirun (OMPI_COMM_WORLD_RANK, …_LOCAL_RANK,
// …_SIZE) say; one process when neither started this one. Errors: a number that is none.
[[nodiscard]] Result<ProcessPlace> read_process_place();

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  // Replaces `values` by its sum over all processes; every process calls it in the same order.
  virtual Status sum(torch::Tensor& values) = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world() const = 0;
};
// Waits until all processes have joined.
// On a GPU through NCCL, else through Gloo; an error where the LibTorch that this was built with has neither.
[[nodiscard]] Result<std::unique_ptr<ProcessGroup>> join_processes(const ProcessPlace& place,
                                                                   const torch::Device& device);
[[nodiscard]] bool can_join_processes();  // on the CPU

}  // namespace forerun
