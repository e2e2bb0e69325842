// The PostgreSQL back end, for a store that several machines share.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace forerun {

Result<std::unique_ptr<Store>> open_postgres(const std::string& url, OpenMode mode);

}  // namespace forerun
