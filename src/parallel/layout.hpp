// How a network is laid out on several devices: degrees of parallelism, and each device's share of the work.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/kernels.hpp"
#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun {

struct Parallelism {
  std::int64_t tensor = 1;    // devices that share each layer
  std::int64_t pipeline = 1;  // stages of consecutive layers
  std::int64_t data = 1;      // replicas that each process a share of the batch
  [[nodiscard]] std::int64_t devices() const { return tensor * pipeline * data; }
};

// The layout of a question. `gpus` alone means tensor parallelism where layers can be divided (`divides_layers`), else
// copies. Errors: the degrees do not multiply to `gpus`, too many devices.
Result<Parallelism> choose_layout(std::int64_t gpus, Parallelism asked, bool divides_layers);

// Whether the network can be laid out so: tensor parallelism divides the attention heads, a pipeline has no more stages
// than layers. Errors name the degrees that work.
Status check_layout(const Graph& graph, const Parallelism& layout);

// Samples of one replica; where the batch does not divide evenly, the largest share.
[[nodiscard]] std::int64_t largest_share(std::int64_t batch, std::int64_t copies);

// One device's share of every kernel under tensor parallelism: products, attention and experts are divided.
[[nodiscard]] std::vector<Kernel> share_kernels(std::vector<Kernel> kernels, std::int64_t tensor);

}  // namespace forerun
