// Names from files made safe to print: valid UTF-8 on one line. Bytes that are not become '?'.
#pragma once

#include <string>
#include <string_view>

namespace forerun {

[[nodiscard]] std::string printable(std::string_view text);

}  // namespace forerun
