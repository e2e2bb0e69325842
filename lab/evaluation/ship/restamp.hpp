// Gives a bundle the hashes of this program's features without training it again: for when the sample that is hashed
// changed and the features did not.
#pragma once

#include <string>

#include "base/result.hpp"
#include "bundle/bundle.hpp"

namespace forerun {

// The bundle's bytes with other hashes in its manifest and nothing else changed. The caller answers for what the guard
// would have held: that the features are those it was trained on.
[[nodiscard]] Result<std::string> restamp(const Bundle& bundle);

}  // namespace forerun
