// forerun-lab decode: a language model's greedy continuation of a text, to try the weights that the hybrid builds on.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "predictors/hybrid/language_model.hpp"

namespace forerun {
namespace {

struct DecodeOptions {
  std::string weights, prompt;
  std::int64_t tokens = 64;
  bool chat = false, json = false;
};

Status decode(const DecodeOptions& options) {
  if (options.prompt.empty() || options.prompt.size() > kMostPromptBytes)
    return bad_input(fmt::format("--prompt takes 1 to {} bytes", kMostPromptBytes));
  FORERUN_TRY(const LanguageModel model,
              load_language_model(options.weights.empty() ? language_model_path().string() : options.weights));
  const std::string text =
      options.chat ? "<|im_start|>user\n" + options.prompt + "<|im_end|>\n<|im_start|>assistant\n" : options.prompt;
  const std::vector<TokenId> ids = model.tokenizer.encode(text);
  if (ids.empty()) return bad_input("the vocabulary has no token for this text");
  Decoding decoding(model.decoder);
  FORERUN_TRY(const std::vector<TokenId> decoded,
              decode_greedily(decoding, decoding.embed(ids), options.tokens, model.tokenizer.end_of_text()));
  if (options.json) {
    const nlohmann::json answer = {{"ids", ids}, {"decoded", decoded}, {"sha256", model.sha256}};
    std::printf("%s\n", answer.dump().c_str());
  } else {
    std::printf("%s\n", model.tokenizer.decode(decoded).c_str());
  }
  return ok();
}

}  // namespace

LabAction declare_decode(CLI::App& app) {
  auto options = std::make_shared<DecodeOptions>();
  app.add_option("--prompt", options->prompt, "Text to continue")->required();
  app.add_option("--weights", options->weights,
                 "GGUF file of a llama (default: where measuring/fetch_language_model.py puts it)");
  app.add_option("--tokens", options->tokens, "At most so many tokens (default 64)")->check(CLI::Range(1, 4096));
  app.add_flag("--chat", options->chat, "Put the text into SmolLM2's chat template");
  app.add_flag("--json", options->json, "Print the ids of tokens as JSON");
  return [options] { return decode(*options); };
}

}  // namespace forerun
