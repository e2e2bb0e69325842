// Several devices working on one network: how kernels shrink, what is exchanged and how long that takes.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/kernels.hpp"
#include "devices/device.hpp"

namespace forerun {

struct Parallelism {
  std::int64_t tensor = 1;    // devices that share each layer
  std::int64_t pipeline = 1;  // stages of consecutive layers
  std::int64_t data = 1;      // copies that each take a share of the batch
  [[nodiscard]] std::int64_t devices() const { return tensor * pipeline * data; }
};

// Who exchanges: NCCL, or a serving engine's own kernels, which for small messages let every device read all others at
// once.
enum class Exchange : std::uint8_t { Nccl, Engine };

// Time of an all-reduce of `bytes` over `devices` of this kind in one machine, and of sending them to a neighbour, in
// µs. Fitted on measurements (AIConfigurator, Apache-2.0; Vidur, MIT); docs/accuracy.md has the errors.
[[nodiscard]] double all_reduce_us(const Device& device, std::int64_t devices, double bytes,
                                   Exchange how = Exchange::Nccl);
[[nodiscard]] double send_us(const Device& device, double bytes);

// One device's share of every kernel under tensor parallelism: products, attention and experts are divided.
[[nodiscard]] std::vector<Kernel> share_kernels(std::vector<Kernel> kernels, std::int64_t tensor);

}  // namespace forerun
