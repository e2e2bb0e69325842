// An exported program as a network: its free dimensions are bound first, then every operator is translated.
#pragma once

#include <memory>
#include <string>

#include "readers/format.hpp"
#include "readers/torch/exported_program.hpp"

namespace forerun::pytorch {

Result<std::unique_ptr<Network>> make_exported_network(ExportedProgram program, std::string name, std::string what);

}  // namespace forerun::pytorch
