#include "service/improve.hpp"
#include "service/json.hpp"

namespace forerun {
namespace {

void write_estimate(JsonWriter& json, std::string_view key, const Estimate& e) {
  json.key(key).begin_object().field("value", e.value).field("low", e.low).field("high", e.high);
  json.field("basis", name_of(e.basis)).field("predictor", e.predictor).end_object();
}

void write_change(JsonWriter& json, const Change& change, std::size_t number) {
  json.begin_object().field("number", std::int64_t(number));
  if (!change.title.empty()) json.field("title", change.title);
  if (!change.why.empty()) json.field("why", change.why);
  if (!change.parts.empty()) json.texts("parts", change.parts);
  json.key("settings").begin_object();
  for (const Setting& setting : change.settings) json.field(setting.option, setting.value);
  json.end_object().texts("edits", change.edits).field("copies", change.copies).field("risk", name_of(change.risk));
  json.field("device", change.result.device).field("fits", change.result.advice.fits);
  json.field("factor", change.factor).field("factor_low", change.low).field("factor_high", change.high);
  json.field("probability", change.probability);
  write_estimate(json, "after", change.after);
  json.key("estimates").begin_object();
  for (const auto& [metric, estimate] : change.result.estimates) write_estimate(json, name_of(metric), estimate);
  json.end_object().texts("warnings", change.result.warnings).end_object();
}

}  // namespace

std::string to_json(const AdviseReport& report) {
  JsonWriter json;
  json.begin_object();
  write_workload(json, report.workload);
  json.field("device", report.device).field("goal", name_of(report.goal)).field("metric", report.metric);
  json.field("unit", report.unit).field("better", report.is_lower_better ? "lower" : "higher");
  json.field("fits", report.before.advice.fits);
  write_estimate(json, "before", report.before_goal);
  json.key("time_share").begin_object();
  const double total = report.time.total();
  for (const NamedTerm& term : kKernelTerms)
    if (total > 0) json.field(term.name, report.time.*term.value / total);
  json.end_object().key("proposals").begin_array();
  for (std::size_t i = 0; i < report.proposals.size(); ++i) write_change(json, report.proposals[i], i + 1);
  json.end_array().key("together").begin_array();
  for (std::size_t i = 0; i < report.together.size(); ++i) write_change(json, report.together[i], i + 1);
  json.end_array().key("rejected").begin_array();
  for (const RejectedChange& change : report.rejected)
    json.begin_object().field("title", change.title).field("reason", change.reason).end_object();
  json.end_array().field("estimated", std::int64_t(report.estimated)).texts("warnings", report.warnings);
  return json.end_object().take();
}

}  // namespace forerun
