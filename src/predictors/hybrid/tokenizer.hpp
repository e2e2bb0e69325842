// Byte-level BPE as GPT-2 defined it, from the vocabulary and merges in a GGUF file's metadata.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "readers/gguf/gguf_file.hpp"

namespace forerun {

using TokenId = std::int32_t;

class Tokenizer {
 public:
  // REQUIRES: `file` was parsed with GgufKeep::Arrays. Errors: another kind of tokenizer, or no vocabulary.
  static Result<Tokenizer> from_gguf(const GgufFile& file);

  // Control tokens such as "<|im_start|>" are recognised in the text. Bytes that are not UTF-8 count as one code point
  // each.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const;
  [[nodiscard]] std::string decode(const std::vector<TokenId>& ids) const;
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  [[nodiscard]] TokenId end_of_text() const { return end_; }

 private:
  void encode_plain(std::string_view text, std::vector<TokenId>& ids) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;

  std::vector<std::string> tokens_;  // bytes are written as GPT-2's printable characters, control tokens as they are
  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_map<std::string, std::size_t> ranks_;  // "left right" -> order of the merge
  std::vector<TokenId> control_;
  bool splits_digits_ = false;
  TokenId end_ = -1;
};

}  // namespace forerun
