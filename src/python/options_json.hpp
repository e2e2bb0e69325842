// The option table as JSON text, for the functions' help.
#pragma once

#include <string>

namespace forerun::python {

// Rows: key, type, commands, help, choices.
[[nodiscard]] std::string options_json();

}  // namespace forerun::python
