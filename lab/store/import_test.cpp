#include "store/import.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/export.hpp"
#include "store/schema.hpp"
#include "store/temporary_postgres.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Import : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    store_ = std::move(open_store(folder_ + "/store.db", OpenMode::Write)).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    if (name.ends_with(".gz")) {
      gzFile file = ::gzopen(path.c_str(), "wb");
      ::gzwrite(file, text.data(), unsigned(text.size()));
      ::gzclose(file);
    } else {
      std::ofstream(path, std::ios::binary) << text;
    }
    return path;
  }
  std::vector<Measurement> rows(const StoreFilter& filter = {}) { return std::move(store_->query(filter)).value(); }

  std::string folder_ = ::testing::TempDir() + "import_test_" + std::to_string(::getpid());
  std::unique_ptr<Store> store_;
};

TEST_F(Import, ReadsACampaignsFolder) {
  write("h200-first/vision_inference.csv",
        "id,arch,family,graph,batch,resolution,precision,latency_ms_median,graph_replay_ms_median,peak_allocated_mb,"
        "temp_c,parameters,spec\n"
        "v1.0,v1,vgg,v1_224.onnx,8,224,fp16,1.5,1.25,,39,1000,\"{\"\"bn\"\": true, \"\"c\"\": [1, 2]}\"\n");
  write("h200-first/vision_training.csv",
        "id,arch,family,graph,batch,precision,optimizer,latency_ms_median,forward_ms,status,message\n"
        "v1.0,v1,vgg,v1_224.onnx,16,fp32,sgd,4.5,1.5,ok,\n"
        "v2.0,v2,vgg,,999,fp32,sgd,,,oom,CUDA out of memory\n"
        "v3.0,v3,vgg,,9,fp32,sgd,,,error,bad kernel\n");
  write("h200-first/llm_inference.csv",
        "id,model,family,task,config,phase,batch,sequence,precision,latency_ms_median,energy_j,sm_mhz,torch\n"
        "l1,bert,bert,encoder,bert.json,forward,8,32,bf16,6.1,1.3,1980,2.12\n");
  write("h200-first/operators.csv",
        "id,op,m,n,k,precision,latency_us_median,bandwidth_gb_per_s\no1,linear,8,16,32,tf32,4.5,100\n");
  write("h200-first/notes.csv", "day,text\n1,hello\n");
  write("h200-first/repeat.csv", "id,latency_ms_first,latency_ms_second\nv1.0,1.5,1.6\n");
  write("h200-first/campaign.json",
        R"({"license": "Apache-2.0", "measured_at": "2026-11-15", "software": {"torch": "2.11"}})");
  const auto summary = import_path(*store_, folder_ + "/h200-first", {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->files, 4);
  EXPECT_EQ(summary->rows, 6);
  EXPECT_THAT(summary->skipped, ::testing::ElementsAre("notes.csv", "repeat.csv"));

  const auto vision = rows({.campaign = "h200-first", .settings = {{"training", "false"}, {"phase", "forward"}}}).at(1);
  EXPECT_EQ(vision.row_id, "vision_inference/v1.0");
  EXPECT_EQ(vision.network, "v1");
  EXPECT_EQ(vision.device, "h200-sxm");
  EXPECT_EQ(vision.measured_at, "2026-11-15");
  EXPECT_EQ(vision.settings.at("spec"), R"({"bn": true, "c": [1, 2]})");
  EXPECT_EQ(vision.settings.at("batch"), "8");
  EXPECT_EQ(vision.metrics,
            (std::map<std::string, double>{
                {"graph_replay_ms_median", 1.25}, {"latency_ms_median", 1.5}, {"parameters", 1000}, {"temp_c", 39}}));
  EXPECT_EQ(rows({.status = "oom"}).at(0).network, "v2");
  EXPECT_EQ(rows({.status = "error: bad kernel"}).size(), 1U);
  EXPECT_EQ(rows({.network = "bert"}).at(0).software.at("torch"), "2.12")
      << "a row's own version counts more than the campaign's";
  const auto linear = rows({.family = "operator"}).at(0);
  EXPECT_EQ(linear.settings.at("m"), "8");
  EXPECT_EQ(linear.metrics.at("bandwidth_gb_per_s"), 100);

  ASSERT_TRUE(import_path(*store_, folder_ + "/h200-first", {}));
  EXPECT_EQ(store_->stats()->rows, 6) << "importing again replaces";
}

TEST_F(Import, ReadsPublicTablesByTheirNames) {
  write("neusight_ops_matmul.csv.gz",
        "op,device,torch,latency_ms,B,M,N,K,kernel\nbmm,NVIDIA A100-PCIE-40GB,p2.1.0,0.035,6,27,21,390,ampere_sgemm\n");
  write("help_ofa.csv.gz",
        "idx,kernel_sizes,expand,depth,resolution,2080ti_1,2080ti_32,v100_64\n0,7 5,6 4,2 2,204,12.0,15.1,\n");
  write("aic_gemm.csv.gz",
        "system,backend,version,gemm_dtype,m,n,k,latency_ms\na100_sxm,vllm,0.14.0,bfloat16,8,16,32,15.288\n");
  write("hwgpt_arch_s.csv.gz", "arch_id,embed_dim,n_layer,params\n0,768,10,5\n1,192,12,7\n");
  write("hwgpt_measurements.csv.gz",
        "scale,device,arch_id,latency_ms_median,latency_ms_min,latency_ms_max,mem_allocated_mb\ns,a100,1,2.5,2,3,\n");
  write("timm_throughput.csv.gz",
        "device,mode,precision,layout,torch,cuda,compiled,model,img_size,batch_size,samples_per_sec,step_time_ms,gmacs,"
        "macts_m,params_m\n"
        "rtx3090,infer,amp,nchw,pt113,cu117,0,tinynet_e,106,1024,49277.65,20.77,0.03,0.69,2.04\n");
  const auto summary = import_path(*store_, folder_, {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->rows, 6);

  const auto matmul = rows({.campaign = "neusight-ops-matmul"}).at(0);
  EXPECT_EQ(matmul.device, "a100-pcie-40gb");
  EXPECT_EQ(matmul.license, "MIT");
  EXPECT_EQ(matmul.settings.at("precision"), "ieee_fp32");
  EXPECT_EQ(matmul.settings.at("m"), "27");
  EXPECT_EQ(matmul.software.at("torch"), "p2.1.0");
  EXPECT_THAT(matmul.source, HasSubstr("NeuSight"));
  const auto ofa = rows({.campaign = "help-ofa"});
  ASSERT_EQ(ofa.size(), 2U) << "an empty field is no measurement";
  EXPECT_EQ(ofa[1].settings.at("batch"), "32");
  EXPECT_EQ(ofa[1].metrics.at("latency_ms_median"), 15.1);
  EXPECT_EQ(rows({.campaign = "aic-gemm"}).at(0).settings.at("precision"), "bf16");
  const auto gpt = rows({.campaign = "hwgpt-measurements"}).at(0);
  EXPECT_EQ(gpt.network, "hwgpt-s-1");
  EXPECT_EQ(gpt.settings.at("embed_dim"), "192");
  EXPECT_EQ(gpt.settings.at("precision"), "amp_bf16");
  EXPECT_EQ(rows({.campaign = "timm-throughput"}).at(0).metrics.at("macs"), 0.03e9);
}

TEST_F(Import, WhatIsExportedReadsBackTheSame) {
  write("c/vision_inference.csv", "id,arch,latency_ms_median,spec,note\na,v1,0.1,\"x, \"\"y\"\"\nz\",\nb,v2,1e-7,,é\n");
  ASSERT_TRUE(import_path(*store_, folder_ + "/c", {.device = "t4"}));
  const auto before = rows();
  ASSERT_EQ(before.size(), 2U);
  for (const std::string format : {"csv", "jsonl"}) {
    std::string text;
    const auto sink = [&](std::string_view part) -> Status {
      text += part;
      return ok();
    };
    const auto count = format == "csv" ? export_csv(*store_, {}, sink) : export_json_lines(*store_, {}, sink);
    ASSERT_TRUE(count);
    EXPECT_EQ(*count, 2);
    const std::string path = write("out/rows." + format, text);
    auto copy = std::move(open_store(folder_ + "/" + format + ".db", OpenMode::Write)).value();
    const auto summary = import_path(*copy, path, {});
    ASSERT_TRUE(summary) << summary.error().message;
    const auto after = *copy->query({});
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(texts_of(after[i]), texts_of(before[i]));
  }
}

TEST_F(Import, BadFilesAreNamedWithTheirLine) {
  const auto message = [&](const std::string& path, const ImportOptions& options = {}) {
    const auto summary = import_path(*store_, path, options);
    return summary ? std::string("imported") : summary.error().message;
  };
  EXPECT_THAT(message(write("a/x.csv", "id,arch,latency_ms\nr1,v1,fast\n"), {.device = "t4"}),
              HasSubstr("line 2: latency_ms is 'fast'"));
  EXPECT_THAT(message(write("a/x.csv", "id,arch,latency_ms\nr1,v1,2\n")), HasSubstr("--device"));
  EXPECT_THAT(message(write("a/x.csv", "id,arch,latency_ms\n,v1,2\n"), {.device = "t4"}), HasSubstr("id is empty"));
  EXPECT_THAT(message(write("a/x.csv", "id,arch,latency_ms\n"), {.device = "t4"}), HasSubstr("no rows"));
  EXPECT_THAT(message(write("a/x.csv", "what,ever\n1,2\n")), HasSubstr("no known format"));
  EXPECT_THAT(
      message(write("a/x.jsonl", "{\"campaign\": \"c\", \"row_id\": \"1\", \"device\": \"t4\"}\n{\"campaign\": 3}\n")),
      HasSubstr("line 2: 'campaign'"));
  EXPECT_THAT(message(write("a/x.jsonl", "{\"campain\": \"c\"}\n")), HasSubstr("'campain' is not a field"));
  EXPECT_THAT(message(write("a/x.jsonl", "nonsense\n")), HasSubstr("not a JSON object"));
  EXPECT_THAT(message(folder_ + "/absent.csv"), HasSubstr("cannot open"));
  EXPECT_THAT(message(folder_ + "/a", {.format = "mystery"}), HasSubstr("'mystery'"));
  EXPECT_EQ(store_->stats()->rows, 0);
}

// Starts an import in another process, kills it without warning, and looks at what it left.
void kill_in_the_middle(const std::string& url, const std::string& folder) {
  constexpr int kRows = 400'000;
  constexpr int kBatch = 500;
  const std::string path = folder + "/big.csv";
  {
    std::ofstream out(path);
    out << "id,arch,batch,latency_ms_median\n";
    for (int i = 0; i < kRows; ++i) out << 'r' << i << ",net" << i % 100 << ",8," << i << ".5\n";
  }
  const ImportOptions options{.campaign = "big", .device = "t4", .batch_rows = kBatch};
  auto store = open_store(url, OpenMode::Write);
  ASSERT_TRUE(store) << store.error().message;
  const pid_t child = ::fork();
  if (child == 0) {
    auto mine = open_store(url, OpenMode::Write);
    ::_exit(mine && import_path(**mine, path, options) ? 0 : 1);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while ((*store)->stats()->rows < 3 * kBatch && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the import ended before it was killed";

  store->reset();
  auto after = open_store(url, OpenMode::Write);
  ASSERT_TRUE(after) << after.error().message;
  const std::int64_t kept = (*after)->stats()->rows;
  EXPECT_GE(kept, 3 * kBatch);
  EXPECT_LT(kept, kRows);
  EXPECT_EQ(kept % kBatch, 0) << "a transaction was torn";
  const auto whole = [](const Measurement& row) -> Status {
    const bool is_whole =
        row.metrics.contains("latency_ms_median") && row.settings.contains("batch") && row.device == "t4";
    return is_whole ? ok() : Status(internal_error("half a row: " + row.row_id));
  };
  const Status rows = (*after)->visit({}, whole);
  EXPECT_TRUE(rows) << rows.error().message;
  EXPECT_EQ((*after)->imports()->at(0).state, "running");

  std::ofstream(path) << "id,arch,batch,latency_ms_median\nr0,net0,8,7\nlast,net1,8,8\n";  // a short run to the end
  ASSERT_TRUE(import_path(**after, path, options));
  EXPECT_EQ((*after)->stats()->rows, kept + 1) << "r0 is replaced, last is new";
  EXPECT_EQ((*after)->imports()->at(0).state, "complete");
}

TEST_F(Import, KilledInTheMiddleLeavesWholeBatchesInSqlite) {
  store_.reset();
  kill_in_the_middle(folder_ + "/store.db", folder_);
  sqlite3* database = nullptr;
  ASSERT_EQ(::sqlite3_open((folder_ + "/store.db").c_str(), &database), SQLITE_OK);
  std::string verdict;
  const auto keep = [](void* into, int, char** values, char**) {
    *static_cast<std::string*>(into) += values[0];
    return 0;
  };
  ::sqlite3_exec(database, "PRAGMA integrity_check", keep, &verdict, nullptr);
  ::sqlite3_close(database);
  EXPECT_EQ(verdict, "ok");
}

TEST_F(Import, KilledInTheMiddleLeavesWholeBatchesInPostgres) {
  std::string why;
  const auto server = TemporaryPostgres::start(why);
  if (!server && why.find("not installed") != std::string::npos) GTEST_SKIP() << why;
  ASSERT_TRUE(server) << why;
  kill_in_the_middle(server->url(), folder_);
}

TEST_F(Import, CountsRowsThatReplaceAnEarlierOneOfTheSameFile) {
  std::string text = "id,arch,graph,batch,precision,latency_ms_median\n";
  for (const char* id : {"a", "b", "a", "c", "a"}) text += std::string(id) + ",v1,v1.onnx,1,fp16,0.5\n";
  write("h200-twice/vision_inference.csv", text);
  const auto summary = import_path(*store_, folder_ + "/h200-twice", {});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->rows, 5);
  EXPECT_EQ(summary->replaced, 2);
  EXPECT_EQ(summary->replaced_ids, (std::vector<std::string>{"vision_inference/a", "vision_inference/a"}));
  EXPECT_EQ(rows().size(), 3U);
  const auto again = import_path(*store_, folder_ + "/h200-twice", {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->replaced, 2) << "rows of an earlier import are not duplicates of this one";
}

// The server goes away at once in the middle of an import; when it is back, all that was acknowledged is there, no
// batch is there in part, and the same import again completes it.
TEST_F(Import, LosesNothingAcknowledgedWhenPostgresStopsAtOnce) {
  std::string why;
  const auto server = TemporaryPostgres::start(why);
  if (!server && why.find("not installed") != std::string::npos) GTEST_SKIP() << why;
  ASSERT_TRUE(server) << why;
  constexpr std::int64_t kRows = 20'000;
  constexpr std::int64_t kBatch = 100;
  std::string text = "id,arch,graph,batch,precision,latency_ms_median\n";
  for (std::int64_t i = 0; i < kRows; ++i) text += std::to_string(i) + ",v1,v1.onnx,1,fp16,0.5\n";
  const std::string file = write("h200-stop/vision_inference.csv", text);
  ImportOptions options{.batch_rows = std::size_t(kBatch)};
  int interrupted = 0;
  for (const int pause_ms : {0, 30, 100}) {
    std::atomic<std::int64_t> acknowledged = 0;
    options.progress = [&](const ImportProgress& progress) { acknowledged = progress.rows; };
    {
      auto store = open_store(server->url(), OpenMode::Write);
      ASSERT_TRUE(store) << store.error().message;
      std::thread stopper([&] {
        while (acknowledged < kBatch) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        EXPECT_TRUE(server->stop_immediately());
      });
      const auto summary = import_path(**store, file, options);
      stopper.join();
      if (!summary) {
        ++interrupted;
        EXPECT_FALSE(summary.error().message.empty());
        EXPECT_EQ(summary.error().message.find('\n'), std::string::npos) << summary.error().message;
      }
    }
    EXPECT_FALSE(open_store(server->url(), OpenMode::Write)) << "the server is away";
    ASSERT_TRUE(server->restart());
    const auto store = open_store(server->url(), OpenMode::Write);
    ASSERT_TRUE(store) << store.error().message;
    const auto stats = (*store)->stats();
    ASSERT_TRUE(stats) << stats.error().message;
    EXPECT_GE(stats->rows, acknowledged);
    EXPECT_EQ(stats->rows % kBatch, 0) << "a batch is whole or absent";
  }
  EXPECT_GT(interrupted, 0);
  const auto store = open_store(server->url(), OpenMode::Write);
  ASSERT_TRUE(store) << store.error().message;
  options.progress = {};
  const auto whole = import_path(**store, file, options);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ((*store)->stats()->rows, kRows);
  const auto imports = (*store)->imports();
  ASSERT_TRUE(imports);
  ASSERT_EQ(imports->size(), 1U);
  EXPECT_EQ(imports->front().state, "complete");
}

}  // namespace
}  // namespace forerun
