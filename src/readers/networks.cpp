#include "readers/networks.hpp"

#include <algorithm>
#include <span>

#include "base/embedded.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "readers/json_text.hpp"
#include "readers/onnx/onnx_reader.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_networks();  // data/networks

namespace {

std::string_view stem(std::string_view file) { return file.substr(0, file.rfind('.')); }

const EmbeddedFile* find_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_networks()) {
    if (stem(file.name) == name) return &file;
  }
  return nullptr;
}

ShippedNetwork describe(const EmbeddedFile& file) {
  ShippedNetwork row;
  row.name = std::string(stem(file.name));
  if (file.name.ends_with(".onnx")) {
    row.architecture = "onnx";
    row.task = "vision";
    row.license = "Apache-2.0";
    row.source = "weight-free graph made by this project";
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
  if (file == nullptr) {
    std::string near;
    for (const EmbeddedFile& candidate : embedded_networks()) {
      const std::string_view other = stem(candidate.name);
      if (!name.empty() && (other.find(name) != std::string_view::npos || other.substr(0, 4) == name.substr(0, 4))) {
        near += (near.empty() ? "; near: " : ", ") + std::string(other);
      }
    }
    return not_found("'" + std::string(name) + "' is neither a file nor a shipped network" + near +
                     " (forerun networks lists them)");
  }
  if (file->name.ends_with(".onnx")) return read_onnx(file->bytes, std::string(name), {});
  FORERUN_TRY(Json config, parse_json_text(file->bytes, std::string(name)));
  return make_huggingface_network(std::move(config), std::string(name), "huggingface");
}

}  // namespace forerun
