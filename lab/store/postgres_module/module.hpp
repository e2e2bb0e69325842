// What the program and its PostgreSQL module agree on. Both are always built from the same sources.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "store/store.hpp"

namespace forerun {

inline constexpr const char* kPostgresModule = "libforerun_postgres.so";
inline constexpr const char* kPostgresEntry = "forerun_open_postgres";
using OpenPostgres = void (*)(const std::string& url, OpenMode mode, Result<std::unique_ptr<Store>>& store);

}  // namespace forerun
