#include "base/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace forerun {
namespace {

// Length of the UTF-8 sequence at the text's start; 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool is_overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool is_surrogate = first == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_overlong = first == 0xF0 && byte(1) < 0x90;
    const bool is_too_large = first == 0xF4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !is_overlong && !is_too_large ? 4 : 0;
  }
  return 0;
}

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 && c != '"' && c != '\\';
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  quote(value);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::whole(std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return raw({digits.data(), std::size_t(end - digits.data())});
}

void JsonWriter::quote(std::string_view value) {
  out_ += '"';
  while (!value.empty()) {
    std::size_t plain = 0;
    while (plain < value.size() && is_plain(value[plain])) ++plain;
    out_ += value.substr(0, plain);
    value.remove_prefix(plain);
    if (value.empty()) break;
    const char c = value.front();
    std::size_t length = utf8_length(value);
    if (length > 1) {
      out_ += value.substr(0, length);
    } else if (length == 0) {
      out_ += "\xEF\xBF\xBD";
      length = 1;
    } else if (c == '"' || c == '\\') {
      (out_ += '\\') += c;
    } else {
      constexpr std::string_view kHex = "0123456789abcdef";
      switch (c) {
        case '\n': out_ += "\\n"; break;
        case '\r': out_ += "\\r"; break;
        case '\t': out_ += "\\t"; break;
        default:
          ((out_ += "\\u00") += kHex[static_cast<unsigned char>(c) >> 4U]) += kHex[static_cast<unsigned char>(c) & 15U];
      }
    }
    value.remove_prefix(length);
  }
  out_ += '"';
}

JsonWriter& JsonWriter::number(double value) {
  if (value == 0 || !std::isfinite(value)) return raw("0.0");
  constexpr int kDigits = 6;
  constexpr int kPlainBelow = 15;  // powers of ten written out
  constexpr int kPlainAbove = -5;
  // "-d.ddddde±xx": sign, digits and exponent apart.
  std::array<char, 40> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, kDigits - 1)
          .ptr;
  const std::string_view scientific(buffer.data(), std::size_t(end - buffer.data()));
  const std::size_t sign = scientific.front() == '-' ? 1 : 0;
  const std::size_t mark = scientific.find('e');
  int exponent = 0;
  const std::size_t exponent_at = mark + (scientific[mark + 1] == '+' ? 2 : 1);
  std::from_chars(scientific.data() + exponent_at, scientific.data() + scientific.size(), exponent);
  std::array<char, kDigits> digits{};
  digits[0] = scientific[sign];
  int count = kDigits;
  for (int i = 1; i < kDigits; ++i) digits[std::size_t(i)] = scientific[sign + 1 + std::size_t(i)];
  while (count > 1 && digits[std::size_t(count - 1)] == '0') --count;
  const std::string_view shown(digits.data(), std::size_t(count));

  separate();
  if (sign == 1) out_ += '-';
  if (exponent >= kPlainBelow || exponent < kPlainAbove) {
    out_ += shown[0];
    if (count > 1) (out_ += '.') += shown.substr(1);
    out_ += scientific.substr(mark);
  } else if (exponent < 0) {
    out_.append("0.").append(std::size_t(-exponent - 1), '0').append(shown);
  } else if (count <= exponent + 1) {
    out_.append(shown).append(std::size_t(exponent + 1 - count), '0').append(".0");
  } else {
    out_.append(shown.substr(0, std::size_t(exponent + 1))).append(".").append(shown.substr(std::size_t(exponent + 1)));
  }
  return *this;
}

}  // namespace forerun
