// Where measurements go when nobody says: $FORERUN_STORE, else a file in the current folder.
#pragma once

#include <string>

namespace forerun {

[[nodiscard]] std::string default_store();

}  // namespace forerun
