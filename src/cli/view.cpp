#include "cli/view.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace forerun {
namespace {

constexpr int kNarrowest = 40;
constexpr char kEscape = '\x1b';

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0;
}

// Length of the terminal's code that starts at `at`; 0: none does.
std::size_t code_length(std::string_view text, std::size_t at) {
  if (text[at] != kEscape) return 0;
  const std::size_t end = text.find('m', at);
  return end == std::string_view::npos ? 0 : end - at + 1;
}

// Where the rest of a line goes: below the text of an option's help, else two further in.
std::size_t continuation(std::string_view line, std::size_t indent) {
  if (line.substr(indent, 1) != "-") return indent + 2;
  const std::size_t gap = line.find("  ", indent);
  const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string_view::npos ? indent + 2 : text;
}

void wrap_line(std::string_view line, std::size_t width, std::string& out) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string margin(std::min(continuation(line, indent), width / 2), ' ');
  std::string rest(line);
  while (width_of(rest) > width) {
    std::size_t at = 0, used = 0, space = std::string::npos;
    while (at < rest.size() && used <= width) {
      if (const std::size_t code = code_length(rest, at); code > 0) {
        at += code;
        continue;
      }
      if (rest[at] == ' ' && at > margin.size()) space = at;
      ++at;
      while (at < rest.size() && (static_cast<unsigned char>(rest[at]) & 0xC0U) == 0x80U) ++at;
      ++used;
    }
    if (space == std::string::npos) break;  // one long word
    out += rest.substr(0, space) + "\n";
    rest = margin + rest.substr(rest.find_first_not_of(' ', space));
  }
  out += rest;
}

}  // namespace

View view_of(const std::ostream& out) {
  View view;
  if (&out != &std::cout) return view;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) view.width = std::atoi(columns);
  if (::isatty(STDOUT_FILENO) == 1) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) view.width = size.ws_col;
    const char* terminal = std::getenv("TERM");
    view.is_coloured = !is_set("NO_COLOR") && (terminal == nullptr || std::string_view(terminal) != "dumb");
  }
  if (view.width > 0) view.width = std::max(kNarrowest, view.width);
  return view;
}

std::string coloured(const View& view, Colour colour, std::string_view text) {
  constexpr std::string_view kCodes[] = {"", "32", "31", "2", "1"};
  if (!view.is_coloured || colour == Colour::Plain) return std::string(text);
  return std::string(1, kEscape) + "[" + std::string(kCodes[std::size_t(colour)]) + "m" + std::string(text) + kEscape +
         "[0m";
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const std::size_t code = code_length(text, at); code > 0) {
      at += code - 1;
    } else if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) {
      ++width;
    }
  }
  return width;
}

std::string wrapped(const View& view, std::string_view text) {
  if (view.width <= 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(text.substr(0, end), std::size_t(view.width), out);
    if (end < text.size()) out += "\n";
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

}  // namespace forerun
