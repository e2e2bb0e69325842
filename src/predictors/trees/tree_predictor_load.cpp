// Loads a TreePredictor from a bundle of kind "trees"; errors name what is wrong with the bundle.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "features/kernel_facts.hpp"
#include "features/transfer_facts.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "predictors/trees/tree_schemas.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

template <typename E>
std::optional<E> parse_name(const std::string& name) {
  for (std::size_t i = 0; i < std::size_t(E::Count); ++i) {
    if (name_of(E(i)) == name) return E(i);
  }
  return std::nullopt;
}

Result<std::vector<float>> floats_of(const Bundle& bundle, const std::string& section, std::size_t multiple) {
  FORERUN_TRY(const std::string_view bytes, bundle.section(section));
  std::vector<float> values(bytes.size() / sizeof(float));
  if (bytes.size() % (multiple * sizeof(float)) != 0)
    return bad_input(bundle.file_name() + ": section " + section + " does not have the expected size");
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TreeInterval interval_of(const Json& json) { return {json.at("known").get<double>(), json.at("unlike").get<double>()}; }

}  // namespace

Status TreePredictor::load_kernel_forests(const Json& json) {
  FORERUN_CHECK(check_tree_hashes(json, bundle_.file_name()));
  FORERUN_TRY(kernel_forest_, Forest::from_bundle(bundle_, "kernels", kernel_fact_count()));
  kernel_interval_ = {interval_of(json.at("kernel_interval").at("graph")),
                      interval_of(json.at("kernel_interval").at("eager"))};
  if (const auto transfer = json.find("transfer"); transfer != json.end()) {
    transfer_.kinds = transfer->at("kinds").get<std::set<std::string>>();
    FORERUN_TRY(transfer_.forest, Forest::from_bundle(bundle_, "transfer", transfer_fact_count()));
  }
  if (json.contains("kernel_power")) {
    FORERUN_TRY(power_forest_, Forest::from_bundle(bundle_, "power", power_fact_names().size()));
  }
  if (json.contains("known_kernels")) {
    FORERUN_TRY(const std::string_view bytes, bundle_.section("known"));
    auto known = KnownKernels::from_bytes(bytes);
    if (!known) return bad_input(bundle_.file_name() + ": " + known.error().message);
    known_kernels_ = std::move(*known);
  }
  kernels_id_ =
      fmt::format("{:08x}{:08x}", bundle_.section_checksum("kernels.nodes"), bundle_.section_checksum("known"));
  if (json.contains("grouped_host")) {
    FORERUN_TRY(host_forest_, Forest::from_bundle(bundle_, "host", kernel_fact_count()));
  }
  if (json.contains("network_kernels")) {
    FORERUN_TRY(network_forest_, Forest::from_bundle(bundle_, "networks", kernel_fact_count()));
    network_interval_ = interval_of(json.at("network_kernels").at("interval"));
    network_devices_ = json.at("network_kernels").at("devices").get<std::set<std::string>>();
  }
  return ok();
}

Status TreePredictor::load_models(const Json& json) {
  const std::size_t width = tree_column_names().size();
  for (const Json& entry : json.at("models")) {
    const auto domain = parse_name<RunKind>(entry.at("domain"));
    const auto metric = parse_name<RunMetric>(entry.at("metric"));
    if (!domain || !metric) return bad_input(bundle_.file_name() + ": a model of an unknown domain or metric");
    const std::string section = entry.at("forest");
    Model model;
    if (!is_energy_or_power(*metric)) {
      FORERUN_TRY(model.forest, Forest::from_bundle(bundle_, section, width));
    }
    model.interval = interval_of(entry);
    FORERUN_TRY(const std::vector<float> range, floats_of(bundle_, section + ".range", 2 * width));
    if (range.size() != 2 * width)
      return bad_input(bundle_.file_name() + ": section " + section + ".range does not have the expected size");
    model.lowest.assign(range.begin(), range.begin() + std::ptrdiff_t(width));
    model.highest.assign(range.begin() + std::ptrdiff_t(width), range.end());
    models_.emplace(std::pair(*domain, *metric), std::move(model));
  }
  return ok();
}

Status TreePredictor::load_familiarity(const Json& json) {
  for (const Json& entry : json.at("familiarity")) {
    const auto domain = parse_name<RunKind>(entry.at("domain"));
    if (!domain) return bad_input(bundle_.file_name() + ": an unknown domain");
    TreeFamiliarity& familiarity = familiarity_[*domain];
    familiarity.usual = entry.at("usual");
    familiarity.unusual = entry.at("unusual");
    FORERUN_TRY(const std::vector<float> mixes, floats_of(bundle_, entry.at("mixes"), kKernelClasses));
    familiarity.mixes.resize(mixes.size() / kKernelClasses);
    if (!mixes.empty()) std::memcpy(familiarity.mixes.data(), mixes.data(), mixes.size() * sizeof(float));
  }
  return ok();
}

Result<TreePredictor> TreePredictor::load(const Bundle& bundle) {
  if (bundle.manifest().kind != "trees")
    return bad_input(bundle.file_name() + ": a bundle of kind " + bundle.manifest().kind + ", not trees");
  FORERUN_CHECK(bundle.check_schema(tree_schema()));
  TreePredictor predictor(bundle);
  predictor.name_ = bundle.manifest().name;
  try {
    FORERUN_TRY(const std::string_view text, bundle.part("trees"));
    const Json json = Json::parse(text);
    FORERUN_CHECK(predictor.load_kernel_forests(json));
    predictor.devices_ = json.at("devices").get<std::set<std::string>>();
    predictor.precisions_ = json.at("precisions").get<std::set<std::string>>();
    FORERUN_CHECK(predictor.load_models(json));
    FORERUN_CHECK(predictor.load_familiarity(json));
  } catch (const Json::exception& error) {
    return bad_input(bundle.file_name() + ": part trees: " + error.what());
  }
  return predictor;
}

}  // namespace forerun
