#include "predictors/hybrid/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "predictors/hybrid/unicode_classes.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxToken = 4096;                 // bytes
constexpr std::int64_t kControl = 3, kUserDefined = 4;  // ggml's types of tokens that text is searched for

// How the text is cut into words first: digits one by one or together.
struct Cut {
  std::string_view name;
  bool splits_digits;
};
constexpr std::array kCuts = {Cut{"smollm", true}, Cut{"gpt-2", false}, Cut{"", false}};

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
};
CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (length <= 1 || at + length > text.size()) return {first, 1};
  std::uint32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return {first, 1};
    value = value << 6 | (byte(i) & 63U);
  }
  return {value, length};
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += char(c);
  } else {  // GPT-2's alphabet ends at U+0143
    out += char(0xC0 | c >> 6);
    out += char(0x80 | (c & 63));
  }
}

// GPT-2 writes each byte as a printable character: itself where that is one, else the next above U+00FF.
std::array<std::uint32_t, 256> make_alphabet() {
  std::array<std::uint32_t, 256> alphabet{};
  std::uint32_t next = 256;
  for (std::uint32_t b = 0; b < 256; ++b) {
    const bool is_printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    alphabet[b] = is_printable ? b : next++;
  }
  return alphabet;
}
const std::array<std::uint32_t, 256>& alphabet() {
  static const auto kAlphabet = make_alphabet();
  return kAlphabet;
}

enum class Class { Letter, Number, Space, Other, End };
struct Cursor {
  std::string_view text;
  std::size_t at = 0;
  [[nodiscard]] Class kind(std::size_t where) const {
    if (where >= text.size()) return Class::End;
    const std::uint32_t c = code_point_at(text, where).value;
    return is_letter(c) ? Class::Letter : is_number(c) ? Class::Number : is_space(c) ? Class::Space : Class::Other;
  }
  [[nodiscard]] std::size_t end_of(Class wanted, std::size_t where) const {
    while (kind(where) == wanted) where += code_point_at(text, where).bytes;
    return where;
  }
};

// The next word of GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t end_of_word(const Cursor& cursor) {
  constexpr std::array<std::string_view, 7> kEndings = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  const std::string_view rest = cursor.text.substr(cursor.at);
  for (const std::string_view ending : kEndings) {
    if (rest.starts_with(ending)) return cursor.at + ending.size();
  }
  const std::size_t start = cursor.at + (rest.front() == ' ' ? 1 : 0);
  const Class first = cursor.kind(start);
  if (first != Class::Space && first != Class::End) return cursor.end_of(first, start);
  const std::size_t end = cursor.end_of(Class::Space, cursor.at);
  if (end == cursor.text.size()) return end;
  // The last space belongs to what follows, unless it is the only one.
  std::size_t last = cursor.at;
  for (std::size_t at = cursor.at; at < end; at += code_point_at(cursor.text, at).bytes) last = at;
  return last == cursor.at ? end : last;
}

}  // namespace

Result<Tokenizer> Tokenizer::from_gguf(const GgufFile& file) {
  const std::string model = file.text("tokenizer.ggml.model"), pre = file.text("tokenizer.ggml.pre");
  const auto* cut = std::find_if(kCuts.begin(), kCuts.end(), [&](const Cut& row) { return row.name == pre; });
  if (model != "gpt2" || cut == kCuts.end()) {
    return bad_input("a tokenizer of kind " + in_quotes(model) + ", pre-tokenizer " + in_quotes(pre) +
                     ", is not known: byte-level BPE as of GPT-2 and SmolLM is");
  }
  const GgufArray* tokens = file.array("tokenizer.ggml.tokens");
  const GgufArray* merges = file.array("tokenizer.ggml.merges");
  const GgufArray* types = file.array("tokenizer.ggml.token_type");
  if (tokens == nullptr || merges == nullptr || tokens->texts.empty() || std::int64_t(tokens->texts.size()) > (1 << 22))
    return bad_input("the file's tokenizer has no vocabulary or no merges");
  Tokenizer made;
  made.splits_digits_ = cut->splits_digits;
  for (std::size_t i = 0; i < tokens->texts.size(); ++i) {
    const std::string_view text = tokens->texts[i];
    if (text.size() > kMaxToken) return bad_input("a token of the vocabulary is longer than any word");
    made.tokens_.emplace_back(text);
    made.ids_.emplace(text, TokenId(i));
    const std::int64_t type = types != nullptr && i < types->integers.size() ? types->integers[i] : 1;
    if ((type == kControl || type == kUserDefined) && !text.empty()) made.control_.push_back(TokenId(i));
  }
  // Longer ones first: one may begin with another.
  std::stable_sort(made.control_.begin(), made.control_.end(), [&](TokenId a, TokenId b) {
    return made.tokens_[std::size_t(a)].size() > made.tokens_[std::size_t(b)].size();
  });
  for (std::size_t i = 0; i < merges->texts.size(); ++i) made.ranks_.emplace(merges->texts[i], i);
  const std::int64_t end = file.integer("tokenizer.ggml.eos_token_id", -1);
  made.end_ = end >= 0 && end < std::int64_t(made.tokens_.size()) ? TokenId(end) : -1;
  return made;
}

void Tokenizer::encode_word(std::string_view word, std::vector<TokenId>& ids) const {
  std::vector<std::string> parts;
  for (const char c : word) append_utf8(parts.emplace_back(), alphabet()[static_cast<unsigned char>(c)]);
  while (parts.size() > 1) {
    std::size_t best = std::numeric_limits<std::size_t>::max(), where = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks_.find(parts[i] + ' ' + parts[i + 1]);
      if (found == ranks_.end() || found->second >= best) continue;
      best = found->second;
      where = i;
    }
    if (best == std::numeric_limits<std::size_t>::max()) break;
    parts[where] += parts[where + 1];
    parts.erase(parts.begin() + std::ptrdiff_t(where) + 1);
  }
  for (const std::string& part : parts) {
    if (const auto found = ids_.find(part); found != ids_.end()) ids.push_back(found->second);
  }
}

void Tokenizer::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
  const auto encode_piece = [&](std::string_view piece) {
    for (Cursor cursor{piece}; cursor.at < piece.size();) {
      const std::size_t end = end_of_word(cursor);
      encode_word(piece.substr(cursor.at, end - cursor.at), ids);
      cursor.at = end;
    }
  };
  if (!splits_digits_) return encode_piece(text);
  // Digits are cut out before the pattern sees the text.
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (is_number(c.value)) {
      encode_piece(text.substr(start, at - start));
      encode_word(text.substr(at, c.bytes), ids);
      start = at + c.bytes;
    }
    at += c.bytes;
  }
  encode_piece(text.substr(start));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::find_if(control_.begin(), control_.end(),
                                    [&](TokenId id) { return text.substr(at).starts_with(tokens_[std::size_t(id)]); });
    if (found == control_.end()) {
      ++at;
      continue;
    }
    encode_plain(text.substr(start, at - start), ids);
    ids.push_back(*found);
    start = at += tokens_[std::size_t(*found)].size();
  }
  encode_plain(text.substr(start), ids);
  return ids;
}

std::string Tokenizer::decode(const std::vector<TokenId>& ids) const {
  std::unordered_map<std::uint32_t, char> bytes;
  for (std::size_t b = 0; b < 256; ++b) bytes.emplace(alphabet()[b], char(b));
  std::string text;
  for (const TokenId id : ids) {
    if (id < 0 || std::size_t(id) >= tokens_.size()) continue;
    const std::string& token = tokens_[std::size_t(id)];
    if (std::find(control_.begin(), control_.end(), id) != control_.end()) {
      text += token;
      continue;
    }
    for (std::size_t at = 0; at < token.size();) {
      const CodePoint c = code_point_at(token, at);
      if (const auto found = bytes.find(c.value); found != bytes.end()) text += found->second;
      at += c.bytes;
    }
  }
  return text;
}

}  // namespace forerun
