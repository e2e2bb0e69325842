#include "store/sqlite_store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "store/schema.hpp"

namespace forerun {
namespace {

constexpr int kBusyTimeoutMs = 60'000;

// A prepared statement; reset() makes it ready for the next use.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { ::sqlite3_finalize(handle_); }

  void bind(int index, std::string_view text) {
    ::sqlite3_bind_text(handle_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  int step() { return ::sqlite3_step(handle_); }
  void reset() { ::sqlite3_reset(handle_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(::sqlite3_column_text(handle_, column));
    return bytes == nullptr ? std::string{} : std::string(bytes, std::size_t(::sqlite3_column_bytes(handle_, column)));
  }
  [[nodiscard]] std::int64_t integer(int column) const { return ::sqlite3_column_int64(handle_, column); }

 private:
  sqlite3_stmt* handle_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(sqlite3* database, std::string path) : database_(database), path_(std::move(path)) {}
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;
  ~SqliteStore() override { ::sqlite3_close_v2(database_); }

  Status upsert(std::span<const Measurement> rows) override {
    for (const Measurement& row : rows) FORERUN_CHECK(check_row(row));
    return in_transaction([&]() -> Status {
      FORERUN_TRY(Statement statement, prepare(upsert_statement(numbered_placeholders())));
      for (const Measurement& row : rows) {
        const RowTexts texts = texts_of(row);
        for (std::size_t i = 0; i < texts.size(); ++i) statement.bind(int(i) + 1, texts[i]);
        if (statement.step() != SQLITE_DONE) return failure("cannot write a row");
        statement.reset();
      }
      return ok();
    });
  }

  Status visit(const StoreFilter& filter, const std::function<Status(const Measurement&)>& visit) override {
    const WhereClause where = where_clause(filter);
    FORERUN_TRY(Statement statement, prepare(select_statement(where)));
    for (std::size_t i = 0; i < where.parameters.size(); ++i) statement.bind(int(i) + 1, where.parameters[i]);
    std::size_t found = 0;
    while (filter.limit == 0 || found < filter.limit) {
      const int status = statement.step();
      if (status == SQLITE_DONE) break;
      if (status != SQLITE_ROW) return failure("cannot read rows");
      RowTexts texts;
      for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = statement.text(int(i));
      FORERUN_TRY(const Measurement row, row_of(std::move(texts)));
      if (!settings_match(filter.settings, row)) continue;
      ++found;
      FORERUN_CHECK(visit(row));
    }
    return ok();
  }

  Result<StoreStats> stats() override {
    FORERUN_TRY(Statement statement, prepare(kStatsStatement));
    if (statement.step() != SQLITE_ROW) return failure("cannot count rows");
    FORERUN_TRY(const int version, schema_version());
    return StoreStats{.schema_version = version,
                      .backend = "sqlite",
                      .rows = statement.integer(0),
                      .ok_rows = statement.integer(1),
                      .hashed_rows = statement.integer(2),
                      .campaigns = statement.integer(3),
                      .devices = statement.integer(4),
                      .networks = statement.integer(5)};
  }

  Result<std::vector<CampaignSummary>> campaigns() override {
    FORERUN_TRY(Statement statement, prepare(kCampaignsStatement));
    std::vector<CampaignSummary> campaigns;
    int status = statement.step();
    for (; status == SQLITE_ROW; status = statement.step()) {
      campaigns.push_back({.campaign = statement.text(0),
                           .device = statement.text(1),
                           .license = statement.text(2),
                           .rows = statement.integer(3),
                           .ok_rows = statement.integer(4),
                           .networks = statement.integer(5),
                           .first_measured_at = statement.text(6),
                           .last_measured_at = statement.text(7)});
    }
    if (status != SQLITE_DONE) return failure("cannot list campaigns");
    return campaigns;
  }

  Status note_import(const ImportRecord& record) override {
    return in_transaction([&]() -> Status {
      FORERUN_TRY(Statement statement, prepare(kNoteImportStatement));
      statement.bind(1, record.campaign);
      statement.bind(2, record.source);
      statement.bind(3, std::to_string(record.rows));
      statement.bind(4, record.state);
      statement.bind(5, record.at);
      if (statement.step() != SQLITE_DONE) return failure("cannot note an import");
      return ok();
    });
  }

  Result<std::vector<ImportRecord>> imports() override {
    FORERUN_TRY(Statement statement, prepare(kImportsStatement));
    std::vector<ImportRecord> imports;
    int status = statement.step();
    for (; status == SQLITE_ROW; status = statement.step()) {
      imports.push_back({.campaign = statement.text(0),
                         .source = statement.text(1),
                         .rows = statement.integer(2),
                         .state = statement.text(3),
                         .at = statement.text(4)});
    }
    if (status != SQLITE_DONE) return failure("cannot list imports");
    return imports;
  }

  Status prepare_schema(OpenMode mode) {
    ::sqlite3_busy_timeout(database_, kBusyTimeoutMs);
    if (mode == OpenMode::Write) FORERUN_CHECK(use_write_ahead_log());
    FORERUN_TRY(const int version, schema_version());
    FORERUN_CHECK(check_schema_version(version, mode, path_));
    return version == newest_schema_version() ? ok() : in_transaction([&] { return migrate(); });
  }

 private:
  // Readers go on while one writes, and a killed writer leaves nothing of its open transaction behind.
  Status use_write_ahead_log() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
    while (true) {  // the busy handler does not cover this pragma while others open the same new file
      const int status = ::sqlite3_exec(database_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
      if (status == SQLITE_OK) return execute("PRAGMA synchronous = FULL");
      if (status != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) return failure("cannot open");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // 0: a new, empty file.
  Result<int> schema_version() {
    FORERUN_TRY(
        Statement tables,
        prepare("SELECT COUNT(*), COALESCE(SUM(name = 'forerun_schema'), 0) FROM sqlite_master WHERE type = 'table'"));
    if (tables.step() != SQLITE_ROW) return failure("cannot read");
    if (tables.integer(1) == 0) {
      if (tables.integer(0) != 0) return bad_input(path_ + ": a SQLite file, but not a store of measurements");
      return 0;
    }
    FORERUN_TRY(Statement version, prepare("SELECT version FROM forerun_schema"));
    if (version.step() != SQLITE_ROW) return bad_input(path_ + ": the schema's version is missing");
    return static_cast<int>(version.integer(0));
  }

  // REQUIRES: inside a transaction. Another process may have migrated in the meantime.
  Status migrate() {
    FORERUN_TRY(const int version, schema_version());
    if (version == 0) FORERUN_CHECK(execute("CREATE TABLE forerun_schema (version INTEGER NOT NULL)"));
    if (version == 0) FORERUN_CHECK(execute("INSERT INTO forerun_schema VALUES (0)"));
    for (const Migration& migration : migrations()) {
      if (migration.version <= version) continue;
      for (const std::string_view statement : migration.statements) FORERUN_CHECK(execute(std::string(statement)));
      FORERUN_CHECK(execute(fmt::format("UPDATE forerun_schema SET version = {}", migration.version)));
    }
    return ok();
  }

  template <typename Action>
  Status in_transaction(const Action& action) {
    FORERUN_CHECK(execute("BEGIN IMMEDIATE"));
    Status status = action();
    if (status) status = execute("COMMIT");
    if (!status) ::sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }

  Status execute(const std::string& sql) {
    if (::sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure("cannot write");
    return ok();
  }

  Result<Statement> prepare(std::string_view sql) {
    sqlite3_stmt* handle = nullptr;
    if (::sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &handle, nullptr) != SQLITE_OK) {
      return failure("cannot read");
    }
    return Statement(handle);
  }

  [[nodiscard]] Error failure(const std::string& what) const {
    const int code = ::sqlite3_errcode(database_);
    if (code == SQLITE_NOTADB) return bad_input(path_ + ": not a SQLite file");
    const char* advice = code == SQLITE_FULL   ? " (the disk is full: what was stored before is kept)"
                         : code == SQLITE_BUSY ? " (another writer holds the store)"
                                               : "";
    return {ErrorKind::Io, fmt::format("{}: {}: {}{}", path_, what, ::sqlite3_errmsg(database_), advice)};
  }

  sqlite3* database_;
  std::string path_;
};

Result<std::unique_ptr<Store>> open_with(const std::string& file, int flags, const std::string& path, OpenMode mode) {
  sqlite3* database = nullptr;
  const int status = ::sqlite3_open_v2(file.c_str(), &database, flags, nullptr);
  auto store = std::make_unique<SqliteStore>(database, path);
  if (status != SQLITE_OK) {
    return Error{ErrorKind::Io,
                 path + ": cannot open: " + (database != nullptr ? ::sqlite3_errmsg(database) : "no memory")};
  }
  FORERUN_CHECK(store->prepare_schema(mode));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, OpenMode mode) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return bad_input(path + ": a folder, a file was expected");
  if (mode == OpenMode::Write) return open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path, mode);
  if (!std::filesystem::exists(path, ignored)) return not_found(path + ": no such store");
  auto store = open_with(path, SQLITE_OPEN_READONLY, path, mode);
  if (store || store.error().kind != ErrorKind::Io) return store;
  // A read-only folder has no room for WAL's shared memory: nobody can be writing there.
  std::string uri = "file:";
  for (const char c : path)
    uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", unsigned(c)) : std::string(1, c);
  auto immutable = open_with(uri + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path, mode);
  return immutable ? std::move(immutable) : std::move(store);
}

}  // namespace forerun
