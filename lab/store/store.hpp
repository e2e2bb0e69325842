// Where measurements are kept: one schema, two back ends (a SQLite file, a PostgreSQL database).
// Every writing call is one transaction: all of it is kept or nothing. Several processes may write at once; one Store
// object belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "records/measurement.hpp"

namespace forerun {

// An empty text means "any". (Members have initializers so that designated ones may leave them out.)
struct StoreFilter {
  std::string campaign = {};
  std::string device = {};
  std::string network = {};
  std::string family = {};
  std::string workload_hash = {};
  std::string status = {};
  std::map<std::string, std::string> settings = {};  // each must be there and equal
  std::size_t limit = 0;                             // 0: no limit
};

struct CampaignSummary {
  std::string campaign = {};
  std::string device = {};
  std::string license = {};
  std::int64_t rows = 0;
  std::int64_t ok_rows = 0;
  std::int64_t networks = 0;
  std::string first_measured_at = {};
  std::string last_measured_at = {};
};

struct StoreStats {
  int schema_version = 0;
  std::string backend = {};  // "sqlite", "postgresql"
  std::int64_t rows = 0;
  std::int64_t ok_rows = 0;
  std::int64_t hashed_rows = 0;  // rows that a workload can be matched with
  std::int64_t campaigns = 0;
  std::int64_t devices = 0;
  std::int64_t networks = 0;
};

// One file taken in. A state left at "running" is an import that was interrupted: its rows are whole, some are missing.
struct ImportRecord {
  std::string campaign = {};
  std::string source = {};
  std::int64_t rows = 0;
  std::string state = {};  // "running", "complete"
  std::string at = {};     // ISO time of the last change
};

class Store {
 public:
  virtual ~Store() = default;

  // Inserts rows, or replaces those with the same (campaign, row_id, device). Rows must pass check_row().
  [[nodiscard]] virtual Status upsert(std::span<const Measurement> rows) = 0;
  // Calls `visit` for each matching row, ordered by campaign, device, row_id; an error of `visit` ends it.
  [[nodiscard]] virtual Status visit(const StoreFilter& filter,
                                     const std::function<Status(const Measurement&)>& visit) = 0;
  [[nodiscard]] virtual Result<StoreStats> stats() = 0;
  [[nodiscard]] virtual Result<std::vector<CampaignSummary>> campaigns() = 0;
  [[nodiscard]] virtual Status note_import(const ImportRecord& record) = 0;
  [[nodiscard]] virtual Result<std::vector<ImportRecord>> imports() = 0;

  [[nodiscard]] Result<std::vector<Measurement>> query(const StoreFilter& filter);
  // The newest successful measurement of exactly this workload on this device; every pair of `settings` must agree.
  [[nodiscard]] Result<std::optional<Measurement>> find_exact(const std::string& workload_hash,
                                                              const std::string& device,
                                                              const std::map<std::string, std::string>& settings = {});
};

enum class OpenMode { Read, Write };  // Write creates what is missing and migrates an older schema

// URL: postgresql://… or postgres://…, sqlite:PATH, or a PATH.
Result<std::unique_ptr<Store>> open_store(const std::string& url, OpenMode mode);

// What a row needs to be kept: a key, finite metrics, valid UTF-8 without zero bytes.
Status check_row(const Measurement& row);

// Now, as "2026-11-15T03:04:05Z".
[[nodiscard]] std::string now_iso();

}  // namespace forerun
