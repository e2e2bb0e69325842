#include "devices/architecture.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded.hpp"
#include "devices/device.hpp"
#include "devices/device_fields.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_architectures();  // generated from data/architectures

namespace {

using Json = nlohmann::json;

template <typename Kind>
struct Word {
  std::string_view text;
  Kind kind;
};
constexpr std::array<Word<TensorOperands>, 4> kOperands = {{{"none", TensorOperands::None},
                                                            {"registers", TensorOperands::Registers},
                                                            {"shared memory", TensorOperands::SharedMemory},
                                                            {"tensor memory", TensorOperands::TensorMemory}}};
constexpr std::array<Word<PlainGemm>, 4> kGemms = {{{"pascal", PlainGemm::Pascal},
                                                    {"volta", PlainGemm::Volta},
                                                    {"turing", PlainGemm::Turing},
                                                    {"ampere", PlainGemm::Ampere}}};

template <typename Kind, std::size_t kCount>
void read_word(DeviceFields& fields, std::string_view key, const std::array<Word<Kind>, kCount>& words, Kind& kind) {
  const std::string text = fields.text(key);
  if (text.empty()) return;
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.text == text; });
  if (found == words.end())
    return fields.problem("'" + std::string(key) + "' is '" + text + "', which is none of them");
  kind = found->kind;
}

void read_number(DeviceFields& fields, std::string_view key, const FigureRange& range, double& number) {
  if (const auto value = fields.number(key, range)) number = *value;
}

void read_entry(DeviceFields& fields, Architecture& a) {
  constexpr FigureRange kNm{1, 100}, kPartitions{1, 8, true}, kPerClock{1, 4096}, kScale{0.1, 10}, kMib{1, 1e4};
  read_number(fields, "process_nm", kNm, a.process_nm);
  read_number(fields, "l2_partitions", kPartitions, a.l2_partitions);
  read_word(fields, "tensor_operands", kOperands, a.tensor_operands);
  read_word(fields, "plain_gemm", kGemms, a.plain_gemm);
  read_number(fields, "exponentials_per_clock", kPerClock, a.exponentials_per_clock);
  read_number(fields, "launch_scale", kScale, a.launch_scale);
  if (const Json* value = fields.child("launches_overlap", Json::value_t::boolean)) a.launches_overlap = *value;
  read_number(fields, "context_mib", kMib, a.context_mib);
  read_number(fields, "gemm_workspace_mib", kMib, a.gemm_workspace_mib);
  if (const auto value = fields.number("l1_bytes_per_clock", kPerClock)) a.l1_bytes_per_clock = value;
  if (const auto value = fields.number("l2_bytes_per_clock", kPerClock)) a.l2_bytes_per_clock = value;
}

bool is_given(const std::optional<double>& capability, const Device& device) {
  return capability && capability == device.compute_capability;
}

}  // namespace

Result<std::vector<ArchitectureEntry>> parse_architecture(std::string_view text, const std::string& place) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return bad_input(place + ": not a JSON object");
  DeviceFields fields(json, place);
  std::vector<ArchitectureEntry> entries(1);
  entries[0].name = fields.text("architecture", true);
  read_entry(fields, entries[0].architecture);
  if (const Json* chips = fields.child("compute_capabilities", Json::value_t::object)) {
    for (const auto& [capability, chip] : chips->items()) {
      ArchitectureEntry entry = entries[0];
      entry.compute_capability = parse_capability(capability);
      if (!entry.compute_capability || !chip.is_object()) {
        fields.problem("'compute_capabilities." + capability + "' must be an object under a number as in \"9.0\"");
        break;
      }
      DeviceFields part(chip, place + ": " + capability);
      read_entry(part, entry.architecture);
      part.finish();
      fields.take_problem(part);
      entries.push_back(std::move(entry));
    }
  }
  fields.child("sources", Json::value_t::object);
  fields.finish();
  if (!fields.error().empty()) return bad_input(fields.error());
  return entries;
}

const Result<std::vector<ArchitectureEntry>>& load_architectures() {
  static const Result<std::vector<ArchitectureEntry>> kEntries = [] {
    Result<std::vector<ArchitectureEntry>> all = std::vector<ArchitectureEntry>();
    for (const EmbeddedFile& file : embedded_architectures()) {
      auto entries = parse_architecture(file.bytes, std::string(file.name));
      if (!entries) return entries;
      all->insert(all->end(), entries->begin(), entries->end());
    }
    return all;
  }();
  return kEntries;
}

const Architecture& architecture_of(const Device& device) {
  static const Architecture kUnknown;
  const auto& loaded = load_architectures();
  if (!loaded) return kUnknown;
  const Architecture *of_name = nullptr, *of_capability = nullptr;
  for (const ArchitectureEntry& entry : *loaded) {
    const bool is_named = entry.name == device.architecture, is_capable = is_given(entry.compute_capability, device);
    if (is_named && is_capable) return entry.architecture;
    if (is_named && !entry.compute_capability) of_name = &entry.architecture;
    if (is_capable) of_capability = &entry.architecture;
  }
  return of_name != nullptr ? *of_name : of_capability != nullptr ? *of_capability : kUnknown;
}

}  // namespace forerun
