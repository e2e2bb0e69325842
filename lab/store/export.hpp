// The store's rows as CSV or JSON lines. Importing what was exported gives the same rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "store/store.hpp"

namespace forerun {

using TextSink = std::function<Status(std::string_view)>;

// Return the number of rows written. CSV reads the rows twice: first for the names of the columns.
Result<std::int64_t> export_csv(Store& store, const StoreFilter& filter, const TextSink& write);
Result<std::int64_t> export_json_lines(Store& store, const StoreFilter& filter, const TextSink& write);

}  // namespace forerun
