#include "devices/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>

#include "base/embedded.hpp"
#include "base/mapped_file.hpp"
#include "base/nearest.hpp"
#include "base/user_folder.hpp"
#include "devices/architecture.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_devices();  // generated from data/devices

namespace {

// Letters and digits in lower case: "NVIDIA A100-SXM4-40GB" and "nvidia a100 sxm4 40gb" are the same name.
std::string normalize(std::string_view name) {
  std::string result;
  for (const unsigned char c : name) {
    if (std::isalnum(c) != 0) result += char(std::tolower(c));
  }
  return result;
}

std::string join(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += (result.empty() ? "" : ", ") + name;
  return result;
}

}  // namespace

Result<Catalogue> Catalogue::load() {
  Catalogue catalogue;
  if (const auto& architectures = load_architectures(); !architectures) return architectures.error();
  for (const EmbeddedFile& file : embedded_devices()) {
    FORERUN_TRY(Device device, parse_device(file.bytes, std::string(file.name)));
    catalogue.devices_.push_back(std::move(device));
  }
  std::sort(catalogue.devices_.begin(), catalogue.devices_.end(),
            [](const Device& a, const Device& b) { return a.id < b.id; });
  std::error_code ignored;
  const std::filesystem::path folder = user_folder() / "devices";
  if (!user_folder().empty() && std::filesystem::is_directory(folder, ignored)) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& path : files) {
      const std::string name = std::filesystem::path(path).filename().string() + " of your device folder";
      const Result<MappedFile> file = MappedFile::open(path);
      const Status added = file ? catalogue.add(file->bytes(), name) : Status(bad_input(name + ": cannot be read"));
      if (!added) catalogue.problems_.push_back("a device file is left out: " + added.error().message);
    }
  }
  return catalogue;
}

Status Catalogue::add_file(const std::string& path) {
  FORERUN_TRY(const MappedFile file, MappedFile::open(path));
  return add(file.bytes(), path);
}

std::optional<std::string> Catalogue::note_of(const Device& device) const {
  const std::string card = device.id.substr(0, device.slice.empty() ? std::string::npos : device.id.rfind(':'));
  if (!own_texts_.contains(card) || shipped_device_json(card) == nullptr) return std::nullopt;
  return "device '" + card + "' is the one of your own file, which stands in for the shipped one of that id";
}

Status Catalogue::add(std::string_view text, const std::string& source) {
  FORERUN_TRY(Device device, parse_device(text, source));
  own_texts_[device.id] = std::string(text);
  const auto place = std::lower_bound(devices_.begin(), devices_.end(), device,
                                      [](const Device& a, const Device& b) { return a.id < b.id; });
  if (place != devices_.end() && place->id == device.id) {
    *place = std::move(device);
  } else {
    devices_.insert(place, std::move(device));
  }
  return ok();
}

Result<Device> Catalogue::find(std::string_view name) const {
  constexpr std::size_t kMostName = 256;  // comparing it with every device takes time
  if (name.size() > kMostName) return not_found("unknown device '" + std::string(name.substr(0, 64)) + "…'");
  const std::string_view whole = name;
  std::string_view profile;
  if (const std::size_t colon = name.rfind(':');
      colon != std::string_view::npos && name.find("g.", colon) != std::string_view::npos) {
    profile = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  const std::string wanted = normalize(name);
  std::vector<const Device*> found;
  for (const Device& device : devices_) {
    if (normalize(device.id) == wanted) found = {&device};
    if (!found.empty() && found.front()->id == device.id) break;
  }
  if (found.empty()) {
    for (const Device& device : devices_) {
      const bool match = normalize(device.name) == wanted ||
                         std::any_of(device.aliases.begin(), device.aliases.end(),
                                     [&](const std::string& alias) { return normalize(alias) == wanted; });
      if (match) found.push_back(&device);
    }
  }
  if (found.empty()) {
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const Device& device : devices_) near.emplace_back(edit_distance(normalize(device.id), wanted), device.id);
    std::sort(near.begin(), near.end());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, near.size()); ++i) names.push_back(near[i].second);
    return not_found("unknown device '" + std::string(whole) + "'; nearest: " + join(names) +
                     " (forerun devices lists all)" + (problems_.empty() ? "" : "; " + problems_.front()));
  }
  if (found.size() > 1) {
    std::vector<std::string> names;
    for (const Device* device : found) names.push_back(device->id);
    return bad_input("device '" + std::string(name) + "' is ambiguous; it may be: " + join(names));
  }
  if (profile.empty()) return *found.front();
  std::vector<std::string> profiles;
  for (const MigProfile& candidate : found.front()->mig) {
    if (candidate.profile == profile) return slice_of(*found.front(), candidate);
    profiles.push_back(candidate.profile);
  }
  return bad_input("device '" + found.front()->id + "' has no MIG profile '" + std::string(profile) + "'" +
                   (profiles.empty() ? "" : "; it has: " + join(profiles)));
}

const std::string_view* shipped_device_json(std::string_view id) {
  for (const EmbeddedFile& file : embedded_devices()) {
    if (file.name.substr(0, file.name.size() - 5) == id) return &file.bytes;
  }
  return nullptr;
}

}  // namespace forerun
