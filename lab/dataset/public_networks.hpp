// Whole networks that others measured on other devices, as examples: HW-GPT-Bench's GPTs, HELP's and timm's image
// networks. Each search space's building rules are restated here; an even choice of the architectures is taken.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

struct PublicNetworkOptions {
  std::size_t architectures = 100;  // of each search space; the same ones on all of its devices
  std::string timm_graphs = {};     // archive of ONNX graphs called NAME_SIZE.onnx; absent: none of timm's networks
};

// hwgpt_*.csv.gz, help_*.csv.gz and timm_throughput.csv.gz of `folder`; an absent file adds nothing. GPUs only.
Result<Dataset> load_public_networks(const std::string& folder, const PublicNetworkOptions& options = {});

// The parts, one per source.
Status load_gpt_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out);
Status load_vision_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out);
Status load_timm_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out);

// "4 12 8" -> numbers.
[[nodiscard]] std::vector<std::int64_t> parse_numbers(std::string_view text);

}  // namespace forerun
