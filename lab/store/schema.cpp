#include "store/schema.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "store/measurement_json.hpp"

namespace forerun {

// 1: the rows. 2: software versions apart from the settings; measured workloads are found by hash. 3: what was
// imported.
std::span<const Migration> migrations() {
  static const std::vector<Migration> kMigrations = {
      {1, {R"(CREATE TABLE forerun_measurements (
             campaign TEXT NOT NULL, row_id TEXT NOT NULL, device TEXT NOT NULL,
             network TEXT NOT NULL, family TEXT NOT NULL, graph TEXT NOT NULL, workload_hash TEXT NOT NULL,
             settings TEXT NOT NULL, metrics TEXT NOT NULL, status TEXT NOT NULL,
             source TEXT NOT NULL, license TEXT NOT NULL, measured_at TEXT NOT NULL,
             PRIMARY KEY (campaign, device, row_id)))"}},
      {2,
       {"ALTER TABLE forerun_measurements ADD COLUMN software TEXT NOT NULL DEFAULT '{}'",
        "CREATE INDEX forerun_measurements_by_workload ON forerun_measurements (workload_hash, device) "
        "WHERE workload_hash <> ''"}},
      {3,
       {"CREATE TABLE forerun_imports (campaign TEXT NOT NULL, source TEXT NOT NULL, rows BIGINT NOT NULL, "
        "state TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (campaign, source))"}},
  };
  return kMigrations;
}

int newest_schema_version() { return migrations().back().version; }

Status check_schema_version(int version, OpenMode mode, const std::string& where) {
  const int newest = newest_schema_version();
  if (version > newest) {
    return bad_input(fmt::format("{}: its schema is version {}, this program knows up to {}: use a newer one", where,
                                 version, newest));
  }
  if (version < newest && mode == OpenMode::Read) {
    return bad_input(
        fmt::format("{}: its schema is version {}, {} is needed: 'forerun-lab store stats --store {}' "
                    "brings it up to date",
                    where, version, newest, where));
  }
  return ok();
}

RowTexts texts_of(const Measurement& row) {
  return {row.campaign,
          row.row_id,
          row.device,
          row.network,
          row.family,
          row.graph,
          row.workload_hash,
          texts_to_json(row.settings),
          numbers_to_json(row.metrics),
          texts_to_json(row.software),
          row.status,
          row.source,
          row.license,
          row.measured_at};
}

Result<Measurement> row_of(RowTexts texts) {
  Measurement row;
  const auto damaged = [&texts](const char* column, const Error& error) {
    return Error{error.kind, fmt::format("the store is damaged: column {} of row '{}' of campaign '{}': {}; restore it "
                                         "from a copy, or import the campaign again",
                                         column, texts[1], texts[0], error.message)};
  };
  auto settings = texts_from_json(texts[7]);
  if (!settings) return damaged("settings", settings.error());
  auto metrics = numbers_from_json(texts[8]);
  if (!metrics) return damaged("metrics", metrics.error());
  auto software = texts_from_json(texts[9]);
  if (!software) return damaged("software", software.error());
  row.settings = *std::move(settings);
  row.metrics = *std::move(metrics);
  row.software = *std::move(software);
  row.campaign = std::move(texts[0]);
  row.row_id = std::move(texts[1]);
  row.device = std::move(texts[2]);
  row.network = std::move(texts[3]);
  row.family = std::move(texts[4]);
  row.graph = std::move(texts[5]);
  row.workload_hash = std::move(texts[6]);
  row.status = std::move(texts[10]);
  row.source = std::move(texts[11]);
  row.license = std::move(texts[12]);
  row.measured_at = std::move(texts[13]);
  return row;
}

std::string column_list() { return fmt::format("{}", fmt::join(kColumns, ", ")); }

std::string numbered_placeholders() {
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= kColumns.size(); ++i) places.push_back(fmt::format("${}", i));
  return fmt::format("VALUES ({})", fmt::join(places, ", "));
}

std::string upsert_statement(std::string_view source) {
  std::vector<std::string> updates;
  for (std::size_t i = 3; i < kColumns.size(); ++i) updates.push_back(fmt::format("{0} = excluded.{0}", kColumns[i]));
  return fmt::format("INSERT INTO forerun_measurements ({}) {} ON CONFLICT (campaign, device, row_id) DO UPDATE SET {}",
                     column_list(), source, fmt::join(updates, ", "));
}

WhereClause where_clause(const StoreFilter& filter) {
  WhereClause where{"TRUE", {}};
  const auto add = [&](std::string_view column, const std::string& value) {
    if (value.empty()) return;
    where.parameters.push_back(value);
    where.sql += fmt::format(" AND {} = ${}", column, where.parameters.size());
  };
  add("campaign", filter.campaign);
  add("device", filter.device);
  add("network", filter.network);
  add("family", filter.family);
  add("workload_hash", filter.workload_hash);
  if (!filter.workload_hash.empty()) where.sql += " AND workload_hash <> ''";  // lets the partial index serve
  add("status", filter.status);
  return where;
}

std::string select_statement(const WhereClause& where) {
  return fmt::format("SELECT {} FROM forerun_measurements WHERE {} ORDER BY campaign, device, row_id", column_list(),
                     where.sql);
}

const std::string_view kStatsStatement =
    "SELECT COUNT(*), COALESCE(SUM(CASE WHEN status = 'ok' THEN 1 ELSE 0 END), 0), "
    "COALESCE(SUM(CASE WHEN workload_hash <> '' THEN 1 ELSE 0 END), 0), "
    "COUNT(DISTINCT campaign), COUNT(DISTINCT device), COUNT(DISTINCT network) FROM forerun_measurements";

const std::string_view kCampaignsStatement =
    "SELECT campaign, device, MIN(license), COUNT(*), SUM(CASE WHEN status = 'ok' THEN 1 ELSE 0 END), "
    "COUNT(DISTINCT network), MIN(measured_at), MAX(measured_at) FROM forerun_measurements "
    "GROUP BY campaign, device ORDER BY campaign, device";

const std::string_view kNoteImportStatement =
    "INSERT INTO forerun_imports (campaign, source, rows, state, at) VALUES ($1, $2, CAST($3 AS BIGINT), $4, $5) "
    "ON CONFLICT (campaign, source) DO UPDATE SET rows = excluded.rows, state = excluded.state, at = excluded.at";

const std::string_view kImportsStatement =
    "SELECT campaign, source, rows, state, at FROM forerun_imports ORDER BY campaign, source";

}  // namespace forerun
