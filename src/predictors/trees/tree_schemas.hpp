// What a bundle of trees was trained for: hashes of everything that its trees read, of the sample's runs. Trees that
// were trained on other inputs are refused.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bundle/bundle.hpp"
#include "predictors/trees/tree_input.hpp"

namespace forerun {

struct SchemaSample;

// Of the rows of a pass, what trees answer relative to, and the keys of measured kernels.
[[nodiscard]] FeatureSchema tree_schema();
[[nodiscard]] FeatureSchema tree_schema(const SchemaSample& sample);
// Of the facts that the trees of power read.
[[nodiscard]] FeatureSchema power_facts_schema();

// Inputs of the sample's cases, their kernels summed at the times of sample_estimate().
[[nodiscard]] std::vector<TreeInput> sample_inputs(const SchemaSample& sample);
[[nodiscard]] const std::vector<TreeInput>& sample_inputs();  // of schema_sample(), made once

// The hashes that the part "trees" of a manifest holds besides tree_schema(): the roofline's, and those of facts of
// kernels. Written where the part has the forest that reads them.
void put_tree_hashes(nlohmann::json& part);
// An error that says which one differs. Throws nlohmann::json::exception where the part lacks one.
[[nodiscard]] Status check_tree_hashes(const nlohmann::json& part, const std::string& file);

}  // namespace forerun
