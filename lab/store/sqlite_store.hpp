// The SQLite back end: one file in WAL mode.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace forerun {

Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, OpenMode mode);

}  // namespace forerun
