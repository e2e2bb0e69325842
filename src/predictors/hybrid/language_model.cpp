#include "predictors/hybrid/language_model.hpp"

#include "base/mapped_file.hpp"
#include "base/sha256.hpp"
#include "base/user_folder.hpp"

namespace forerun {

std::filesystem::path language_model_path() { return user_folder() / "language" / "SmolLM2-135M-Instruct.gguf"; }

Result<LanguageModel> parse_language_model(std::string_view bytes, const std::string& what) {
  const auto named = [&](const Error& error) { return Error{error.kind, what + ": " + error.message}; };
  FORERUN_TRY(const GgufFile file, parse_gguf(bytes, what, GgufKeep::Arrays));
  auto tokenizer = Tokenizer::from_gguf(file);
  if (!tokenizer) return named(tokenizer.error());
  auto decoder = decoder_from_gguf(bytes, file);
  if (!decoder) return named(decoder.error());
  if (std::int64_t(tokenizer->size()) > decoder->shape.vocabulary)
    return bad_input(what + ": the vocabulary has more tokens than the decoder has rows");
  return LanguageModel{std::move(*tokenizer), std::move(*decoder), sha256(bytes)};
}

Result<LanguageModel> load_language_model(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return not_found(path + ": no such file; python3 measuring/fetch_language_model.py fetches the weights");
  }
  FORERUN_TRY(const MappedFile file, MappedFile::open(path));
  return parse_language_model(file.bytes(), path);
}

}  // namespace forerun
