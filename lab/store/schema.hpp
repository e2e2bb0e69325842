// The one schema of both back ends: migrations, columns and statements that SQLite and PostgreSQL both understand.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/measurement.hpp"
#include "store/store.hpp"

namespace forerun {

// The order of a row's columns in every statement.
inline constexpr std::array<std::string_view, 14> kColumns = {
    "campaign", "row_id",  "device",   "network", "family", "graph",   "workload_hash",
    "settings", "metrics", "software", "status",  "source", "license", "measured_at"};
using RowTexts = std::array<std::string, kColumns.size()>;  // settings, metrics and software as JSON objects

[[nodiscard]] RowTexts texts_of(const Measurement& row);
Result<Measurement> row_of(RowTexts texts);

struct Migration {
  int version;  // the schema's version once `statements` have run
  std::vector<std::string_view> statements;
};
// In order, from an empty database; versions are 1, 2, 3, ….
[[nodiscard]] std::span<const Migration> migrations();
[[nodiscard]] int newest_schema_version();

// Whether a store of this version can be used, and the message when it cannot.
Status check_schema_version(int version, OpenMode mode, const std::string& where);

// "INSERT … ON CONFLICT … DO UPDATE …" from `source`, which is "VALUES ($1, …)" or a SELECT.
[[nodiscard]] std::string upsert_statement(std::string_view source);
[[nodiscard]] std::string numbered_placeholders();  // "VALUES ($1, …, $14)"
[[nodiscard]] std::string column_list();

// WHERE clause of a filter with its texts: "$1" stands for parameters[0]. Settings and limit are left to the caller.
struct WhereClause {
  std::string sql;
  std::vector<std::string> parameters;
};
[[nodiscard]] WhereClause where_clause(const StoreFilter& filter);
[[nodiscard]] std::string select_statement(const WhereClause& where);

extern const std::string_view kStatsStatement;      // rows, ok, hashed, campaigns, devices, networks
extern const std::string_view kCampaignsStatement;  // in CampaignSummary's order
extern const std::string_view kNoteImportStatement;
extern const std::string_view kImportsStatement;  // in ImportRecord's order

[[nodiscard]] bool settings_match(const std::map<std::string, std::string>& wanted, const Measurement& row);

}  // namespace forerun
