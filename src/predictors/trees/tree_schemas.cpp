#include "predictors/trees/tree_schemas.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "features/schema_sample.hpp"
#include "features/transfer_facts.hpp"
#include "features/value_hash.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/trees/kernel_power.hpp"

namespace forerun {
namespace {

struct TreeHash {
  const char* place;  // in the part "trees"; belongs there where the object around it does
  const char* of;
  std::uint64_t (*hash)();
};
constexpr std::array kTreeHashes = {
    TreeHash{"/roofline", "the analytic model", roofline_hash},
    TreeHash{"/kernel_facts", "facts of kernels", [] { return kernel_facts_schema().hash; }},
    TreeHash{"/transfer/facts", "facts of kernels on other devices", [] { return transfer_facts_schema().hash; }},
    TreeHash{"/kernel_power/facts", "facts of kernels' power", [] { return power_facts_schema().hash; }}};

}  // namespace

std::vector<TreeInput> sample_inputs(const SchemaSample& sample) {
  std::vector<TreeInput> inputs;
  for (const SampleCase& one : sample.cases) {
    const SampleRun& run = sample.runs[one.run];
    const Device& device = sample.devices[one.device];
    inputs.push_back(
        make_tree_input(*run.graph, run.totals, run.kernels, run.workload, device, sample_estimate(run, device)));
    sum_network_kernels(inputs.back(), Forest());
  }
  return inputs;
}

const std::vector<TreeInput>& sample_inputs() {
  static const std::vector<TreeInput> kInputs = sample_inputs(schema_sample());
  return kInputs;
}

namespace {

FeatureSchema tree_schema_of(const std::vector<TreeInput>& inputs) {
  ValueHash hash;
  hash.add_exact(table_schema().hash);
  for (const std::string& name : tree_column_names()) hash.add(name);
  for (const TreeInput& input : inputs) {
    hash.add_all(tree_row(input));
    hash.add_all(input.roofline_us);
    hash.add_all(input.classes);
    for (const std::uint64_t key : input.keys) hash.add_exact(key);
    for (const auto& [kernel, runs] : input.grouped) {
      hash.add_exact(kernel);
      hash.add(runs);
    }
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) hash.add(tree_base(input, RunMetric(m)));
  }
  return {"tree-table", std::uint32_t(table_schema().version), hash.value()};
}

}  // namespace

FeatureSchema tree_schema() {
  static const FeatureSchema kSchema = tree_schema_of(sample_inputs());
  return kSchema;
}

FeatureSchema tree_schema(const SchemaSample& sample) { return tree_schema_of(sample_inputs(sample)); }

FeatureSchema power_facts_schema() {
  static const FeatureSchema kSchema = [] {
    ValueHash hash;
    hash.add_exact(kernel_facts_schema().hash);
    for (const std::string& name : power_fact_names()) hash.add(name);
    for (const TreeInput& input : sample_inputs()) hash.add_all(power_facts(input));
    return FeatureSchema{"power-facts", 1, hash.value()};
  }();
  return kSchema;
}

void put_tree_hashes(nlohmann::json& part) {
  for (const TreeHash& row : kTreeHashes) {
    const nlohmann::json::json_pointer place(row.place);
    if (part.contains(place.parent_pointer())) part[place] = std::to_string(row.hash());
  }
}

Status check_tree_hashes(const nlohmann::json& part, const std::string& file) {
  for (const TreeHash& row : kTreeHashes) {
    const nlohmann::json::json_pointer place(row.place);
    if (!part.contains(place.parent_pointer())) continue;
    if (part.at(place).get<std::string>() != std::to_string(row.hash())) {
      return bad_input(fmt::format(
          "{}: made for other values of {}: train it again (forerun-lab train), or take the bundle that came "
          "with this program",
          file, row.of));
    }
  }
  return ok();
}

}  // namespace forerun
