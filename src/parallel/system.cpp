#include "parallel/system.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/embedded.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_systems();  // data/systems
std::span<const EmbeddedFile> embedded_fabrics();  // data/fabrics

namespace {

using Json = nlohmann::json;

// Shipped files are checked by a test; one that cannot be read is left out.
template <typename Record, typename Read>
std::vector<Record> read_all(std::span<const EmbeddedFile> files, const Read& read) {
  std::vector<Record> records;
  for (const EmbeddedFile& file : files) {
    const Json json = Json::parse(file.bytes, nullptr, false);
    if (json.is_object()) records.push_back(read(json));
  }
  return records;
}

Fabric read_fabric(const Json& json) {
  return {json.value("id", ""), json.value("name", ""), json.value("kind", ""), json.value("gbit_per_s", 0.0) / 8,
          json.value("latency_us", 0.0)};
}

System read_system(const Json& json) {
  System system;
  system.id = json.value("id", "");
  system.name = json.value("name", "");
  system.device = json.value("device", "");
  system.gpus_per_node = json.value("gpus_per_node", std::int64_t{1});
  system.link = json.value("link", "");
  system.link_domain = json.value("link_domain", system.gpus_per_node);
  system.fabric = json.value("fabric", "");
  system.nics_per_node = json.value("nics_per_node", std::int64_t{0});
  system.most_nodes = json.value("most_nodes", std::int64_t{1});
  if (const auto price = json.find("instance_price"); price != json.end()) {
    system.price =
        InstancePrice{price->value("usd_per_hour", 0.0), price->value("date", ""), price->value("source", "")};
  }
  return system;
}

template <typename Record>
Result<Record> find_in(std::span<const Record> records, std::string_view id, const char* option) {
  std::string known;
  for (const Record& record : records) {
    if (record.id == id) return record;
    known += (known.empty() ? "" : ", ") + record.id;
  }
  return bad_input(std::string(option) + " '" + std::string(id) + "' is not known; there are: " + known);
}

}  // namespace

std::span<const System> all_systems() {
  static const std::vector<System> kSystems = read_all<System>(embedded_systems(), read_system);
  return kSystems;
}

std::span<const Fabric> all_fabrics() {
  static const std::vector<Fabric> kFabrics = read_all<Fabric>(embedded_fabrics(), read_fabric);
  return kFabrics;
}

Result<System> find_system(std::string_view id) { return find_in(all_systems(), id, "--system"); }
Result<Fabric> find_fabric(std::string_view id) { return find_in(all_fabrics(), id, "--fabric"); }

System assumed_system(const Device& device) {
  System system;
  system.id = "";
  system.device = device.id;
  const bool linked = device.interconnect.gb_per_s.has_value();
  system.link = !linked ? "pcie" : device.maker == "AMD" ? "xgmi" : "nvlink";
  system.link_domain = system.gpus_per_node = 8;
  system.fabric = linked ? "infiniband-ndr" : "roce-100";
  system.nics_per_node = linked ? 8 : 1;
  system.most_nodes = 8192;
  return system;
}

}  // namespace forerun
