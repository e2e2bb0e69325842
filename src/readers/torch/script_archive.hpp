// What a TorchScript archive holds: the code, the module with its attributes, and its tensors with their names.
#pragma once

#include <string>

#include "base/zip.hpp"
#include "readers/torch/script_run.hpp"

namespace forerun::pytorch {

// `what` names the file in errors.
Result<ScriptProgram> read_script_program(ZipArchive& archive, const std::string& what);

}  // namespace forerun::pytorch
