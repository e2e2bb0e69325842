// Files into the store: our campaigns' folders, JSON lines and CSV as exported, and the public data sets by their
// names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "records/measurement.hpp"
#include "store/store.hpp"

namespace forerun {

struct ImportProgress {
  std::string file;
  std::int64_t rows = 0;  // of this file, so far
};

struct ImportOptions {
  std::string format = {};    // a name of import_formats(); empty: found from each file's name and header
  std::string campaign = {};  // empty: the folder's campaign.json, its name, or the public data set's name
  std::string device = {};    // for campaigns whose rows do not say
  std::string license = {};
  std::size_t batch_rows = 5000;                             // rows per transaction
  std::function<void(Measurement&)> complete_row = {};       // e.g. adds the workload's hash
  std::function<void(const ImportProgress&)> progress = {};  // after each batch
};

struct ImportSummary {
  std::int64_t files = 0;
  std::int64_t rows = 0;
  std::vector<std::string> skipped;  // files of a folder that are not measurements
  // Rows whose campaign, id and device an earlier row of the same import had: the later one was kept.
  std::int64_t replaced = 0;
  std::vector<std::string> replaced_ids = {};  // the first few
};

// PATH is a file or a folder (not searched recursively; one without measurements imports 0 files). A file that fails
// ends the import; batches written before it stay, and importing again replaces them.
Result<ImportSummary> import_path(Store& store, const std::string& path, const ImportOptions& options);

[[nodiscard]] std::vector<std::string_view> import_formats();

}  // namespace forerun
