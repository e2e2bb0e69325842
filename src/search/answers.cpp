#include "search/answers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <new>

#include "base/json_writer.hpp"
#include "base/on_cores.hpp"
#include "readers/json_text.hpp"
#include "readers/spaces/spaces_reader.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kConfigFirst = "{\"config\":";

// Questions that follow each other and are about the same described network.
struct Run {
  std::size_t first = 0, last = 0;
  std::size_t config_end = 0;  // of the description in each line; 0: none, or not the first field
};

// The end of the object that begins at `at`; 0 when it does not end.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

std::vector<Run> runs_of(std::span<const std::string> questions) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::string& line = questions[i];
    const bool has_config = line.starts_with(kConfigFirst);
    if (has_config && !runs.empty() && runs.back().config_end > 0) {
      const std::size_t end = runs.back().config_end;
      if (line.compare(0, end, questions[runs.back().first], 0, end) == 0) {
        runs.back().last = i + 1;
        continue;
      }
    }
    runs.push_back({i, i + 1, has_config ? end_of_object(line, kConfigFirst.size()) : 0});
  }
  return runs;
}

AnswerRow error_row(std::int64_t question, std::string message) {
  AnswerRow row;
  row.question = question;
  row.error = std::move(message);
  return row;
}

AnswerRow row_of(std::int64_t question, const WorkloadInfo& workload, DeviceResult& result) {
  AnswerRow row;
  row.question = question;
  row.device = std::move(result.device);
  row.fits = result.advice.fits;
  for (const std::string& warning : result.warnings) row.warnings += (row.warnings.empty() ? "" : "\n") + warning;
  row.numbers.reserve(answer_columns().size());
  for (const MetricSpec& metric : all_metrics()) {
    const Estimate* estimate = result.estimates.find(metric.metric);
    row.numbers.push_back(estimate == nullptr ? kAbsent : estimate->value);
    if (metric.scope != MetricScope::Pass) continue;
    row.numbers.push_back(estimate == nullptr ? kAbsent : estimate->low);
    row.numbers.push_back(estimate == nullptr ? kAbsent : estimate->high);
  }
  row.numbers.push_back(double(workload.parameters));
  row.numbers.push_back(double(workload.macs));
  for (const std::optional<double>& value :
       {result.advice.usd_per_hour, result.advice.usd_per_million, result.advice.co2_g_per_million})
    row.numbers.push_back(value.value_or(kAbsent));
  return row;
}

class Answering {
 public:
  Answering(const Service& service, std::span<const std::string> questions, std::int64_t first,
            const CancelToken& cancel)
      : service_(service), questions_(questions), first_(first), cancel_(cancel) {}

  void answer(const Run& run, std::vector<AnswerRow>& rows) const {
    try {
      std::shared_ptr<const Network> network;
      if (run.last - run.first > 1) network = shared_network(run);
      for (std::size_t i = run.first; i < run.last; ++i) answer(i, network, run.config_end, rows);
    } catch (const std::bad_alloc&) {
      rows.clear();
      for (std::size_t i = run.first; i < run.last; ++i) rows.push_back(error_row(number(i), "does not fit in memory"));
    }
  }

 private:
  [[nodiscard]] std::int64_t number(std::size_t i) const { return first_ + std::int64_t(i); }

  // The network that a run's description names; nullptr leaves it, and its errors, to each question.
  [[nodiscard]] std::shared_ptr<const Network> shared_network(const Run& run) const {
    if (run.config_end == 0) return nullptr;
    const auto request = parse_request(questions_[run.first].substr(0, run.config_end) + "}");
    return request ? request->network : nullptr;
  }

  void answer(std::size_t i, const std::shared_ptr<const Network>& network, std::size_t config_end,
              std::vector<AnswerRow>& rows) const {
    const std::string& line = questions_[i];
    const std::size_t rest = std::min(config_end + 1, line.size());
    auto request = parse_request(network == nullptr        ? line
                                 : line[config_end] == ',' ? "{" + line.substr(rest)
                                                           : std::string("{}"));
    if (!request) return rows.push_back(error_row(number(i), request.error().message));
    request->is_transient = request->network != nullptr;
    if (network != nullptr) {
      request->network = network;
      request->model = "config";
    }
    request->cancel = cancel_;
    auto report = service_.predict(*request);
    if (!report) return rows.push_back(error_row(number(i), report.error().message));
    for (DeviceResult& result : report->results) rows.push_back(row_of(number(i), report->workload, result));
  }

  const Service& service_;
  std::span<const std::string> questions_;
  std::int64_t first_;
  const CancelToken& cancel_;
};

std::vector<AnswerColumn> make_columns() {
  std::vector<AnswerColumn> columns;
  for (const MetricSpec& metric : all_metrics()) {
    const bool is_lower_better = metric.better == Better::Lower;
    columns.push_back({std::string(metric.key), is_lower_better});
    if (metric.scope != MetricScope::Pass) continue;
    columns.push_back({std::string(metric.key) + "_low", is_lower_better});
    columns.push_back({std::string(metric.key) + "_high", is_lower_better});
  }
  // A network's size stands for its quality: more of it is better.
  columns.push_back({"parameters", false});
  columns.push_back({"macs", false});
  for (const char* name : {"usd_per_hour", "usd_per_million", "co2_g_per_million"}) columns.push_back({name, true});
  return columns;
}

}  // namespace

const std::vector<AnswerColumn>& answer_columns() {
  static const std::vector<AnswerColumn> kColumns = make_columns();
  return kColumns;
}

std::optional<std::size_t> find_answer_column(std::string_view name) {
  const auto& columns = answer_columns();
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const AnswerColumn& column) { return column.name == name; });
  if (found == columns.end()) return std::nullopt;
  return std::size_t(found - columns.begin());
}

std::vector<AnswerRow> answer_questions(const Service& service, std::span<const std::string> questions,
                                        std::int64_t first, unsigned threads, const CancelToken& cancel) {
  const std::vector<Run> runs = runs_of(questions);
  std::vector<std::vector<AnswerRow>> by_run(runs.size());
  const Answering answering(service, questions, first, cancel);
  on_cores(
      runs.size(), [&](std::size_t i) { answering.answer(runs[i], by_run[i]); }, threads);
  std::vector<AnswerRow> rows;
  rows.reserve(questions.size());
  for (std::vector<AnswerRow>& part : by_run) std::move(part.begin(), part.end(), std::back_inserter(rows));
  return rows;
}

std::string to_json_line(const AnswerRow& row, std::string_view question) {
  JsonWriter json;
  json.begin_object().field("question", row.question);
  // Text that is no JSON stands as text.
  nlohmann::json::accept(question) ? json.key("asked").raw(question) : json.key("asked").text(question);
  if (!row.error.empty()) return json.field("error", row.error).end_object().take() + "\n";
  json.field("device", row.device);
  for (std::size_t i = 0; i < row.numbers.size(); ++i) {
    if (!std::isnan(row.numbers[i])) json.field(answer_columns()[i].name, row.numbers[i]);
  }
  json.field("fits", row.fits);
  if (!row.warnings.empty()) json.field("warnings", row.warnings);
  return json.end_object().take() + "\n";
}

}  // namespace forerun
