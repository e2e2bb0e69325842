// A device file's JSON into a Device. Every figure is checked against the range that devices can have; what is wrong,
// missing or unknown is named.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_keys.hpp"
#include "devices/catalogue.hpp"
#include "devices/device_fields.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 1 << 20;  // shipped files have up to 4 KiB
constexpr std::size_t kMostDepth = 8;

// Ranges with room to either side of every device that exists, slices of cards included.
constexpr FigureRange kRate{1e-3, 1e6};                // TFLOP/s
constexpr FigureRange kBandwidth{0.1, 1e6};            // GB/s of memory and links
constexpr FigureRange kCacheBandwidth{0.1, 1e8};       // GB/s
constexpr FigureRange kMemory{1.0 / 64, 1e6};          // GiB
constexpr FigureRange kCache{1e-3, 1e5};               // MiB, or KiB of one multiprocessor
constexpr FigureRange kClock{10, 20'000};              // MHz
constexpr FigureRange kPower{1e-2, 1e5};               // W
constexpr FigureRange kTime{1e-3, 1e6};                // µs
constexpr FigureRange kUnits{1, 100'000, true};        // multiprocessors, cores
constexpr FigureRange kPerUnit{1, 100'000'000, true};  // registers and threads of one multiprocessor
constexpr FigureRange kSlices{1, 64, true};
constexpr FigureRange kYear{1980, 2100, true};
constexpr FigureRange kGeneration{1, 64, true};  // of PCIe, and its lanes

constexpr std::array<std::string_view, 16> kRates = {
    "fp64",        "fp64_tensor", "fp32",       "fp32_tensor", "tf32_tensor", "fp16", "fp16_tensor", "bf16",
    "bf16_tensor", "fp8",         "fp8_tensor", "fp4",         "fp4_tensor",  "int8", "int8_tensor", "int4_tensor"};
constexpr std::array<std::string_view, 3> kKinds = {"gpu", "cpu", "accelerator"};

// A figure of a record, where it goes and whether the record is nothing without it.
template <typename Record>
struct Figure {
  std::string_view key;
  FigureRange range;
  bool is_needed;
  void (*set)(Record& record, double value);
};

constexpr std::array<Figure<Device>, 17> kFigures = {{
    {"year", kYear, false, [](Device& d, double v) { d.year = int(v); }},
    {"sm_count", kUnits, true, [](Device& d, double v) { d.sm_count = int(v); }},
    {"cuda_cores_per_sm", kUnits, false, [](Device& d, double v) { d.cores_per_sm = int(v); }},
    {"tensor_cores_per_sm", kUnits, false, [](Device& d, double v) { d.tensor_cores_per_sm = int(v); }},
    {"clock_base_mhz", kClock, false, [](Device& d, double v) { d.clock_base_mhz = v; }},
    {"clock_boost_mhz", kClock, false, [](Device& d, double v) { d.clock_boost_mhz = v; }},
    {"memory_gib", kMemory, true, [](Device& d, double v) { d.memory_gib = v; }},
    {"memory_bandwidth_gb_per_s", kBandwidth, true, [](Device& d, double v) { d.memory_bandwidth_gb_per_s = v; }},
    {"l2_mib", kCache, false, [](Device& d, double v) { d.l2_mib = v; }},
    {"l1_kib_per_sm", kCache, false, [](Device& d, double v) { d.l1_kib_per_sm = v; }},
    {"shared_memory_kib_per_sm", kCache, false, [](Device& d, double v) { d.shared_memory_kib_per_sm = v; }},
    {"shared_memory_kib_per_block", kCache, false, [](Device& d, double v) { d.shared_memory_kib_per_block = v; }},
    {"registers_per_sm", kPerUnit, false, [](Device& d, double v) { d.registers_per_sm = v; }},
    {"max_threads_per_sm", kPerUnit, false, [](Device& d, double v) { d.max_threads_per_sm = v; }},
    {"max_threads_per_block", kPerUnit, false, [](Device& d, double v) { d.max_threads_per_block = v; }},
    {"power_limit_w", kPower, true, [](Device& d, double v) { d.power_limit_w = v; }},
    {"idle_power_w", kPower, false, [](Device& d, double v) { d.idle_power_w = v; }},
}};

constexpr std::array<Figure<Interconnect>, 4> kLinkFigures = {{
    {"gb_per_s", kBandwidth, false, [](Interconnect& l, double v) { l.gb_per_s = v; }},
    {"pcie_gb_per_s", kBandwidth, false, [](Interconnect& l, double v) { l.pcie_gb_per_s = v; }},
    {"pcie_generation", kGeneration, false, [](Interconnect&, double) {}},
    {"pcie_lanes", kGeneration, false, [](Interconnect&, double) {}},
}};

constexpr std::array<Figure<MigProfile>, 5> kMigFigures = {{
    {"compute_slices", kSlices, true, [](MigProfile& m, double v) { m.compute_slices = int(v); }},
    {"memory_slices", kSlices, true, [](MigProfile& m, double v) { m.memory_slices = int(v); }},
    {"memory_gib", kMemory, true, [](MigProfile& m, double v) { m.memory_gib = v; }},
    {"sm_count", kUnits, true, [](MigProfile& m, double v) { m.sm_count = int(v); }},
    {"instances", kSlices, true, [](MigProfile& m, double v) { m.instances = int(v); }},
}};

constexpr std::array<Figure<Device>, 3> kHostFigures = {{
    {"cpu_clock_mhz", kClock, false, [](Device& d, double v) { d.host_cpu_clock_mhz = v; }},
    {"cpu_cores", kUnits, false, [](Device& d, double v) { d.host_cpu_cores = v; }},
    {"ram_gib", kMemory, false, [](Device& d, double v) { d.host_ram_gib = v; }},
}};

// What `forerun-lab characterize` also writes down, for people to read.
constexpr std::array<std::pair<std::string_view, FigureRange>, 7> kNoted = {{
    {"copy_gb_per_s", kBandwidth},
    {"host_to_device_gb_per_s", kBandwidth},
    {"device_to_host_gb_per_s", kBandwidth},
    {"launch_and_wait_us", kTime},
    {"graph_launch_us", kTime},
    {"idle_power_no_context_w", kPower},
    {"memory_loaded_power_w", kPower},
}};

template <typename Record, std::size_t kCount>
void read_figures(DeviceFields& fields, const std::array<Figure<Record>, kCount>& figures, Record& record) {
  for (const Figure<Record>& figure : figures) {
    if (const auto value = fields.number(figure.key, figure.range)) {
      figure.set(record, *value);
    } else if (figure.is_needed) {
      fields.problem("'" + std::string(figure.key) + "' is missing");
    }
  }
}

void read_mig(DeviceFields& fields, Device& device) {
  const Json* list = fields.child("mig", Json::value_t::array);
  if (list == nullptr) return;
  for (const Json& entry : *list) {
    if (!entry.is_object()) return fields.problem("'mig' must be a list of objects");
    DeviceFields row(entry, fields.place() + ": mig");
    MigProfile profile;
    profile.profile = row.text("profile", true);
    read_figures(row, kMigFigures, profile);
    if (profile.sm_count > device.sm_count) row.problem("'sm_count' is more than the card has");
    row.finish();
    fields.take_problem(row);
    device.mig.push_back(std::move(profile));
  }
}

FigureRange range_of(std::string_view figure) {
  if (figure.ends_with("_us")) return kTime;
  if (figure.ends_with("_w")) return kPower;
  return figure.starts_with("memory") ? kBandwidth : kCacheBandwidth;
}

void read_measured(DeviceFields& fields, Device& device) {
  const Json* object = fields.child("measured", Json::value_t::object);
  if (object == nullptr) return;
  DeviceFields part(*object, fields.place() + ": measured");
  MeasuredCeilings measured;
  measured.date = part.text("date");
  part.text("how");
  measured.peak_tflops = part.rates("peak_tflops", kRates, kRate);
  for (const auto& [name, figure] : kCeilingFigures) measured.*figure = part.number(name, range_of(name));
  for (const auto& [name, range] : kNoted) part.number(name, range);
  part.finish();
  fields.take_problem(part);
  device.measured = std::move(measured);
}

void read_reported(DeviceFields& fields, Device& device) {
  const Json* object = fields.child("reported", Json::value_t::object);
  if (object == nullptr) return;
  DeviceFields part(*object, fields.place() + ": reported");
  device.reported = ReportedCeilings{part.number("memory_bandwidth_gb_per_s", kBandwidth),
                                     part.number("l2_bandwidth_gb_per_s", kCacheBandwidth),
                                     part.number("l1_bandwidth_gb_per_s", kCacheBandwidth), part.text("source", true)};
  part.finish();
  fields.take_problem(part);
}

void read_parts(DeviceFields& fields, Device& device) {
  if (const Json* link = fields.child("interconnect", Json::value_t::object)) {
    DeviceFields part(*link, fields.place() + ": interconnect");
    device.interconnect.kind = part.text("kind");
    read_figures(part, kLinkFigures, device.interconnect);
    part.finish();
    fields.take_problem(part);
  }
  if (const Json* host = fields.child("host", Json::value_t::object)) {
    DeviceFields part(*host, fields.place() + ": host");
    read_figures(part, kHostFigures, device);
    part.finish();
    fields.take_problem(part);
  }
  if (const Json* sources = fields.child("sources", Json::value_t::object)) {
    for (const auto& [key, value] : sources->items()) {
      if (!value.is_string()) return fields.problem("'sources." + key + "' must be a text");
      device.sources[key] = value.get<std::string>();
    }
  }
  read_mig(fields, device);
  read_measured(fields, device);
  read_reported(fields, device);
}

}  // namespace

Result<Device> parse_device(std::string_view text, const std::string& place) {
  if (text.size() > kMostBytes) return Error{ErrorKind::TooLarge, place + ": a device file of more than 1 MiB"};
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return bad_input(place + ": not a JSON object");
  if (const auto twice = find_duplicate_key(text, kMostDepth))
    return bad_input(place + ": the key '" + *twice + "' stands twice");
  DeviceFields f(json, place);
  Device d;
  d.id = f.text("id", true);
  d.name = f.text("name", true);
  d.maker = f.text("maker");
  d.kind = f.text("kind");
  if (d.kind.empty()) d.kind = "gpu";
  if (std::find(kKinds.begin(), kKinds.end(), d.kind) == kKinds.end())
    f.problem("'kind' is '" + d.kind + "': it must be gpu, cpu or accelerator");
  d.architecture = f.text("architecture");
  d.memory_type = f.text("memory_type");
  f.text("slice");  // of a description that `forerun devices` printed: the figures are the slice's already
  d.aliases = f.texts("aliases");
  if (const std::string capability = f.text("compute_capability"); !capability.empty()) {
    d.compute_capability = parse_capability(capability);
    if (!d.compute_capability) f.problem("'compute_capability' must be a number in quotes, as in \"9.0\"");
  }
  d.peak_tflops = f.rates("peak_tflops", kRates, kRate);
  if (d.peak_tflops.empty()) f.problem("'peak_tflops' is missing");
  read_figures(f, kFigures, d);
  read_parts(f, d);
  if (d.idle_power_w && *d.idle_power_w >= d.power_limit_w) f.problem("'idle_power_w' must be below 'power_limit_w'");
  f.finish();
  if (!f.error().empty()) return bad_input(f.error());
  return d;
}

}  // namespace forerun
