// GGUF (llama.cpp): the metadata gives the architecture, which is expanded like a Hugging Face configuration; the
// tensor list gives every weight its exact type and bytes.
#pragma once

#include <memory>

#include "readers/format.hpp"

namespace forerun {

bool is_gguf(const Source& source);
// A repository with a config.json whose only weights are one GGUF file: the file describes the network as well.
bool is_gguf_folder(const Source& source);
Result<std::unique_ptr<Network>> read_gguf_folder_source(const Source& source);
Result<std::unique_ptr<Network>> read_gguf_source(const Source& source);

}  // namespace forerun
