// Stored tensors of a GGUF file as floats: plain types and the block formats of ggml that weights are shipped in.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "readers/gguf/gguf_file.hpp"

namespace forerun {

// Whole blocks of `type_name` (readers/gguf/gguf_types.hpp) into `out`. Errors: a type without a rule here, or bytes
// that are not those of out.size() elements.
[[nodiscard]] Status dequantise(std::string_view type_name, std::string_view bytes, std::span<float> out);

// The bytes of a tensor. Errors: a tensor that lies outside of the file.
[[nodiscard]] Result<std::string_view> bytes_of(std::string_view file_bytes, const GgufFile& file,
                                                const GgufTensor& tensor);

}  // namespace forerun
