// PaddlePaddle's inference files: ProgramDesc (.pdmodel) and PIR (.json), alone or in a folder with their .pdiparams.
// Weights are never read: their shapes are in the program.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "readers/format.hpp"

namespace forerun {

[[nodiscard]] bool is_paddle_program(const Source& source);
[[nodiscard]] bool is_paddle_pir(const Source& source);
[[nodiscard]] bool is_paddle_folder(const Source& source);
[[nodiscard]] bool is_paddle_weights(const Source& source);
Result<std::unique_ptr<Network>> read_paddle_program_source(const Source& source);
Result<std::unique_ptr<Network>> read_paddle_pir_source(const Source& source);
Result<std::unique_ptr<Network>> read_paddle_folder_source(const Source& source);
Result<std::unique_ptr<Network>> read_paddle_weights_source(const Source& source);

// Reads a program from memory; `name` is the file's, for messages.
Result<std::unique_ptr<Network>> read_paddle(std::string_view bytes, const std::string& name, bool is_pir);

}  // namespace forerun
