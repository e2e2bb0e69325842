#include "training/trees/tree_bundle.hpp"

#include <nlohmann/json.hpp>

#include "predictors/trees/tree_schemas.hpp"

namespace forerun {
namespace {

nlohmann::json json_of(const TreeInterval& interval) {
  return {{"known", interval.known}, {"unlike", interval.unfamiliar}};
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

Result<std::string> make_tree_bundle(const TrainedTrees& trained) {
  nlohmann::json json;
  json["kernel_interval"] = {{"graph", json_of(trained.kernel_graph)}, {"eager", json_of(trained.kernel_eager)}};
  if (!trained.networks.roots.empty())
    json["network_kernels"] = {{"interval", json_of(trained.network_interval)}, {"devices", trained.network_devices}};
  if (!trained.transfer_kinds.empty()) json["transfer"] = {{"kinds", trained.transfer_kinds}};
  if (!trained.power.roots.empty()) json["kernel_power"] = nlohmann::json::object();
  put_tree_hashes(json);
  if (!trained.host.roots.empty()) json["grouped_host"] = true;
  if (!trained.known.empty()) json["known_kernels"] = true;
  json["devices"] = trained.devices;
  json["precisions"] = trained.precisions;
  json["models"] = nlohmann::json::array();
  json["familiarity"] = nlohmann::json::array();
  std::set<std::string> metrics;
  int index = 0;
  for (const auto& [key, metric] : trained.metrics) {
    nlohmann::json entry = json_of(metric.interval);
    entry["domain"] = name_of(key.first);
    entry["metric"] = name_of(key.second);
    entry["forest"] = "m" + std::to_string(index++);
    json["models"].push_back(std::move(entry));
    metrics.insert(std::string(name_of(key.second)));
  }
  for (const auto& [domain, f] : trained.familiarity) {
    json["familiarity"].push_back({{"domain", name_of(domain)},
                                   {"usual", f.usual},
                                   {"unusual", f.unusual},
                                   {"mixes", "mix." + std::string(name_of(domain))}});
  }
  BundleManifest manifest;
  manifest.name = trained.name;
  manifest.kind = "trees";
  manifest.metrics.assign(metrics.begin(), metrics.end());
  manifest.schema = tree_schema();
  manifest.parts = {{"trees", json.dump()}, {"provenance", trained.provenance}, {"evaluation", trained.evaluation}};
  if (trained.set_aside) manifest.parts.emplace(kSetAsidePart, kSetAsideRule);
  BundleWriter writer(std::move(manifest));
  FORERUN_CHECK(add_forest(writer, "kernels", trained.kernels));
  if (!trained.transfer_kinds.empty()) FORERUN_CHECK(add_forest(writer, "transfer", trained.transfer));
  if (!trained.power.roots.empty()) FORERUN_CHECK(add_forest(writer, "power", trained.power));
  if (!trained.host.roots.empty()) FORERUN_CHECK(add_forest(writer, "host", trained.host));
  if (!trained.known.empty()) FORERUN_CHECK(writer.add_section("known", trained.known.bytes()));
  if (!trained.networks.roots.empty()) FORERUN_CHECK(add_forest(writer, "networks", trained.networks));
  index = 0;
  for (const auto& [key, metric] : trained.metrics) {
    const std::string section = "m" + std::to_string(index++);
    if (!is_energy_or_power(key.second)) FORERUN_CHECK(add_forest(writer, section, metric.trees));
    std::vector<float> range = metric.lowest;
    range.insert(range.end(), metric.highest.begin(), metric.highest.end());
    FORERUN_CHECK(writer.add_section(section + ".range", bytes_of(range)));
  }
  for (const auto& [domain, f] : trained.familiarity) {
    std::vector<float> mixes;
    for (const auto& mix : f.mixes) mixes.insert(mixes.end(), mix.begin(), mix.end());
    FORERUN_CHECK(writer.add_section("mix." + std::string(name_of(domain)), bytes_of(mixes)));
  }
  return writer.bytes();
}

}  // namespace forerun
