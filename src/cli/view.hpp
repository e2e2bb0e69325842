// How a report is shown: width and colours of the terminal, columns asked for.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace forerun {

struct View {
  int width = 0;  // columns of the terminal; 0: as wide as the text is
  bool is_coloured = false;
  bool explain = false;
  std::vector<std::string> columns = {};  // keys; empty: those that fit
};

// Of the program's standard output: the terminal's width and colours (NO_COLOR, TERM=dumb), else the width of COLUMNS
// when that is exported. Other streams: as wide as the text is, no colours.
[[nodiscard]] View view_of(const std::ostream& out);

enum class Colour { Plain, Good, Bad, Dim, Strong };
// Wrapped in the terminal's codes where the view is coloured.
[[nodiscard]] std::string coloured(const View& view, Colour colour, std::string_view text);

// Columns a text takes: one for each character, none for the terminal's codes.
[[nodiscard]] std::size_t width_of(std::string_view text);
// Breaks lines longer than the view at spaces; what follows is indented as the line was, and by two.
[[nodiscard]] std::string wrapped(const View& view, std::string_view text);

}  // namespace forerun
