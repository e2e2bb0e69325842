// Eager runs of earlier campaigns that were measured a second time, more carefully (again.csv: campaign, table, id, and
// the columns of the run; host_factor, where the host's speed changed meanwhile: by how much longer it took than
// campaign.json's host_time_relative says).
#pragma once

#include <string>

#include "base/result.hpp"
#include "dataset/example.hpp"

namespace forerun {

[[nodiscard]] bool has_measured_again(const std::string& folder);

// The second measurement takes the place of the first, with the facts of its own campaign.json. A row that had energy
// and has none the second time stays as it was. What found no place is counted in `skipped`.
Status replace_measured_again(const std::string& folder, Dataset& data);

}  // namespace forerun
