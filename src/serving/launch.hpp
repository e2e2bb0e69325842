// The command that starts one instance of a serving engine as it was simulated.
#pragma once

#include <cstdint>
#include <string>

#include "records/workload.hpp"
#include "serving/engine.hpp"

namespace forerun {

enum class InstanceRole : std::uint8_t { Whole, Prefill, Decode };
[[nodiscard]] std::string_view name_of(InstanceRole role);  // "serve", "prefill", "decode"

struct LaunchOptions {
  std::string network = {};                 // a folder, or a name on the Hugging Face hub
  std::optional<Precision> precision = {};  // absent: as the checkpoint states
  bool has_fp8_caches = false;
  std::int64_t tensor = 1, pipeline = 1;
  std::int64_t attention_data = 1;  // groups with a batch each that share the experts
  InstanceRole role = InstanceRole::Whole;
};

// Empty for an engine without a server that takes these options.
[[nodiscard]] std::string launch_command(const Engine& engine, const LaunchOptions& options);

}  // namespace forerun
