#include "commands/campaign.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <utility>

#include "commands/campaign_progress.hpp"
#include "commands/row_hashes.hpp"
#include "commands/worker_process.hpp"
#include "devices/catalogue.hpp"

namespace forerun {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
constexpr int kProtocol = 1;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// The last line of the worker's log that says something: usually the exception.
std::string last_words(const std::string& log_path) {
  std::ifstream log(log_path);
  std::string line;
  std::string last;
  while (std::getline(log, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last.substr(0, 300);
}

// Numbers are metrics; texts say how they were taken and join the settings. Nested objects keep their name as a prefix.
void take_metrics(const Json& object, const std::string& prefix, Measurement& row) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    if (value.is_boolean()) {
      row.metrics[prefix + name] = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
      row.metrics[prefix + name] = value.get<double>();
    } else if (value.is_object()) {
      take_metrics(value, prefix + name + "_", row);
    } else {
      row.settings[prefix + name] = text_of(value);
    }
  }
}

class CampaignRun {
 public:
  CampaignRun(const Plan& plan, Store& store, Journal& journal, const CampaignOptions& options)
      : plan_(plan), store_(store), journal_(journal), options_(options), hashes_(options.graphs) {}

  Result<CampaignResult> run() {
    FORERUN_CHECK(adopt_earlier_rows());
    std::vector<const PlanRow*> waiting;
    for (const PlanRow& row : plan_.rows) {
      if (!done_.contains(row.id)) waiting.push_back(&row);
    }
    result_.already_done = plan_.rows.size() - waiting.size();
    progress_ = CampaignProgress(plan_.rows.size(), result_.already_done);
    if (waiting.empty()) return finished();
    FORERUN_CHECK(start_worker());
    started_ = reported_ = stored_ = Clock::now();
    for (const PlanRow* row : waiting) {
      if (interrupted()) break;
      auto measured = measure(*row);
      if (!measured) return keep_and_fail(measured.error());
      if (!*measured) break;
      if (crashes_in_a_row_ > options_.crash_limit) {
        return keep_and_fail(
            bad_input(fmt::format("the worker ended {} times in a row, last: {}; see {}", crashes_in_a_row_,
                                  last_words(options_.log_path), options_.log_path)));
      }
    }
    if (worker_) worker_->stop();
    result_.was_interrupted = interrupted();
    return finished();
  }

 private:
  // Rows of an earlier run count as done; the store gets them again in case it missed some.
  Status adopt_earlier_rows() {
    for (const Measurement& row : journal_.earlier_rows()) {
      if (row.campaign != options_.campaign) {
        return bad_input(fmt::format("{}: holds campaign '{}', not '{}': give another --out", journal_.path(),
                                     row.campaign, options_.campaign));
      }
      if (options_.retry_failed && row.status != "ok") {
        done_.erase(row.row_id);
      } else {
        done_.insert(row.row_id);
      }
    }
    return store_.upsert(journal_.earlier_rows());
  }

  Status start_worker() {
    FORERUN_TRY(worker_, WorkerProcess::start(options_.worker_command, options_.log_path));
    WorkerSilence silence;
    const auto hello = worker_->receive(options_.start_timeout_s, silence);
    if (!hello) {
      const std::string words = last_words(options_.log_path);
      std::string advice;
      if (words.find("No module named") != std::string::npos) {
        advice =
            fmt::format(": install it for {} (pip install torch) or give another --python", options_.worker_command[0]);
      }
      return bad_input(fmt::format("the worker did not start, it {}: {}{}; all of its words: {}", silence.message,
                                   words, advice, options_.log_path));
    }
    if (hello->value("hello", "") != "forerun-worker")
      return bad_input("the worker's first line is not a greeting: is it the right program?");
    if (hello->value("status", "") != "ok")
      return bad_input("the worker cannot measure: " + hello->value("message", "it does not say why"));
    if (const int protocol = hello->value("protocol", 0); protocol != kProtocol) {
      return bad_input(fmt::format("the worker speaks protocol {}, this program speaks {}", protocol, kProtocol));
    }
    FORERUN_CHECK(check_modes(*hello));
    return take_environment(hello->value("environment", Json::object()));
  }

  Status check_modes(const Json& hello) const {
    if (!hello.contains("modes") || !hello["modes"].is_array()) return ok();
    std::set<std::string> known;
    for (const Json& mode : hello["modes"]) known.insert(text_of(mode));
    for (const PlanRow& row : plan_.rows) {
      if (!known.contains(row.mode)) {
        return bad_input(fmt::format("row '{}' of the plan has mode '{}'; the worker knows: {}", row.id, row.mode,
                                     fmt::join(known, ", ")));
      }
    }
    return ok();
  }

  Status take_environment(const Json& environment) {
    const bool is_first = software_.empty();
    for (const auto& [name, value] : environment.items()) {
      if (name == "device" || name == "energy_counter" || value.is_null() || value.is_number_float()) continue;
      software_[name] = text_of(value);
    }
    const std::string name = environment.contains("device") ? text_of(environment["device"]) : "";
    device_ = options_.device;
    if (device_.empty() && name == "cpu") device_ = "cpu";  // a plan tried without a GPU
    if (device_.empty()) {
      FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
      const auto found = catalogue.find(name);
      if (!found)
        return bad_input(
            fmt::format("the worker's device '{}' is not in the catalogue: give its id with --device", name));
      device_ = found->id;
    }
    software_["device_name"] = name;
    if (is_first && environment.contains("energy_counter") && !environment["energy_counter"].get<bool>()) {
      report("no NVML energy counter (old GPU, no NVML, or no permission): rows will have no energy and no power");
    }
    return ok();
  }

  // False when interrupted. An error is one that ends the campaign: the worker's failures are recorded, not returned.
  Result<bool> measure(const PlanRow& plan_row) {
    if (!worker_) {
      ++result_.restarts;
      FORERUN_CHECK(start_worker());
    }
    Measurement row = row_of_request(plan_row.request);
    row.campaign = options_.campaign;
    row.row_id = plan_row.id;
    row.license = options_.license;
    row.source = "forerun-lab measure";
    take_hash(plan_row, row);
    WorkerSilence silence;
    const bool is_sent = worker_->send(plan_row.request.dump());
    (void)is_sent;  // a worker that is gone shows when it is asked for the answer
    const auto answer = worker_->receive(options_.row_timeout_s, silence);
    if (!answer && silence.kind == WorkerSilence::Kind::Interrupted) return false;
    if (!answer) {
      row.status = "error: the worker " + silence.message;
      drop_worker();
    } else if (answer->value("id", Json()) != Json(plan_row.id)) {
      row.status = "error: the worker answered for another row";
      drop_worker();
    } else {
      crashes_in_a_row_ = 0;
      take_answer(*answer, row);
    }
    row.device = device_;
    row.software = software_;
    row.measured_at = now_iso();
    FORERUN_CHECK(keep(row));
    return true;
  }

  // A row without a hash is measured all the same; the first reason is reported.
  void take_hash(const PlanRow& plan_row, Measurement& row) {
    auto hash = hashes_.hash_of(plan_row.request, row);
    if (hash) row.workload_hash = *hash;
    if (!row.workload_hash.empty() || row.family == "operator") return;
    if (result_.without_hash++ > 0) return;
    report(fmt::format("{}: no workload hash ({}); `forerun predict` will not find such rows", row.row_id,
                       hash ? "no graph is known: give --graphs" : hash.error().message));
  }

  void take_answer(const Json& answer, Measurement& row) {
    const std::string status = answer.value("status", "error");
    const std::string message = answer.value("message", "");
    row.status = status == "ok" || status == "oom" ? status
                 : message.empty()                 ? "error: " + status
                                                   : "error: " + message;
    take_metrics(answer.value("metrics", Json::object()), "", row);
    take_metrics(answer.value("environment", Json::object()), "", row);
    if (answer.contains("seconds") && answer["seconds"].is_number())
      row.metrics["measuring_s"] = answer["seconds"].get<double>();
    for (const auto& [name, into] :
         {std::pair("graph", &row.graph), std::pair("network", &row.network), std::pair("family", &row.family)}) {
      if (answer.contains(name) && answer[name].is_string()) *into = answer[name].get<std::string>();
    }
    if (status == "oom") {  // what is left on the device would spoil the next readings
      worker_->stop();
      worker_.reset();
    }
  }

  void drop_worker() {
    ++crashes_in_a_row_;
    worker_.reset();
  }

  Status keep(const Measurement& row) {
    FORERUN_CHECK(check_row(row));
    FORERUN_CHECK(journal_.append(row));
    unstored_.push_back(row);
    progress_.add(row);
    ++result_.measured;
    if (seconds_since(stored_) >= options_.store_interval_s || unstored_.size() >= 200) FORERUN_CHECK(flush());
    if (seconds_since(reported_) >= options_.report_interval_s) {
      reported_ = Clock::now();
      report(progress_.line(seconds_since(started_)));
    }
    return ok();
  }

  Status flush() {
    FORERUN_CHECK(store_.upsert(unstored_));
    unstored_.clear();
    stored_ = Clock::now();
    return ok();
  }

  Result<CampaignResult> finished() {
    if (const Status stored = flush(); !stored) return keep_and_fail(stored.error());
    report(progress_.line(seconds_since(started_)));
    result_.summary = progress_.summary();
    return result_;
  }

  Error keep_and_fail(Error error) {
    (void)flush();  // the journal has the rows even when the store does not
    worker_.reset();
    error.message += fmt::format("; the {} rows measured so far are kept in {}: run the same command to go on",
                                 result_.already_done + result_.measured, journal_.path());
    return error;
  }

  void report(const std::string& line) const {
    if (options_.report) options_.report(line);
  }

  const Plan& plan_;
  Store& store_;
  Journal& journal_;
  const CampaignOptions& options_;
  RowHashes hashes_;
  std::set<std::string> done_;
  std::unique_ptr<WorkerProcess> worker_;
  std::string device_;
  std::map<std::string, std::string> software_;
  std::vector<Measurement> unstored_;
  std::size_t crashes_in_a_row_ = 0;
  CampaignProgress progress_{0, 0};
  CampaignResult result_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point reported_ = started_;
  Clock::time_point stored_ = started_;
};

}  // namespace

Result<CampaignResult> run_campaign(const Plan& plan, Store& store, Journal& journal, const CampaignOptions& options) {
  return CampaignRun(plan, store, journal, options).run();
}

}  // namespace forerun
