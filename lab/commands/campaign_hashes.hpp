// The identity of each row of a campaign's folder, from its graphs: what `forerun predict` finds a measurement by.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"

namespace forerun {

struct CampaignHashes {
  std::map<std::string, std::string> by_row;  // row_id as the importer writes it ("vision_inference/v1.0") -> hash
  std::string warning;                        // one line when some graphs could not be analysed
};

// Empty when the folder holds no graphs. `device`: of rows that do not say.
Result<CampaignHashes> campaign_hashes(const std::string& folder, const std::string& device);

}  // namespace forerun
