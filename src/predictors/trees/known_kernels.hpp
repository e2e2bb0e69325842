// Exact-match cache of measured convolutions: cuDNN's choice of algorithm is discontinuous, which trees smooth over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/kernels.hpp"
#include "bundle/bundle.hpp"
#include "devices/device.hpp"

namespace forerun {

// Key of a kernel on a device. 0 for kernels that are never looked up: all but ungrouped convolutions (for grouped ones
// the algorithm in a network differs from the measured one), and kernels on a MIG slice, where nothing was measured.
[[nodiscard]] std::uint64_t known_kernel_key(const Kernel& kernel, const Device& device);

class KnownKernels {
 public:
  struct Entry {
    std::uint32_t check = 0;  // part of the key; 0: free
    float score = 0;          // log of measured over ideal time
  };

  KnownKernels() = default;
  explicit KnownKernels(std::span<const std::pair<std::uint64_t, float>> scores);  // by key, each once
  static Result<KnownKernels> from_bytes(std::string_view bytes);
  [[nodiscard]] std::string bytes() const;

  [[nodiscard]] std::optional<float> find(std::uint64_t key) const;
  [[nodiscard]] bool empty() const { return table_.empty(); }

 private:
  std::vector<Entry> table_;  // open addressing; a power of two, half full at most
};

}  // namespace forerun
