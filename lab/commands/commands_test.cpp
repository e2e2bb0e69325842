#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "commands/campaign.hpp"
#include "commands/campaign_progress.hpp"
#include "commands/command.hpp"
#include "commands/plan.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string plan_error(std::string_view text) {
  const auto plan = parse_plan(text, "plan");
  return plan ? "no error" : plan.error().message;
}

TEST(Plan, ReadsLinesAndObjects) {
  const auto lines =
      parse_plan("{\"id\": \"a\", \"mode\": \"fake\"}\n\n{\"id\": \"b\", \"mode\": \"fake\", \"batch\": 8}\n", "plan");
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->rows.size(), 2U);
  EXPECT_EQ(lines->rows[1].request["batch"], 8);
  const auto one = parse_plan(R"({"id": "a", "mode": "fake"})", "plan");
  ASSERT_TRUE(one) << "one line is a plan of one row";
  const auto object = parse_plan(
      R"({"campaign": "c", "defaults": {"mode": "fake", "batch": 1}, "rows": [{"id": "a"}, {"id": "b", "batch": 2}]})",
      "plan");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->campaign, "c");
  EXPECT_EQ(object->rows[0].request["batch"], 1);
  EXPECT_EQ(object->rows[1].request["batch"], 2);
}

TEST(Plan, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(plan_error(" \n"), HasSubstr("empty"));
  EXPECT_THAT(plan_error("{\"id\": \"a\", \"mode\": \"m\"}\nnonsense\n"), HasSubstr("line 2: not JSON"));
  EXPECT_THAT(plan_error("[1, 2]\n"), HasSubstr("line 1: not a JSON object"));
  EXPECT_THAT(plan_error("{\"id\": \"a\"}\n"), HasSubstr("line 1: no \"mode\""));
  EXPECT_THAT(plan_error("{\"id\": 3, \"mode\": \"m\"}\n"), HasSubstr("\"id\" must be a text"));
  EXPECT_THAT(plan_error("{\"id\": \"a\", \"mode\": \"m\"}\n{\"id\": \"a\", \"mode\": \"m\"}\n"),
              HasSubstr("used twice"));
  EXPECT_THAT(plan_error(R"({"rows": []})"), HasSubstr("no rows"));
  EXPECT_THAT(plan_error(R"({"rows": 3})"), HasSubstr("no list"));
  EXPECT_THAT(plan_error(R"({"row": []})"), HasSubstr("'row' is not a field"));
  EXPECT_EQ(read_plan("/nonexistent/plan.json").error().kind, ErrorKind::NotFound);
}

TEST(Plan, ARequestBecomesARowsSettings) {
  const auto row = row_of_request(nlohmann::ordered_json::parse(
      R"({"id": "x", "mode": "operator", "precision": "fp16", "operator": {"op": "linear", "m": 8}, "note": "n"})"));
  EXPECT_EQ(row.network, "linear");
  EXPECT_EQ(row.family, "operator");
  EXPECT_EQ(row.settings, (std::map<std::string, std::string>{
                              {"mode", "operator"}, {"precision", "fp16"}, {"op", "linear"}, {"m", "8"}}));
  const auto network = row_of_request(nlohmann::ordered_json::parse(
      R"({"id": "n7.t0.b4.fp32", "group": "n7t", "mode": "training", "network": {"family": "vgg", "depth": [1, 2]}, "batch": 4, "settings": {"limit_s": 1}})"));
  EXPECT_EQ(network.network, "n7");
  EXPECT_EQ(network.family, "vgg");
  EXPECT_EQ(network.settings, (std::map<std::string, std::string>{{"mode", "training"},
                                                                  {"spec", R"({"family":"vgg","depth":[1,2]})"},
                                                                  {"batch", "4"},
                                                                  {"measuring", R"({"limit_s":1})"},
                                                                  {"training", "true"},
                                                                  {"phase", "forward"}}));
  const auto llm = row_of_request(nlohmann::ordered_json::parse(
      R"({"id": "llama-3.2.decode.b1", "mode": "llm", "model": "llama-3.2", "network": {"config": {"model_type": "llama"}}, "phase": "decode"})"));
  EXPECT_EQ(llm.network, "llama-3.2");
  EXPECT_EQ(llm.family, "llama");
  EXPECT_EQ(llm.settings.at("phase"), "decode");
  const auto file = row_of_request(
      nlohmann::ordered_json::parse(R"({"id": "1", "mode": "inference", "network": {"onnx": "/a/mine.onnx"}})"));
  EXPECT_EQ(file.network, "mine");
  EXPECT_EQ(file.graph, "mine.onnx");
}

TEST(CampaignProgress, ShowsRateAndTimeLeft) {
  CampaignProgress progress(100, 20);
  Measurement row;
  row.network = "resnet-50";
  row.family = "resnet";
  row.metrics["latency_ms_median"] = 1.25;
  for (int i = 0; i < 9; ++i) progress.add(row);
  row.status = "oom";
  progress.add(row);
  EXPECT_EQ(progress.line(20),
            "30/100 rows (20 from before): 9 ok, 1 oom; 0.50 rows/s, 2 min 20 s left; last: resnet-50 oom");
  EXPECT_THAT(progress.summary(), HasSubstr("10 rows"));
  EXPECT_THAT(progress.summary(), HasSubstr("median latency 1.25 ms"));
  EXPECT_EQ(duration_text(7265), "2 h 01 min");
}

// A plan, a store and a journal in a temporary folder, measured by tests/lab/fake_worker.py.
class CampaignTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    options_.campaign = "trial";
    options_.worker_command = {"python3", FORERUN_SOURCE_DIR "/tests/lab/fake_worker.py", "--starts",
                               folder_ + "/starts"};
    options_.log_path = folder_ + "/log";
    options_.report = [this](const std::string& line) { reports_.push_back(line); };
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<CampaignResult> run(const std::string& plan_text) {
    FORERUN_TRY(const Plan plan, parse_plan(plan_text, "plan"));
    FORERUN_TRY(auto store, open_store(folder_ + "/store.db", OpenMode::Write));
    FORERUN_TRY(auto journal, Journal::open(folder_ + "/rows.jsonl"));
    return run_campaign(plan, *store, *journal, options_);
  }
  std::string failure(const std::string& plan_text) {
    const auto result = run(plan_text);
    return result ? "no error" : result.error().message;
  }
  std::map<std::string, Measurement> stored() {
    std::map<std::string, Measurement> rows;
    auto store = std::move(open_store(folder_ + "/store.db", OpenMode::Read)).value();
    const auto all = std::move(store->query({})).value();
    for (const Measurement& row : all) rows[row.row_id] = row;
    return rows;
  }
  int lines_in(const std::string& name) {
    std::ifstream in(folder_ + "/" + name);
    int lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
  }
  static std::string row(const std::string& id, const std::string& fake, const std::string& more = "") {
    return R"({"id": ")" + id + R"(", "mode": "fake", "network": "net-)" + id + R"(", "fake": ")" + fake + "\"" + more +
           "}\n";
  }

  std::string folder_ = ::testing::TempDir() + "lab_test_" + std::to_string(::getpid());
  CampaignOptions options_;
  std::vector<std::string> reports_;
};

TEST_F(CampaignTest, RecordsEveryRowAndGoesOnInAFreshWorker) {
  options_.row_timeout_s = 1;
  const auto result = run(row("a", "ok", R"(, "batch": 8)") + row("b", "oom") + row("c", "ok") + row("d", "error") +
                          row("e", "crash") + row("f", "ok") + row("g", "kill") + row("h", "garbage") +
                          row("i", "wrong_id") + row("j", "hang") + row("k", "ok"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->measured, 11U);
  EXPECT_EQ(result->restarts, 6U);
  EXPECT_EQ(lines_in("starts"), 7);
  EXPECT_EQ(lines_in("rows.jsonl"), 11);
  auto rows = stored();
  ASSERT_EQ(rows.size(), 11U);
  EXPECT_EQ(rows["a"].status, "ok");
  EXPECT_EQ(rows["a"].device, "h200-sxm") << "found in the catalogue from the GPU's name";
  EXPECT_EQ(rows["a"].network, "net-a");
  EXPECT_EQ(rows["a"].settings["batch"], "8");
  EXPECT_EQ(rows["a"].settings["timing"], "graph") << "a text among the metrics says how they were taken";
  EXPECT_EQ(rows["a"].metrics["latency_ms_median"], 1.5);
  EXPECT_EQ(rows["a"].metrics["split_forward_ms"], 0.5);
  EXPECT_EQ(rows["a"].metrics["sm_mhz"], 1980);
  EXPECT_FALSE(rows["a"].metrics.contains("energy_j")) << "null is absent, not 0";
  EXPECT_EQ(rows["a"].software["torch"], "2.11.0");
  EXPECT_EQ(rows["a"].software["cudnn"], "91900");
  EXPECT_EQ(rows["b"].status, "oom");
  EXPECT_EQ(rows["d"].status, "error: ValueError: bad shape");
  EXPECT_EQ(rows["e"].status, "error: the worker ended with status 3");
  EXPECT_THAT(rows["g"].status, HasSubstr("killed by signal 9"));
  EXPECT_THAT(rows["h"].status, HasSubstr("not a JSON object"));
  EXPECT_THAT(rows["i"].status, HasSubstr("another row"));
  EXPECT_THAT(rows["j"].status, HasSubstr("no answer in 1 s"));
  EXPECT_EQ(rows["k"].status, "ok");
}

TEST_F(CampaignTest, ResumesWhereItStopped) {
  options_.crash_limit = 0;
  const std::string plan =
      row("a", "ok") + row("b", "crash_once", R"(, "marker": ")" + folder_ + R"(/marker")") + row("c", "ok");
  EXPECT_THAT(failure(plan), HasSubstr("run the same command to go on"));
  EXPECT_EQ(stored().size(), 2U) << "what was measured is kept";
  std::ofstream(folder_ + "/rows.jsonl", std::ios::app)
      << R"({"campaign": "trial", "row_id": "c", "dev)";  // cut short by a crash
  const auto result = run(plan);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->already_done, 2U);
  EXPECT_EQ(result->measured, 1U);
  EXPECT_EQ(stored().size(), 3U);
  EXPECT_THAT(stored()["b"].status, HasSubstr("error"));

  options_.retry_failed = true;
  const auto retried = run(plan);
  ASSERT_TRUE(retried) << retried.error().message;
  EXPECT_EQ(retried->measured, 1U);
  EXPECT_EQ(stored()["b"].status, "ok");
  EXPECT_EQ(run(plan)->measured, 0U) << "the later line of a row counts";

  fs::remove(folder_ + "/store.db");
  ASSERT_TRUE(run(plan));
  EXPECT_EQ(stored().size(), 3U) << "a lost store is filled again from the journal";
}

TEST_F(CampaignTest, ExplainsAWorkerThatCannotMeasure) {
  const auto with = [&](const std::string& hello) {
    options_.worker_command = {"python3", FORERUN_SOURCE_DIR "/tests/lab/fake_worker.py", "--hello", hello};
    return failure(row("a", "ok"));
  };
  EXPECT_THAT(with("no_cuda"), HasSubstr("PyTorch sees no CUDA device"));
  EXPECT_THAT(with("no_torch"), ::testing::AllOf(HasSubstr("No module named 'torch'"), HasSubstr("--python")));
  EXPECT_THAT(with("wrong_protocol"), HasSubstr("protocol 7"));
  EXPECT_THAT(with("not_a_greeting"), HasSubstr("greeting"));
  options_.start_timeout_s = 0.5;
  EXPECT_THAT(with("silent"), HasSubstr("no answer in 0.5 s"));
  options_.worker_command = {"no-such-python", "worker.py"};
  EXPECT_THAT(failure(row("a", "ok")), HasSubstr("no-such-python: cannot start"));
}

TEST_F(CampaignTest, WarnsOnceWithoutAnEnergyCounter) {
  options_.worker_command = {"python3", FORERUN_SOURCE_DIR "/tests/lab/fake_worker.py", "--hello", "no_energy"};
  ASSERT_TRUE(run(row("a", "oom") + row("b", "ok")));
  EXPECT_EQ(std::ranges::count_if(
                reports_, [](const std::string& line) { return line.find("energy counter") != std::string::npos; }),
            1);
}

TEST_F(CampaignTest, RowsOfAKnownNetworkCarryItsHash) {
  const std::string file = FORERUN_SOURCE_DIR "/data/networks/resnet50.onnx";
  ASSERT_TRUE(
      run(R"({"id": "a", "mode": "fake", "batch": 2, "network": {"onnx": ")" + file + "\"}}\n" + row("b", "ok")));
  EXPECT_EQ(stored()["a"].workload_hash.size(), 32U);
  EXPECT_EQ(stored()["a"].graph, "resnet50.onnx");
  EXPECT_EQ(stored()["b"].workload_hash, "") << "its network is a name alone";
  EXPECT_THAT(reports_, ::testing::Contains(HasSubstr("b: no workload hash")));
}

TEST_F(CampaignTest, RefusesAModeTheWorkerDoesNotKnow) {
  EXPECT_THAT(failure(R"({"id": "a", "mode": "teleport"})"),
              ::testing::AllOf(HasSubstr("'teleport'"), HasSubstr("fake, operator")));
}

TEST_F(CampaignTest, RefusesAnotherCampaignsJournal) {
  ASSERT_TRUE(run(row("a", "ok")));
  options_.campaign = "other";
  EXPECT_THAT(failure(row("a", "ok")), HasSubstr("holds campaign 'trial'"));
}

// A limit on the size of files stands for the end of the disk: writes fail in the middle of the campaign.
TEST_F(CampaignTest, AFullDiskKeepsWhatWasMeasured) {
  EXPECT_FALSE(Journal::open("/dev/full")) << "a device is no journal";
  std::string plan;
  for (int i = 0; i < 30; ++i)
    plan += row(std::to_string(i), "ok", R"(, "padding": ")" + std::string(20'000, 'x') + "\"");
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit limit { 300'000, 300'000 };
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message = failure(plan);
    const bool is_clear = message.find("cannot write") != std::string::npos &&
                          message.find("run the same command to go on") != std::string::npos;
    ::_exit(is_clear ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto result = run(plan);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GE(result->already_done, 5U);
  EXPECT_LT(result->already_done, 30U);
  EXPECT_EQ(stored().size(), 30U);
}

// A real full disk, where this may be mounted: the store's. The journal lies elsewhere and goes on.
TEST_F(CampaignTest, AFullDiskUnderTheStoreLosesNothing) {
  constexpr int kCannotMount = 77;
  std::string plan;
  for (int i = 0; i < 30; ++i)
    plan += row(std::to_string(i), "ok", R"(, "padding": ")" + std::string(20'000, 'x') + "\"");
  const std::string small = folder_ + "/small";
  fs::create_directories(small);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=256k") != 0)
      ::_exit(kCannotMount);
    const auto parsed = parse_plan(plan, "plan");
    auto store = open_store(small + "/store.db", OpenMode::Write);
    auto journal = Journal::open(folder_ + "/rows.jsonl");
    if (!parsed || !store || !journal) ::_exit(2);
    const auto result = run_campaign(*parsed, **store, **journal, options_);
    const std::string message = result ? "no error" : result.error().message;
    const bool is_clear = message.find("full") != std::string::npos &&
                          message.find("rows measured so far are kept in") != std::string::npos;
    if (!is_clear) std::fprintf(stderr, "%s\n", message.c_str());
    ::_exit(is_clear ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "no permission to mount a small disk";
  EXPECT_EQ(status, 0);
  const auto result = run(plan);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GE(result->already_done, 1U) << "what was measured was in the journal";
  EXPECT_EQ(stored().size(), 30U);
}

TEST_F(CampaignTest, KilledInTheMiddleGoesOnFromTheLastRow) {
  std::string plan;
  for (int i = 0; i < 60; ++i) plan += row(std::to_string(i), "ok", R"(, "sleep_s": 0.02)");
  const pid_t child = ::fork();
  if (child == 0) {
    options_.report = {};
    ::_exit(run(plan) ? 0 : 1);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (lines_in("rows.jsonl") < 10 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto result = run(plan);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GE(result->already_done, 10U);
  EXPECT_EQ(result->already_done + result->measured, 60U);
  EXPECT_EQ(stored().size(), 60U);
}

TEST(LabCommands, MapErrorsToExitStatus) {
  const auto run = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "forerun-lab");
    return run_lab(static_cast<int>(arguments.size()), arguments.data());
  };
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({"store"}), 2);
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_EQ(run({"store", "list", "--store", "/nonexistent/x.db"}), 2);
  EXPECT_EQ(run({"store", "stats", "--store", "/nonexistent/x.db"}), 2);
  EXPECT_EQ(run({"measure", "/nonexistent/plan.json"}), 2);
  EXPECT_EQ(run({"measure", FORERUN_SOURCE_DIR "/CMakeLists.txt"}), 2) << "not a plan";
  EXPECT_EQ(run({"characterize", "--from", "/nonexistent"}), 2);
  if (!fs::exists("/dev/nvidiactl")) {
    ::testing::internal::CaptureStderr();
    const std::string out = ::testing::TempDir() + "no_gpu";
    EXPECT_EQ(run({"characterize", "--out", out.c_str()}), 2);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("CUDA"));
    EXPECT_FALSE(fs::exists(out)) << "nothing was measured, nothing is written";
  }
}

}  // namespace
}  // namespace forerun
