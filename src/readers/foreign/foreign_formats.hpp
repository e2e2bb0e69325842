// Files of other programs: named for what they are and refused with what to do instead.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "readers/format.hpp"

namespace forerun {

// The error for a file of a format that is known and not read; nullopt: not known either.
[[nodiscard]] std::optional<Error> refuse_foreign(const Source& source);

}  // namespace forerun
