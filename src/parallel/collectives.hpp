// Time of collective communication between devices of one machine.
#pragma once

#include <cstdint>

#include "devices/device.hpp"

namespace forerun {

// The implementation: NCCL, or a serving engine's one-shot kernels, in which for small messages every device reads from
// all others.
enum class Exchange : std::uint8_t { Nccl, Engine };

// Time of an all-reduce of `bytes` over `devices` of this kind in one machine, and of a point-to-point send, in µs.
// Fitted on measurements (AIConfigurator, Apache-2.0; Vidur, MIT); docs/accuracy/detail.md has the errors.
[[nodiscard]] double all_reduce_us(const Device& device, std::int64_t devices, double bytes,
                                   Exchange how = Exchange::Nccl);
[[nodiscard]] double send_us(const Device& device, double bytes);

}  // namespace forerun
