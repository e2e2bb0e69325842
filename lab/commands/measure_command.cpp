// forerun-lab measure PLAN
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "commands/campaign.hpp"
#include "commands/command.hpp"
#include "commands/default_store.hpp"
#include "commands/worker_process.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct MeasureOptions {
  std::string plan;
  std::string store = default_store();
  std::string out;
  std::string python = "python3";
  std::string worker;
  std::string run_on = "cuda";
  bool dry = false;
  CampaignOptions campaign;
};

// measuring/worker/worker.py: named by hand, installed beside the program, or in the source tree that holds the build
// folder.
Result<std::string> find_worker(const std::string& given) {
  if (!given.empty()) {
    if (!fs::exists(given)) return not_found(given + ": no such worker script");
    return given;
  }
  std::error_code ignored;
  fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (int level = 0; level < 4 && !folder.empty(); ++level, folder = folder.parent_path()) {
    for (const char* place : {"measuring/worker/worker.py", "share/forerun/measuring/worker/worker.py"}) {
      if (fs::exists(folder / place, ignored)) return (folder / place).string();
    }
  }
  return not_found("the measuring worker (measuring/worker/worker.py) was not found beside the program: give --worker");
}

// "plans/vision.jsonl" -> "vision"
std::string name_of_plan(const std::string& path) {
  fs::path name = fs::path(path).filename();
  while (name.has_extension()) name = name.stem();
  return name.string();
}

Status run_measure(MeasureOptions& options) {
  FORERUN_TRY(const Plan plan, read_plan(options.plan));
  CampaignOptions& campaign = options.campaign;
  if (campaign.campaign.empty()) campaign.campaign = plan.campaign.empty() ? name_of_plan(options.plan) : plan.campaign;
  if (campaign.license.empty()) campaign.license = plan.license;
  if (options.out.empty()) options.out = campaign.campaign + ".jsonl";
  campaign.log_path = options.out + ".log";
  if (campaign.graphs.empty()) {
    const fs::path beside = fs::path(options.plan).parent_path() / "graphs";
    if (fs::is_directory(beside)) campaign.graphs = beside.string();
  } else if (!fs::is_directory(campaign.graphs)) {
    return not_found(campaign.graphs + ": no such folder of graphs");
  }
  FORERUN_TRY(const std::string worker, find_worker(options.worker));
  campaign.worker_command = {options.python, worker, "--device", options.run_on};
  if (options.dry) campaign.worker_command.push_back("--dry");
  const bool is_terminal = ::isatty(STDERR_FILENO) != 0;
  if (is_terminal) campaign.report_interval_s = 1;
  campaign.report = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };

  FORERUN_TRY(auto store, open_store(options.store, OpenMode::Write));
  FORERUN_TRY(auto journal, Journal::open(options.out));
  catch_interrupts();
  FORERUN_TRY(const CampaignResult result, run_campaign(plan, *store, *journal, campaign));
  fmt::print("{}{} rows measured, {} were there already; campaign {} in {} and {}\n", result.summary, result.measured,
             result.already_done, campaign.campaign, options.store, options.out);
  if (result.without_hash > 0)
    fmt::print(stderr, "forerun-lab: {} rows have no workload hash (no graph is known)\n", result.without_hash);
  if (result.was_interrupted) fmt::print(stderr, "forerun-lab: interrupted: run the same command to go on\n");
  return ok();
}

}  // namespace

LabAction declare_measure(CLI::App& app) {
  auto options = std::make_shared<MeasureOptions>();
  app.add_option("plan", options->plan, "JSON lines, one run per line, or one object with \"rows\"")->required();
  app.add_option("--store", options->store,
                 "SQLite file or postgresql://… (default: $FORERUN_STORE or forerun-measurements.db)");
  app.add_option("--out", options->out,
                 "JSON-lines file of this campaign, also what it resumes from (default: CAMPAIGN.jsonl)");
  app.add_option("--campaign", options->campaign.campaign, "Name of the campaign (default: the plan's)");
  app.add_option("--device", options->campaign.device, "Catalogue id (default: found from the GPU's name)");
  app.add_option("--license", options->campaign.license, "Licence of the rows (default: the plan's)");
  app.add_option(
      "--graphs", options->campaign.graphs,
      "Folder with the ONNX graphs that rows name (default: graphs/ beside the plan); they give rows their hash");
  app.add_option("--python", options->python, "Python with PyTorch");
  app.add_option("--worker", options->worker, "The worker's script");
  app.add_option("--run-on", options->run_on, "cuda, or cpu to try a plan without a GPU")
      ->check(CLI::IsMember({"cuda", "cpu"}));
  app.add_flag("--dry", options->dry, "Small buffers, to try a plan");
  app.add_flag("--retry-failed", options->campaign.retry_failed, "Measure rows again that ran out of memory or failed");
  app.add_option("--row-timeout", options->campaign.row_timeout_s, "Seconds a run may take")
      ->check(CLI::PositiveNumber);
  app.add_option("--crash-limit", options->campaign.crash_limit, "Crashes in a row before giving up");
  return [=]() -> Status { return run_measure(*options); };
}

}  // namespace forerun
