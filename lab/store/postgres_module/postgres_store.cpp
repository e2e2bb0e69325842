// The PostgreSQL back end itself, in a module that is loaded when a postgresql:// store is opened (module.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <pqxx/pqxx>
#include <thread>
#include <tuple>
#include <utility>

#include "store/postgres_module/module.hpp"
#include "store/schema.hpp"

namespace forerun {
namespace {

constexpr int kAttempts = 8;  // of a transaction that lost against another one
constexpr int kRowsPerFetch = 5000;
constexpr long kMigrationLock = 0x666f7265;  // any number that only Forerun uses

// The URL without its password, for messages.
std::string shown(const std::string& url) {
  const std::size_t start = url.find("://") + 3;
  const std::size_t at = url.find('@', start);
  const std::size_t colon = url.find(':', start);
  if (at == std::string::npos || colon == std::string::npos || colon > at) return url;
  return url.substr(0, colon) + url.substr(at);
}

class PostgresStore final : public Store {
 public:
  PostgresStore(std::unique_ptr<pqxx::connection> connection, std::string where)
      : connection_(std::move(connection)), where_(std::move(where)) {}

  Status upsert(std::span<const Measurement> rows) override {
    // Sorted by key, so that two writers meet in the same order; one row per key, the last one wins.
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const Measurement*> by_key;
    for (const Measurement& row : rows) {
      FORERUN_CHECK(check_row(row));
      by_key.insert_or_assign({row.campaign, row.device, row.row_id}, &row);
    }
    if (by_key.empty()) return ok();
    return in_transaction([&](pqxx::work& work) {
      work.exec("CREATE TEMPORARY TABLE forerun_batch (LIKE forerun_measurements) ON COMMIT DROP");
      const std::vector<std::string> columns(kColumns.begin(), kColumns.end());
      pqxx::stream_to stream(work, "forerun_batch", columns);
      for (const auto& [key, row] : by_key) {
        stream << texts_of(*row);
      }
      stream.complete();
      work.exec(upsert_statement("SELECT " + column_list() + " FROM forerun_batch ORDER BY campaign, device, row_id"));
    });
  }

  Status visit(const StoreFilter& filter, const std::function<Status(const Measurement&)>& visit) override {
    Status outcome = ok();
    FORERUN_CHECK(guarded([&] {
      pqxx::work work(*connection_);
      WhereClause where = where_clause(filter);
      for (std::size_t i = where.parameters.size(); i > 0; --i) {  // a cursor's query takes no parameters
        const std::string place = fmt::format("${}", i);
        where.sql.replace(where.sql.find(place), place.size(), work.quote(where.parameters[i - 1]));
      }
      work.exec("DECLARE forerun_rows NO SCROLL CURSOR FOR " + select_statement(where));
      std::size_t found = 0;
      while (true) {
        const pqxx::result batch = work.exec(fmt::format("FETCH {} FROM forerun_rows", kRowsPerFetch));
        if (batch.empty()) return;
        for (const auto& line : batch) {
          RowTexts texts;
          for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = line[int(i)].c_str();
          auto row = row_of(std::move(texts));
          if (!row) {
            outcome = row.error();
            return;
          }
          if (!settings_match(filter.settings, *row)) continue;
          outcome = visit(*row);
          if (!outcome || ++found == filter.limit) return;
        }
      }
    }));
    return outcome;
  }

  Result<StoreStats> stats() override {
    StoreStats stats{.backend = "postgresql"};
    FORERUN_CHECK(guarded([&] {
      pqxx::work work(*connection_);
      stats.schema_version = schema_version(work);
      const pqxx::row row = work.exec1(std::string(kStatsStatement));
      stats.rows = row[0].as<std::int64_t>();
      stats.ok_rows = row[1].as<std::int64_t>();
      stats.hashed_rows = row[2].as<std::int64_t>();
      stats.campaigns = row[3].as<std::int64_t>();
      stats.devices = row[4].as<std::int64_t>();
      stats.networks = row[5].as<std::int64_t>();
    }));
    return stats;
  }

  Result<std::vector<CampaignSummary>> campaigns() override {
    std::vector<CampaignSummary> campaigns;
    FORERUN_CHECK(guarded([&] {
      pqxx::work work(*connection_);
      for (const auto& row : work.exec(std::string(kCampaignsStatement))) {
        campaigns.push_back({.campaign = row[0].c_str(),
                             .device = row[1].c_str(),
                             .license = row[2].c_str(),
                             .rows = row[3].as<std::int64_t>(),
                             .ok_rows = row[4].as<std::int64_t>(),
                             .networks = row[5].as<std::int64_t>(),
                             .first_measured_at = row[6].c_str(),
                             .last_measured_at = row[7].c_str()});
      }
    }));
    return campaigns;
  }

  Status note_import(const ImportRecord& record) override {
    return in_transaction([&](pqxx::work& work) {
      work.exec_params(std::string(kNoteImportStatement), record.campaign, record.source, std::to_string(record.rows),
                       record.state, record.at);
    });
  }

  Result<std::vector<ImportRecord>> imports() override {
    std::vector<ImportRecord> imports;
    FORERUN_CHECK(guarded([&] {
      pqxx::work work(*connection_);
      for (const auto& row : work.exec(std::string(kImportsStatement))) {
        imports.push_back({.campaign = row[0].c_str(),
                           .source = row[1].c_str(),
                           .rows = row[2].as<std::int64_t>(),
                           .state = row[3].c_str(),
                           .at = row[4].c_str()});
      }
    }));
    return imports;
  }

  Status prepare_schema(OpenMode mode) {
    int version = 0;
    FORERUN_CHECK(guarded([&] {
      connection_->set_client_encoding("UTF8");
      pqxx::work work(*connection_);
      work.exec("SET SESSION client_min_messages = warning");
      version = schema_version(work);
      work.commit();
    }));
    FORERUN_CHECK(check_schema_version(version, mode, where_));
    return version == newest_schema_version() ? ok() : in_transaction([](pqxx::work& work) { migrate(work); });
  }

 private:
  static int schema_version(pqxx::work& work) {
    // A plain query, not to_regclass(): that one may answer from a cache older than the migration lock.
    const pqxx::result tables = work.exec(
        "SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'forerun_schema' AND schemaname = ANY "
        "(current_schemas(false))");
    if (tables.empty()) return 0;
    return work.exec1("SELECT version FROM forerun_schema")[0].as<int>();
  }

  static void migrate(pqxx::work& work) {
    work.exec(fmt::format("SELECT pg_advisory_xact_lock({})", kMigrationLock));
    const int version = schema_version(work);  // another process may have migrated while this one waited
    if (version == 0) work.exec("CREATE TABLE forerun_schema (version INTEGER NOT NULL)");
    if (version == 0) work.exec("INSERT INTO forerun_schema VALUES (0)");
    for (const Migration& migration : migrations()) {
      if (migration.version <= version) continue;
      for (const std::string_view statement : migration.statements) work.exec(std::string(statement));
      work.exec(fmt::format("UPDATE forerun_schema SET version = {}", migration.version));
    }
  }

  // Turns libpqxx's exceptions into an Error.
  template <typename Action>
  Status guarded(const Action& action) {
    try {
      action();
      return ok();
    } catch (const std::exception& failure) {
      return error_of(failure);
    }
  }

  // Commits what `action` did; starts again when the server ended it in favour of another transaction.
  template <typename Action>
  Status in_transaction(const Action& action) {
    for (int attempt = 1;; ++attempt) {
      try {
        pqxx::work work(*connection_);
        action(work);
        work.commit();
        return ok();
      } catch (const pqxx::deadlock_detected& failure) {
        if (attempt == kAttempts) return error_of(failure);
      } catch (const pqxx::serialization_failure& failure) {
        if (attempt == kAttempts) return error_of(failure);
      } catch (const std::exception& failure) {
        return error_of(failure);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10 * attempt));
    }
  }

  [[nodiscard]] Error error_of(const std::exception& failure) const {
    std::string text = failure.what();
    std::ranges::replace(text, '\n', ' ');
    while (text.ends_with(' ')) text.pop_back();
    return {ErrorKind::Io, fmt::format("{}: {}", where_, text)};
  }

  std::unique_ptr<pqxx::connection> connection_;
  std::string where_;
};

Result<std::unique_ptr<Store>> open_connection(const std::string& url, OpenMode mode) {
  std::unique_ptr<pqxx::connection> connection;
  try {
    connection = std::make_unique<pqxx::connection>(url);
  } catch (const std::exception& failure) {
    std::string text = failure.what();
    std::ranges::replace(text, '\n', ' ');
    return Error{ErrorKind::Io, fmt::format("{}: cannot connect: {}", shown(url), text)};
  }
  auto store = std::make_unique<PostgresStore>(std::move(connection), shown(url));
  FORERUN_CHECK(store->prepare_schema(mode));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace
}  // namespace forerun

extern "C" __attribute__((visibility("default"))) void forerun_open_postgres(
    const std::string& url, forerun::OpenMode mode, forerun::Result<std::unique_ptr<forerun::Store>>& store) {
  store = forerun::open_connection(url, mode);
}
