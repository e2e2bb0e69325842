#include "readers/networks.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/embedded.hpp"
#include "base/nearest.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/json_text.hpp"
#include "readers/onnx/onnx_reader.hpp"
#include "readers/printable.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_networks();  // data/networks

namespace {

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return small;
}

// Words between hyphens that a fine-tuned checkpoint's name adds to its base's: the network is the same.
constexpr std::array<std::string_view, 10> kFineTuned = {"meta", "instruct", "chat", "it",       "hf",
                                                         "base", "pt",       "2507", "thinking", "deduped"};

// "Meta-Llama-3.1-8B-Instruct" -> "-llama-3.1-8b"
std::string base_name(std::string_view checkpoint) {
  std::string name;
  for (std::string_view rest = checkpoint; !rest.empty();) {
    const std::size_t end = std::min(rest.find('-'), rest.size());
    const std::string word = lower(rest.substr(0, end));
    if (std::find(kFineTuned.begin(), kFineTuned.end(), word) == kFineTuned.end()) name += "-" + word;
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return name;
}

struct Checkpoint {
  std::string organisation, name;  // lower case
};

// "huggingface.co/meta-llama/Llama-3.1-8B (text part)" -> meta-llama, llama-3.1-8b
Checkpoint checkpoint_of(const EmbeddedFile& file) {
  constexpr std::string_view kHost = "huggingface.co/";
  const auto json = file.name.ends_with(".json") ? parse_json_text(file.bytes, std::string(file.name)) : Json();
  if (!json || !json->is_object()) return {};
  std::string source = lower(json->value("forerun", Json::object()).value("source", ""));
  if (!source.starts_with(kHost)) return {};
  source = source.substr(kHost.size(), source.find(' ') - kHost.size());
  const std::size_t slash = source.find('/');
  return slash == std::string::npos ? Checkpoint() : Checkpoint{source.substr(0, slash), source.substr(slash + 1)};
}

const std::vector<Checkpoint>& checkpoints() {  // parallel to embedded_networks()
  static const std::vector<Checkpoint> kList = [] {
    std::vector<Checkpoint> list;
    for (const EmbeddedFile& file : embedded_networks()) list.push_back(checkpoint_of(file));
    return list;
  }();
  return kList;
}

// By its own name, else by its Hugging Face id ("meta-llama/Llama-3.1-8B"; a fine-tune's finds its base).
const EmbeddedFile* find_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_networks()) {
    if (stem(file.name) == name) return &file;
  }
  const std::string id = lower(name);
  const std::size_t slash = id.find('/');
  const std::string organisation = slash == std::string::npos ? "" : id.substr(0, slash);
  const std::string checkpoint = slash == std::string::npos ? id : id.substr(slash + 1);
  if (checkpoint.empty() || checkpoint.find('/') != std::string::npos) return nullptr;
  const EmbeddedFile* base = nullptr;
  for (std::size_t i = 0; i < embedded_networks().size(); ++i) {
    const Checkpoint& known = checkpoints()[i];
    if (known.name.empty() || (!organisation.empty() && known.organisation != organisation)) continue;
    const EmbeddedFile& file = embedded_networks()[i];
    if (known.name == checkpoint || stem(file.name) == checkpoint) return &file;
    if (base == nullptr &&
        (base_name(known.name) == base_name(checkpoint) || base_name(stem(file.name)) == base_name(checkpoint)))
      base = &file;
  }
  return base;
}

// Why a name is not found, and what to do: near names, or where a checkpoint's configuration lies.
Error unknown_network(std::string_view name) {
  constexpr std::size_t kMostNames = 6;
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_networks()) names.emplace_back(stem(file.name));
  std::string near = did_you_mean(lower(name), names);
  if (near.empty() && !name.empty()) {
    std::size_t count = 0;
    for (const std::string& other : names) {
      if (other.find(lower(name)) == std::string::npos && other.substr(0, 4) != lower(name).substr(0, 4)) continue;
      if (++count > kMostNames) break;
      near += (near.empty() ? "; near: " : ", ") + other;
    }
  }
  const bool is_id = std::count(name.begin(), name.end(), '/') == 1 && name.find('.') == std::string_view::npos;
  if (is_id && near.empty()) near = "; of a checkpoint on Hugging Face, save its config.json and give that file";
  return not_found(in_quotes(name) + " is neither a file nor a shipped network" + near +
                   " (forerun networks lists them)");
}

ShippedNetwork describe(const EmbeddedFile& file) {
  ShippedNetwork row;
  row.name = std::string(stem(file.name));
  if (file.name.ends_with(".onnx")) {
    row.architecture = "onnx";
    row.task = "vision";
    constexpr std::array<std::string_view, 4> kOwn = {"resnet50", "yolo-s", "unet", "ddpm-unet"};
    const bool is_own = std::find(kOwn.begin(), kOwn.end(), row.name) != kOwn.end();
    row.license = is_own ? "Apache-2.0" : "BSD-3-Clause";
    row.source = is_own ? "weight-free graph made by this project" : "weight-free graph of torchvision's network";
    return row;
  }
  const auto json = parse_json_text(file.bytes, std::string(file.name));
  if (!json) return row;
  row.architecture = json->value("model_type", "");
  const Json facts = json->value("forerun", Json::object());
  row.task = facts.value("task", json->value("forerun_task", ""));
  row.license = facts.value("license", "");
  row.source = facts.value("source", "");
  if (facts.contains("published_parameters"))
    row.published_parameters = facts["published_parameters"].get<std::int64_t>();
  return row;
}

}  // namespace

const std::vector<ShippedNetwork>& list_networks() {
  static const std::vector<ShippedNetwork> kList = [] {
    std::vector<ShippedNetwork> list;
    for (const EmbeddedFile& file : embedded_networks()) list.push_back(describe(file));
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return list;
  }();
  return kList;
}

bool is_shipped_network(std::string_view name) { return find_file(name) != nullptr; }

std::string_view network_text(std::string_view name) {
  const EmbeddedFile* file = find_file(name);
  return file != nullptr && file->name.ends_with(".json") ? file->bytes : std::string_view{};
}

Result<std::unique_ptr<Network>> find_network(std::string_view name) {
  const EmbeddedFile* file = find_file(name);
  if (file == nullptr) return unknown_network(name);
  const std::string own(stem(file->name));
  if (file->name.ends_with(".onnx")) return read_onnx(file->bytes, own, {});
  FORERUN_TRY(Json config, parse_json_text(file->bytes, own));
  std::vector<std::string> notes;
  const std::string source = config.value("forerun", Json::object()).value("source", "");
  if (own != name) notes.push_back(in_quotes(name) + " is read as the shipped " + own + " (" + source + ")");
  return make_huggingface_network(std::move(config), own, "huggingface", std::nullopt, std::move(notes));
}

}  // namespace forerun
