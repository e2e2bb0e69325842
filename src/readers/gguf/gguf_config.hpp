// GGUF's metadata restated as a Hugging Face configuration, and names of weights translated.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "readers/gguf/gguf_file.hpp"
#include "readers/json_text.hpp"

namespace forerun {

// nullopt, with the reason, for an architecture that has no counterpart or lacks its sizes.
[[nodiscard]] std::optional<Json> config_of_gguf(const GgufFile& file, std::string& reason);

// "model.layers.3.self_attn.q_proj" -> "blk.3.attn_q". norms_outputs: the file has norms after attention and MLP.
[[nodiscard]] std::string gguf_name(std::string_view module, bool norms_outputs);

}  // namespace forerun
