// Kernels whose time was measured by itself: looked up where a network has the very same, for libraries choose between
// algorithms in jumps that trees smooth over.
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

// The same for equal kernels on the same device. 0 for kernels that are never looked up: all but plain convolutions (in
// groups the library's choice is not the same in a network), and those on a slice, where nothing was measured.
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
