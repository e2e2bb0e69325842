#include "base/printable.hpp"

#include <algorithm>
#include <cstddef>

namespace forerun {
namespace {

// Length of the UTF-8 sequence that starts at text[at]; 0 when there is none (overlong forms and surrogates included).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
      (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return length;
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size();) {
    if (is_plain(result[i])) {
      ++i;
      continue;
    }
    const std::size_t length = sequence_length(result, i);
    if (length == 0) result[i] = '?';
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace forerun
