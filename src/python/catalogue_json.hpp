// What can be asked about, as JSON text: devices, networks, predictors, options.
#pragma once

#include <string>

#include "service/service.hpp"

namespace forerun::python {

[[nodiscard]] std::string devices_json(const Service& service);
// One device by id, alias or ID:PROFILE.
Result<std::string> device_json(const Service& service, const std::string& name);
[[nodiscard]] std::string networks_json();
[[nodiscard]] std::string predictors_json(const Service& service);
// Rows of the option table: key, type, commands, help, choices.
[[nodiscard]] std::string options_json();

}  // namespace forerun::python
