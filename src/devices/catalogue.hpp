// The catalogue: data/devices compiled into the program, then the user's own files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "devices/device.hpp"

namespace forerun {

class Catalogue {
 public:
  // The shipped devices, plus *.json of the user's folder ($XDG_CONFIG_HOME or ~/.config)/forerun/devices when it
  // exists. A file there that cannot be used is left out and named in problems().
  static Result<Catalogue> load();

  // Adds or replaces a device from a file. Errors name the file and the key.
  Status add_file(const std::string& path);
  // The same from the text of such a file; `source` names it in errors.
  Status add(std::string_view text, const std::string& source);

  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }
  // Files of the user's folder that were left out, and why; without the folder's path.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  // Set where a file of the user's stands in for a shipped device, for this device or a slice of it.
  [[nodiscard]] std::optional<std::string> note_of(const Device& device) const;
  // By id, then by alias; case, spaces and punctuation do not matter. "ID:PROFILE" names a MIG slice.
  // Errors: unknown (with the nearest names), ambiguous (with the candidates).
  [[nodiscard]] Result<Device> find(std::string_view name) const;

  // The device's description as one JSON object on one line: the content of its file, with a MIG slice's shares.
  // REQUIRES: the device is of this catalogue, or a slice of one that is.
  [[nodiscard]] std::string describe(const Device& device) const;

 private:
  std::vector<Device> devices_;  // sorted by id
  std::vector<std::string> problems_;
  std::map<std::string, std::string> own_texts_;  // descriptions of added devices, by id
};

// One device from JSON text; `place` names the source in errors.
Result<Device> parse_device(std::string_view json, const std::string& place);
// The JSON text of a shipped device, nullptr when it is not shipped.
[[nodiscard]] const std::string_view* shipped_device_json(std::string_view id);

}  // namespace forerun
