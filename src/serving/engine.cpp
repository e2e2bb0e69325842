#include "serving/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded.hpp"
#include "base/user_folder.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_engines();  // data/engines

namespace {

using Json = nlohmann::json;

void read_whole(const Json& json, const char* key, std::int64_t& value) {
  if (const auto found = json.find(key); found != json.end() && found->is_number()) value = found->get<std::int64_t>();
}
void read_flag(const Json& json, const char* key, bool& value) {
  if (const auto found = json.find(key); found != json.end() && found->is_boolean()) value = found->get<bool>();
}

void read_version(const Json& json, Engine& engine) {
  read_flag(json, "framework_kernels", engine.runs_framework_kernels);
  read_flag(json, "overlaps_host", engine.overlaps_host);
  read_flag(json, "splits_layers", engine.splits_layers);
  read_flag(json, "chunks_prompts", engine.chunks_prompts);
  read_flag(json, "mixes_phases", engine.mixes_phases);
  read_flag(json, "streams_from_decode", engine.streams_from_decode);
  read_flag(json, "share_is_of_free_memory", engine.share_is_of_free_memory);
  read_whole(json, "block_tokens", engine.block_tokens);
  read_whole(json, "max_batch", engine.max_batch);
  read_whole(json, "step_tokens", engine.step_tokens);
  for (const EngineNumber& number : name_numbers(engine)) {
    if (const auto found = json.find(number.name); found != json.end() && found->is_number())
      *number.value = found->get<double>();
  }
  if (json.contains("fitted_on")) engine.fitted_on = json["fitted_on"].get<std::string>();
}

// "0.12.0" -> {0, 12, 0}; what follows a part that is no number is left out.
std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> parts;
  while (!version.empty()) {
    int part = 0;
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), part);
    if (error != std::errc{}) break;
    parts.push_back(part);
    version.remove_prefix(std::size_t(end - version.data()));
    if (version.empty() || version[0] != '.') break;
    version.remove_prefix(1);
  }
  return parts;
}

// Versions agree where the known one is a prefix of the asked one: 0.12.0 is a 0.12.
bool is_of(const std::vector<int>& known, const std::vector<int>& asked) {
  return known.size() <= asked.size() && std::equal(known.begin(), known.end(), asked.begin());
}

const Json* find_file(std::string_view name) {
  static const std::vector<Json> kFiles = [] {
    std::vector<Json> files;
    for (const EmbeddedFile& file : embedded_engines()) files.push_back(Json::parse(file.bytes, nullptr, false));
    return files;
  }();
  for (const Json& file : kFiles) {
    if (file.is_object() && file.value("name", "") == name) return &file;
  }
  return nullptr;
}

void apply_device(const Json& version, const Device& device, Engine& engine, bool& knows_maker) {
  if (const auto small = version.find("small_device");
      small != version.end() && device.memory_gib < small->value("below_gib", 0.0))
    read_version(*small, engine);
  if (const auto makers = version.find("makers"); makers != version.end() && makers->contains(device.maker)) {
    read_version((*makers)[device.maker], engine);
    knows_maker = true;
  }
}

// What the user's own benchmark of this engine on this device says.
void apply_correction(const Device& device, Engine& engine, std::vector<std::string>& warnings) {
  const std::string path = device.id.empty() ? "" : correction_path(engine.name, device.id);
  std::ifstream file(path);
  if (path.empty() || !file) return;
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("measured_on") || !json["measured_on"].is_string()) {
    warnings.push_back(path + ": is no correction of an engine, and is left out; write it with forerun-lab adapt");
    return;
  }
  read_version(json, engine);
  warnings.push_back(fmt::format("{} on {} is corrected by your own benchmark ({}): {}", engine.name, device.id,
                                 json["measured_on"].get<std::string>(), path));
}

}  // namespace

std::string correction_path(std::string_view engine, std::string_view device) {
  const std::filesystem::path own = user_folder();
  return own.empty() ? "" : (own / "engines" / fmt::format("{}@{}.json", engine, device)).string();
}

std::vector<EngineNumber> name_numbers(Engine& e) {
  return {{"linear", &e.factors.linear},
          {"linear_fp8", &e.factors.linear_fp8},
          {"linear_fp4", &e.factors.linear_fp4},
          {"linear_int", &e.factors.linear_int},
          {"prompt", &e.factors.prompt},
          {"attention", &e.factors.attention},
          {"latent_attention", &e.factors.latent_attention},
          {"prompt_attention", &e.factors.prompt_attention},
          {"expert_memory", &e.factors.expert_memory},
          {"expert_compute", &e.factors.expert_compute},
          {"other", &e.factors.other},
          {"exchange", &e.factors.exchange},
          {"step", &e.factors.step},
          {"host_step_ms", &e.host.step_ms},
          {"host_request_ms", &e.host.request_ms},
          {"layer_ms", &e.host.layer_ms},
          {"api_ms", &e.host.api_ms},
          {"api_serial_ms", &e.host.api_serial_ms},
          {"api_serial_ms_per_1k_tokens", &e.host.api_serial_ms_per_1k_tokens},
          {"output_reserve", &e.output_reserve},
          {"memory_share", &e.memory_share},
          {"graph_pool_mb", &e.graph_pool_mb},
          {"transfer_ms", &e.transfer_ms},
          {"interval_ttft", &e.intervals.ttft},
          {"interval_tpot", &e.intervals.tpot},
          {"interval_rate", &e.intervals.rate}};
}

Result<Engine> find_engine(std::string_view name, std::string_view version, const Device& device,
                           std::vector<std::string>& warnings) {
  const Json* file = find_file(name);
  if (file == nullptr) {
    std::string known;
    for (const std::string& engine : list_engines()) known += (known.empty() ? "" : "|") + engine;
    return bad_input(fmt::format("--engine: '{}' is none of {}", name, known));
  }
  // Entries go from the oldest to the newest.
  Engine engine;
  engine.name = std::string(name);
  const std::vector<int> asked = numbers_of(version);
  bool is_known = version.empty(), knows_maker = false;
  for (const Json& entry : (*file)["versions"]) {
    const std::vector<int> known = numbers_of(entry.value("version", ""));
    if (!version.empty() && !is_of(known, asked) && known > asked && !engine.version.empty()) break;
    engine.version = entry.value("version", "");
    read_version(entry, engine);
    apply_device(entry, device, engine, knows_maker);
    if (is_of(known, asked)) is_known = true;
  }
  if (!is_known)
    warnings.push_back(fmt::format("{} {} is not known: taken as {} {}", name, version, name, engine.version));
  if (!version.empty()) engine.version = std::string(version);
  if (device.maker != "NVIDIA" && !knows_maker)
    warnings.push_back(
        fmt::format("{}: its constants were set on NVIDIA's devices, not on {}'s", engine.name, device.maker));
  apply_correction(device, engine, warnings);
  return engine;
}

std::vector<std::string> list_engines() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_engines()) {
    const std::string_view name = file.name;
    names.emplace_back(name.substr(0, name.size() - std::string_view(".json").size()));
  }
  return names;
}

SchedulerLimits limits_of(const Engine& engine) {
  SchedulerLimits limits;
  limits.max_batch = engine.max_batch;
  limits.step_tokens = engine.step_tokens;
  limits.block_tokens = engine.block_tokens;
  limits.chunks_prompts = engine.chunks_prompts;
  limits.mixes_phases = engine.mixes_phases;
  limits.output_reserve = engine.output_reserve;
  return limits;
}

}  // namespace forerun
