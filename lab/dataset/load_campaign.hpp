// Campaign folders (vision_inference.csv, vision_training.csv, llm_inference.csv, graphs.tar.xz or graphs/, configs/)
// into examples.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

struct LoadOptions {
  std::string device;  // of rows that do not say; empty: campaign.json, else h200-sxm for folders named h200…
};

// One campaign's folder. A language model's row with a replay is two examples: the eager run, and the replay with its
// latency alone. A row whose network has no graph for its resolution is left out and counted in `skipped`.
Result<Dataset> load_campaign(const std::string& folder, const LoadOptions& options = {});

// Every campaign below `folder` (or `folder` itself when it is one), in the order of their names, with what was
// measured again in the place of the first measurement.
Result<Dataset> load_measurements(const std::string& folder, const LoadOptions& options = {});

}  // namespace forerun
