// --runtime: its values, and the names of runtimes that are refused with the nearest one.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "service/request.hpp"

namespace forerun {

inline constexpr std::string_view kRuntimeChoices = "eager|graph|compiled|engine";
Status set_runtime(Request& request, std::string_view text);

}  // namespace forerun
