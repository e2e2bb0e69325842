#include "readers/printable.hpp"

#include <cstddef>

namespace forerun {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  const bool cut = text.size() > kLongest;
  return "'" + printable(text.substr(0, kLongest)) + (cut ? "…'" : "'");
}

}  // namespace forerun
