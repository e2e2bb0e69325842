// A language model from a GGUF file: tokenizer, decoder, and the hash by which bundles name it. Weights are the user's:
// measuring/fetch_language_model.py puts them where language_model_path() says.
#pragma once

#include <filesystem>
#include <string>

#include "predictors/hybrid/decoder.hpp"
#include "predictors/hybrid/tokenizer.hpp"

namespace forerun {

struct LanguageModel {
  Tokenizer tokenizer;
  Decoder decoder;
  std::string sha256;  // of the file
};

inline constexpr std::size_t kMostPromptBytes = 8192;

[[nodiscard]] std::filesystem::path language_model_path();
[[nodiscard]] Result<LanguageModel> load_language_model(const std::string& path);
// REQUIRES: `bytes` is a whole file; `what` names it in errors.
[[nodiscard]] Result<LanguageModel> parse_language_model(std::string_view bytes, const std::string& what);

}  // namespace forerun
