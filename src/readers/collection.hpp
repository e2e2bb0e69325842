// A folder or an archive that is no network itself: the one network in it is found and read; several are a choice that
// the user has to make.
#pragma once

#include "readers/format.hpp"

namespace forerun {

[[nodiscard]] bool is_packed(const Source& source);  // a zip or tar archive, or a compressed file
Result<std::unique_ptr<Network>> read_packed_source(const Source& source);

[[nodiscard]] bool is_collection(const Source& source);  // any folder with a file that may be a network
Result<std::unique_ptr<Network>> read_collection_source(const Source& source);

}  // namespace forerun
