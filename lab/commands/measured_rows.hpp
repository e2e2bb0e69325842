// The measured rows that forerun-lab adapt learns from.
#pragma once

#include <string>
#include <vector>

#include "dataset/example.hpp"

namespace forerun {

// Rows of a campaign's folder, or of one CSV file in it. What the campaign says of its device comes before `device`.
Result<std::vector<Example>> load_measured_rows(const std::string& path, const std::string& device);

}  // namespace forerun
