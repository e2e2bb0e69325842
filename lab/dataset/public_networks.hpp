// Whole networks that others measured on other devices, as examples: HW-GPT-Bench's GPTs, HELP's and timm's image
// networks. Each search space's building rules are restated here; an even choice of the architectures is taken.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

struct PublicNetworkOptions {
  std::size_t architectures = 100;  // of each search space; the same ones on all of its devices
  std::string timm_graphs = {};     // archive of ONNX graphs called NAME_SIZE.onnx; absent: none of timm's networks
  bool compiled = false;            // timm's: as torch.compile runs them (kLatencyCompiled), not eager
};

// hwgpt_*.csv.gz, help_*.csv.gz and timm_throughput.csv.gz of `folder`; an absent file adds nothing. GPUs only.
Result<Dataset> load_public_networks(const std::string& folder, const PublicNetworkOptions& options = {});

// The parts, one per source.
Status load_gpt_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out);
Status load_vision_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out);
Status load_timm_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out);

// One architecture of HELP's search spaces with the columns that were asked for.
struct SpaceRow {
  std::string name, family;
  std::shared_ptr<const Network> network;
  std::vector<std::pair<std::string, double>> latency_ms;  // by column; positive
};
// An even choice of `architectures` of each space. `columns`: empty for all that hold latencies.
Status visit_search_spaces(const std::string& folder, std::size_t architectures,
                           const std::vector<std::string>& columns,
                           const std::function<Status(const SpaceRow&)>& visit);
// Columns are called by device and batch, "titan_rtx_32"; phones, accelerators and processors ran batch 1.
[[nodiscard]] std::int64_t batch_of_column(std::string_view column);

// "4 12 8" -> numbers.
[[nodiscard]] std::vector<std::int64_t> parse_numbers(std::string_view text);

}  // namespace forerun
