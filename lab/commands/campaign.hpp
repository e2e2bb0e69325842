// Runs a plan through a worker, row by row: records, restarts, resumes. The part of `measure` that tests can drive.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "commands/journal.hpp"
#include "commands/plan.hpp"
#include "store/store.hpp"

namespace forerun {

struct CampaignOptions {
  std::string campaign;
  std::string device = {};  // catalogue id; empty: found from the worker's device name
  std::string license = {};
  std::string graphs = {};  // folder with the graphs that rows name; gives generated networks their hash
  std::vector<std::string> worker_command;
  std::string log_path;  // the worker's stderr
  double start_timeout_s = 300;
  double row_timeout_s = 600;
  std::size_t crash_limit = 25;  // deaths in a row before the campaign gives up
  bool retry_failed = false;     // measure rows again that are recorded as failed
  double store_interval_s = 2;
  double report_interval_s = 15;
  std::function<void(const std::string&)> report = {};  // progress and warnings, one line each
};

struct CampaignResult {
  std::size_t measured = 0;      // in this run
  std::size_t already_done = 0;  // found in the journal
  std::size_t restarts = 0;      // of the worker
  std::size_t without_hash = 0;  // rows measured whose network is not known to this program
  bool was_interrupted = false;
  std::string summary;  // lines by family
};

// An error leaves every row measured so far in the journal; running again goes on from there.
Result<CampaignResult> run_campaign(const Plan& plan, Store& store, Journal& journal, const CampaignOptions& options);

}  // namespace forerun
