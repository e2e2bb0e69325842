// What campaign.json says of all rows of a campaign's tables.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "predictors/pass_power.hpp"

namespace forerun {

struct CampaignFacts {
  std::string device;
  CountedAs counted;  // as in Example
  double host_weight = 1;
  std::map<std::string, double, std::less<>>
      host_time;  // by table: how long the host took for its part, relative to the first campaign
};

// `device`: of rows that do not say, before what the file says; without both, h200-sxm for folders named h200….
Result<CampaignFacts> read_campaign_facts(const std::string& folder, const std::string& device = {});

}  // namespace forerun
