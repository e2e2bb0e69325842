#include "store/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <pqxx/pqxx>

#include "store/schema.hpp"
#include "store/temporary_postgres.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

Measurement sample(const std::string& id, double latency_ms = 1.5) {
  Measurement row;
  row.campaign = "first";
  row.row_id = id;
  row.network = "resnet-50";
  row.family = "resnet";
  row.graph = "resnet-50.onnx";
  row.workload_hash = "h-" + id;
  row.device = "h200-sxm";
  row.settings = {{"batch", "8"}, {"precision", "fp16"}, {"odd", "a\tb\\c\n\"d\" é"}};
  row.metrics = {{"latency_ms_median", latency_ms}, {"energy_j", 0.1}};
  row.software = {{"torch", "2.11.0"}};
  row.source = "test";
  row.license = "Apache-2.0";
  row.measured_at = "2026-11-15";
  return row;
}

bool same(const Measurement& a, const Measurement& b) { return texts_of(a) == texts_of(b); }

// Each test runs on both back ends.
class StoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "sqlite") {
      folder_ = ::testing::TempDir() + "store_test_" + std::to_string(::getpid());
      fs::create_directories(folder_);
      url_ = "sqlite:" + folder_ + "/store.db";
    } else {
      std::string why;
      server_ = TemporaryPostgres::start(why);
      if (!server_ && why.find("not installed") != std::string::npos) GTEST_SKIP() << why;
      ASSERT_TRUE(server_) << why;
      url_ = server_->url();
    }
  }
  void TearDown() override { fs::remove_all(folder_.empty() ? "/nonexistent" : folder_); }

  std::unique_ptr<Store> open(OpenMode mode = OpenMode::Write) {
    auto store = open_store(url_, mode);
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(store).value() : nullptr;
  }
  // Runs plain SQL, as an older program or somebody else would.
  void execute(const std::string& sql) {
    if (server_) {
      pqxx::connection connection(url_);
      pqxx::work work(connection);
      work.exec(sql);
      work.commit();
      return;
    }
    sqlite3* database = nullptr;
    ASSERT_EQ(::sqlite3_open(url_.substr(7).c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(::sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    ::sqlite3_close(database);
  }

  std::string url_;
  std::string folder_;
  std::unique_ptr<TemporaryPostgres> server_;
};

INSTANTIATE_TEST_SUITE_P(Backends, StoreTest, ::testing::Values("sqlite", "postgresql"),
                         [](const auto& info) { return info.param; });

TEST_P(StoreTest, KeepsRowsAndReplacesThemByKey) {
  auto store = open();
  ASSERT_TRUE(store);
  const std::vector<Measurement> rows = {sample("a"), sample("b"), sample("a", 2.5)};
  ASSERT_TRUE(store->upsert(rows));
  Measurement elsewhere = sample("a");
  elsewhere.device = "a100-sxm-80gb";
  ASSERT_TRUE(store->upsert({&elsewhere, 1}));
  ASSERT_TRUE(store->upsert({}));

  const auto kept = store->query({});
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_EQ(kept->size(), 3U);
  EXPECT_TRUE(same((*kept)[0], elsewhere));
  EXPECT_TRUE(same((*kept)[1], rows[2])) << "the later row of a key replaces the earlier";
  EXPECT_TRUE(same((*kept)[2], rows[1]));

  const auto stats = store->stats();
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->rows, 3);
  EXPECT_EQ(stats->devices, 2);
  EXPECT_EQ(stats->hashed_rows, 3);
  EXPECT_EQ(stats->schema_version, newest_schema_version());
}

TEST_P(StoreTest, FiltersFindsAndListsCampaigns) {
  auto store = open();
  ASSERT_TRUE(store);
  std::vector<Measurement> rows = {sample("a"), sample("b"), sample("c"), sample("d")};
  rows[1].settings["batch"] = "16";
  rows[2].status = "oom";
  rows[2].metrics.clear();
  rows[3].campaign = "second";
  rows[3].workload_hash = "h-a";
  rows[3].measured_at = "2026-12-01";
  ASSERT_TRUE(store->upsert(rows));

  EXPECT_EQ(store->query({.status = "ok"})->size(), 3U);
  EXPECT_EQ(store->query({.settings = {{"batch", "16"}}})->size(), 1U);
  EXPECT_EQ(store->query({.network = "resnet-50", .limit = 2})->size(), 2U);
  EXPECT_EQ(store->query({.campaign = "x' OR '1'='1"})->size(), 0U);

  const auto exact = store->find_exact("h-a", "h200-sxm", {{"batch", "8"}});
  ASSERT_TRUE(exact) << exact.error().message;
  ASSERT_TRUE(exact->has_value());
  EXPECT_EQ((*exact)->campaign, "second") << "the newest measurement is the one to show";
  EXPECT_FALSE(store->find_exact("h-a", "h200-sxm", {{"batch", "9"}})->has_value());
  EXPECT_FALSE(store->find_exact("h-c", "h200-sxm")->has_value()) << "a failed run is not a measurement";
  EXPECT_FALSE(store->find_exact("", "h200-sxm")->has_value());

  const auto campaigns = store->campaigns();
  ASSERT_TRUE(campaigns) << campaigns.error().message;
  ASSERT_EQ(campaigns->size(), 2U);
  EXPECT_EQ((*campaigns)[0].rows, 3);
  EXPECT_EQ((*campaigns)[0].ok_rows, 2);
  EXPECT_EQ((*campaigns)[1].last_measured_at, "2026-12-01");

  ASSERT_TRUE(store->note_import({.campaign = "first", .source = "a.csv", .state = "running"}));
  ASSERT_TRUE(store->note_import({.campaign = "first", .source = "a.csv", .rows = 4, .state = "complete"}));
  const auto imports = store->imports();
  ASSERT_TRUE(imports) << imports.error().message;
  ASSERT_EQ(imports->size(), 1U);
  EXPECT_EQ((*imports)[0].rows, 4);
  EXPECT_EQ((*imports)[0].state, "complete");
}

TEST_P(StoreTest, ABatchWithOneBadRowLeavesNothing) {
  auto store = open();
  ASSERT_TRUE(store);
  std::vector<Measurement> rows = {sample("a"), sample("b")};
  rows[1].metrics["latency_ms_median"] = std::numeric_limits<double>::quiet_NaN();
  const auto refused = store->upsert(rows);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("latency_ms_median"));
  rows[1] = sample("b");
  rows[1].source = std::string("zero\0byte", 9);
  EXPECT_FALSE(store->upsert(rows));
  rows[1].source = "\xc3(";
  EXPECT_FALSE(store->upsert(rows));
  rows[1] = sample("");
  EXPECT_FALSE(store->upsert(rows));
  EXPECT_EQ(store->query({})->size(), 0U);
}

TEST_P(StoreTest, ConcurrentWritersLoseNoRows) {
  constexpr int kBatches = 25;
  constexpr int kRows = 40;
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 2; ++writer) {
    const pid_t child = ::fork();
    if (child == 0) {  // both open a store that does not exist yet, and half of their rows collide
      auto store = open_store(url_, OpenMode::Write);
      if (!store) ::_exit(1);
      for (int batch = 0; batch < kBatches; ++batch) {
        std::vector<Measurement> rows;
        for (int i = 0; i < kRows; ++i) {
          const int shared = writer == 0 ? i : kRows - 1 - i;
          rows.push_back(sample("shared" + std::to_string(shared)));
          rows.push_back(sample(std::to_string(writer) + "." + std::to_string(batch * kRows + i)));
        }
        if (!(*store)->upsert(rows)) ::_exit(2);
      }
      store->reset();
      ::_exit(0);
    }
    writers.push_back(child);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ::waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto store = open(OpenMode::Read);
  ASSERT_TRUE(store);
  EXPECT_EQ(store->stats()->rows, 2 * kBatches * kRows + kRows);
}

TEST_P(StoreTest, AnOlderSchemaIsMigratedWithItsRows) {
  // Version 1 as it was first written; frozen here so that migrations may not be edited afterwards.
  execute(R"(CREATE TABLE forerun_schema (version INTEGER NOT NULL);
    INSERT INTO forerun_schema VALUES (1);
    CREATE TABLE forerun_measurements (
      campaign TEXT NOT NULL, row_id TEXT NOT NULL, device TEXT NOT NULL,
      network TEXT NOT NULL, family TEXT NOT NULL, graph TEXT NOT NULL, workload_hash TEXT NOT NULL,
      settings TEXT NOT NULL, metrics TEXT NOT NULL, status TEXT NOT NULL,
      source TEXT NOT NULL, license TEXT NOT NULL, measured_at TEXT NOT NULL,
      PRIMARY KEY (campaign, device, row_id));
    INSERT INTO forerun_measurements VALUES ('old', 'r1', 't4', 'vgg-16', 'vgg', '', 'h1', '{"batch":"1"}',
      '{"latency_ms_median":3.25}', 'ok', 's', 'MIT', '2020-01-01'))");
  const auto reader = open_store(url_, OpenMode::Read);
  ASSERT_FALSE(reader) << "reading must not change an older store";
  EXPECT_THAT(reader.error().message, ::testing::HasSubstr("version 1"));

  auto store = open();
  ASSERT_TRUE(store);
  EXPECT_EQ(store->stats()->schema_version, newest_schema_version());
  const auto old = store->find_exact("h1", "t4");
  ASSERT_TRUE(old) << old.error().message;
  ASSERT_TRUE(old->has_value());
  EXPECT_EQ((*old)->metrics.at("latency_ms_median"), 3.25);
  EXPECT_TRUE((*old)->software.empty());
  const Measurement row = sample("new");
  EXPECT_TRUE(store->upsert({&row, 1}));
  EXPECT_EQ(open(OpenMode::Read)->query({})->size(), 2U);
}

TEST_P(StoreTest, ADamagedRowIsNamed) {
  const Measurement row = sample("a");
  ASSERT_TRUE(open()->upsert({&row, 1}));
  execute("UPDATE forerun_measurements SET metrics = 'nonsense'");
  const auto rows = open(OpenMode::Read)->query({});
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error().message, ::testing::HasSubstr("column metrics of row 'a' of campaign '" + row.campaign));
}

TEST_P(StoreTest, ANewerSchemaIsRefused) {
  ASSERT_TRUE(open());
  execute("UPDATE forerun_schema SET version = 99");
  for (const OpenMode mode : {OpenMode::Read, OpenMode::Write}) {
    const auto store = open_store(url_, mode);
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().message, ::testing::HasSubstr("version 99"));
  }
}

TEST(OpenStore, ExplainsWhatIsNotAStore) {
  const std::string folder = ::testing::TempDir() + "open_store_" + std::to_string(::getpid());
  fs::create_directories(folder);
  EXPECT_EQ(open_store(folder + "/absent.db", OpenMode::Read).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(open_store(folder, OpenMode::Write).error().kind, ErrorKind::BadInput);
  EXPECT_EQ(open_store("mysql://x", OpenMode::Write).error().kind, ErrorKind::BadInput);
  EXPECT_EQ(open_store("", OpenMode::Write).error().kind, ErrorKind::BadInput);
  EXPECT_FALSE(open_store(folder + "/no/such/folder/x.db", OpenMode::Write));
  const auto unreachable = open_store("postgresql://user:secret@127.0.0.1:1/x", OpenMode::Write);
  ASSERT_FALSE(unreachable);
  EXPECT_THAT(unreachable.error().message, ::testing::Not(::testing::HasSubstr("secret")));

  std::FILE* file = std::fopen((folder + "/text.db").c_str(), "w");
  std::fputs("this is certainly not a database, only some text that is long enough to look at", file);
  std::fclose(file);
  EXPECT_THAT(open_store(folder + "/text.db", OpenMode::Write).error().message,
              ::testing::HasSubstr("not a SQLite file"));

  sqlite3* database = nullptr;
  ASSERT_EQ(::sqlite3_open((folder + "/other.db").c_str(), &database), SQLITE_OK);
  ::sqlite3_exec(database, "CREATE TABLE songs (title TEXT)", nullptr, nullptr, nullptr);
  ::sqlite3_close(database);
  EXPECT_THAT(open_store(folder + "/other.db", OpenMode::Write).error().message,
              ::testing::HasSubstr("not a store of measurements"));
  fs::remove_all(folder);
}

TEST(OpenStore, ReadsAStoreInAReadOnlyFolder) {
  const std::string folder = ::testing::TempDir() + "read_only_" + std::to_string(::getpid());
  fs::create_directories(folder);
  const std::string path = folder + "/s#1.db";
  const Measurement row = sample("a");
  ASSERT_TRUE((*open_store(path, OpenMode::Write))->upsert({&row, 1}));
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  auto store = open_store(path, OpenMode::Read);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->query({})->size(), 1U);
  fs::permissions(folder, fs::perms::owner_all);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace forerun
