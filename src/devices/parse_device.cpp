// A device file's JSON into a Device. Every figure is checked; a wrong one is named.
#include <nlohmann/json.hpp>

#include "devices/catalogue.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

class Fields {
 public:
  Fields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

  std::string text(const char* key, bool required = true) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_string()) {
      if (required) problem(std::string("'") + key + "' must be a text");
      return {};
    }
    return found->get<std::string>();
  }

  std::optional<double> number(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) return std::nullopt;
    if (!found->is_number() || !(found->get<double>() > 0)) {
      problem(std::string("'") + key + "' must be a positive number");
      return std::nullopt;
    }
    return found->get<double>();
  }

  double needed(const char* key) {
    const auto value = number(key);
    if (!value) problem(std::string("'") + key + "' is missing");
    return value.value_or(1);
  }

  std::optional<int> whole(const char* key) {
    const auto value = number(key);
    return value ? std::optional(int(std::min(*value, 1e9))) : std::nullopt;
  }

  std::map<std::string, double> rates(const char* key) {
    std::map<std::string, double> result;
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_object()) return result;
    for (const auto& [name, value] : found->items()) {
      if (!value.is_number() || !(value.get<double>() > 0)) {
        problem(std::string("'") + key + "." + name + "' must be a positive number");
      } else {
        result[name] = value.get<double>();
      }
    }
    return result;
  }

  const Json* child(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() ? &*found : nullptr;
  }

  void problem(const std::string& what) {
    if (error_.empty()) error_ = place_ + ": " + what;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const Json& object_;
  std::string place_;
  std::string error_;
};

void read_mig(const Json& list, Device& device, Fields& fields, const std::string& place) {
  if (!list.is_array()) return fields.problem("'mig' must be a list");
  for (const Json& entry : list) {
    if (!entry.is_object()) return fields.problem("'mig' must be a list of objects");
    Fields row(entry, place + ": mig");
    MigProfile profile;
    profile.profile = row.text("profile");
    profile.compute_slices = int(row.needed("compute_slices"));
    profile.memory_slices = int(row.needed("memory_slices"));
    profile.memory_gib = row.needed("memory_gib");
    profile.sm_count = int(row.needed("sm_count"));
    profile.instances = int(row.needed("instances"));
    if (!row.error().empty()) return fields.problem(row.error());
    device.mig.push_back(std::move(profile));
  }
}

void read_measured(const Json& object, Device& device, const std::string& place, Fields& fields) {
  if (!object.is_object()) return fields.problem("'measured' must be an object");
  Fields f(object, place + ": measured");
  MeasuredCeilings measured;
  measured.date = f.text("date", false);
  measured.peak_tflops = f.rates("peak_tflops");
  for (const auto& [name, figure] : kCeilingFigures) measured.*figure = f.number(name);
  if (!f.error().empty()) return fields.problem(f.error());
  device.measured = std::move(measured);
}

}  // namespace

Result<Device> parse_device(std::string_view text, const std::string& place) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return bad_input(place + ": not a JSON object");
  Fields f(json, place);
  Device d;
  d.id = f.text("id");
  d.name = f.text("name");
  d.maker = f.text("maker", false);
  d.kind = f.text("kind", false);
  if (d.kind.empty()) d.kind = "gpu";
  d.architecture = f.text("architecture", false);
  d.year = f.whole("year").value_or(0);
  if (const Json* aliases = f.child("aliases"); aliases != nullptr && aliases->is_array()) {
    for (const Json& alias : *aliases) {
      if (alias.is_string()) d.aliases.push_back(alias.get<std::string>());
    }
  }
  if (const std::string capability = f.text("compute_capability", false); !capability.empty()) {
    d.compute_capability = std::strtod(capability.c_str(), nullptr);
  }
  d.sm_count = int(f.needed("sm_count"));
  d.cores_per_sm = f.whole("cuda_cores_per_sm");
  d.tensor_cores_per_sm = f.whole("tensor_cores_per_sm");
  d.clock_base_mhz = f.number("clock_base_mhz");
  d.clock_boost_mhz = f.number("clock_boost_mhz");
  d.peak_tflops = f.rates("peak_tflops");
  if (d.peak_tflops.empty()) f.problem("'peak_tflops' is missing");
  d.memory_gib = f.needed("memory_gib");
  d.memory_bandwidth_gb_per_s = f.needed("memory_bandwidth_gb_per_s");
  d.l2_mib = f.number("l2_mib");
  d.l1_kib_per_sm = f.number("l1_kib_per_sm");
  d.shared_memory_kib_per_sm = f.number("shared_memory_kib_per_sm");
  d.shared_memory_kib_per_block = f.number("shared_memory_kib_per_block");
  d.registers_per_sm = f.number("registers_per_sm");
  d.max_threads_per_sm = f.number("max_threads_per_sm");
  d.max_threads_per_block = f.number("max_threads_per_block");
  d.power_limit_w = f.needed("power_limit_w");
  d.idle_power_w = f.number("idle_power_w");
  if (const Json* link = f.child("interconnect"); link != nullptr && link->is_object()) {
    Fields l(*link, place + ": interconnect");
    d.interconnect.kind = l.text("kind", false);
    d.interconnect.gb_per_s = l.number("gb_per_s");
    d.interconnect.pcie_gb_per_s = l.number("pcie_gb_per_s");
    if (!l.error().empty()) f.problem(l.error());
  }
  if (const Json* mig = f.child("mig")) read_mig(*mig, d, f, place);
  if (const Json* host = f.child("host"); host != nullptr && host->is_object()) {
    Fields h(*host, place + ": host");
    d.host_cpu_clock_mhz = h.number("cpu_clock_mhz");
    d.host_cpu_cores = h.number("cpu_cores");
    d.host_ram_gib = h.number("ram_gib");
  }
  if (const Json* measured = f.child("measured")) read_measured(*measured, d, place, f);
  if (const Json* sources = f.child("sources"); sources != nullptr && sources->is_object()) {
    for (const auto& [key, value] : sources->items()) {
      if (value.is_string()) d.sources[key] = value.get<std::string>();
    }
  }
  if (!f.error().empty()) return bad_input(f.error());
  return d;
}

}  // namespace forerun
