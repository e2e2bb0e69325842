#include "evaluation/advice/gains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "advice/optimise/graph_edits.hpp"
#include "base/csv.hpp"
#include "base/text_file.hpp"
#include "readers/networks.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
constexpr double kNone = 0.02;  // a smaller change is no change

struct Row {
  double eager_ms = 0, graph_ms = 0, memory_mb = 0, batch = 1;
};

Result<std::map<std::string, Row>> read_rows(const fs::path& path) {
  std::map<std::string, Row> rows;
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  while (true) {
    FORERUN_TRY(const bool has_row, csv.next());
    if (!has_row) return rows;
    const auto get = [&](const char* column) { return csv.number(column).value_or(0); };
    rows[std::string(csv.field("id"))] = {get("eager_ms"), get("graph_ms"), get("memory_mb"), get("batch")};
  }
}

// What a case compares: milliseconds of a pass, of a sample, or megabytes.
double measured_figure(const Row& row, const std::string& metric, bool is_before) {
  if (metric == "memory") return row.memory_mb;
  if (metric == "step") return row.eager_ms;
  if (metric == "step throughput") return row.eager_ms / row.batch;
  if (metric == "throughput") return row.graph_ms / row.batch;
  if (metric == "runtime") return is_before ? row.eager_ms : row.graph_ms;
  return row.graph_ms;
}

double predicted_figure(const DeviceResult& result, const std::string& metric, double batch) {
  if (metric == "memory") return result.estimates.at(Metric::Memory).value;
  const double ms = result.estimates.at(Metric::Latency).value;
  return metric == "throughput" || metric == "step throughput" ? ms / batch : ms;
}

// The question of a case; a network of the campaign is its graph, another one ships with the program.
Result<Json> question_of(const fs::path& folder, const Json& one, const std::string& network) {
  Json question = one.at("ask");
  question["device"] = "h200-sxm";
  const fs::path graph = folder / "graphs" / (network + ".onnx");
  question["model"] = fs::exists(graph) ? graph.string() : network;
  return question;
}

// The same with the attention that Hugging Face's configuration names.
Json with_attention(Json question, const std::string& attention) {
  Json config = Json::parse(network_text(question.at("model").get<std::string>()));
  config["attn_implementation"] = attention;
  question.erase("model");
  question["config"] = std::move(config);
  return question;
}

struct Pair {
  DeviceResult before, after;
};
Result<Pair> predict_case(const Questions& questions, const fs::path& folder, const Json& one) {
  FORERUN_TRY(Json before, question_of(folder, one, one.at("network")));
  Json after = before;
  const Json& change = one.at("change");
  const GraphEdit* edit = nullptr;
  if (change.is_string()) {
    edit = find_edit(change.get<std::string>());
    if (edit == nullptr) return bad_input("no edit " + change.dump());
  } else if (change.contains("attention")) {
    after = with_attention(before, change.at("attention"));
    before = with_attention(before, "eager");
  } else if (change.contains("network")) {
    FORERUN_TRY(after, question_of(folder, one, change.at("network")));
  } else {
    for (const auto& [key, value] : change.items()) {
      if (key == "last-logits") {
        after["last_logits"] = true;
      } else {
        after[key] = value;
      }
    }
  }
  Pair pair;
  FORERUN_TRY(pair.before, questions.predict(before));
  Result<DeviceResult> changed = questions.predict(after, edit);
  if (!changed && edit == nullptr) return changed.error();
  pair.after = changed ? std::move(*changed) : pair.before;  // an edit without a place is never proposed
  return pair;
}

std::string text_of(const Json& ask) {
  std::string text;
  for (const auto& [key, value] : ask.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key,
                        value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

bool Gain::is_sign_right() const {
  const auto sign = [](double saved) { return saved > kNone ? 1 : saved < -kNone ? -1 : 0; };
  return sign(measured_saved()) == sign(predicted_saved());
}

Result<std::vector<Gain>> read_gains(const Questions& questions, const fs::path& folder) {
  FORERUN_TRY(const std::string text, read_text_file((folder / "cases.json").string()));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return bad_input((folder / "cases.json").string() + ": no JSON");
  FORERUN_TRY(const auto rows, read_rows(folder / "rows.csv"));
  std::vector<Gain> gains;
  for (const Json& one : json.at("cases")) {
    const auto before = rows.find(one.at("before")), after = rows.find(one.at("after"));
    if (before == rows.end() || after == rows.end()) continue;
    const std::string metric = one.at("metric");
    Gain gain{one.at("kind"), one.at("network"), text_of(one.at("ask")),
              one.at("change").is_string() ? one.at("change").get<std::string>() : text_of(one.at("change")),
              metric == "memory"               ? "MB"
              : metric.ends_with("throughput") ? "ms/sample"
                                               : "ms"};
    gain.before = measured_figure(before->second, metric, true);
    gain.after = measured_figure(after->second, metric, false);
    if (!(gain.before > 0 && gain.after > 0)) continue;
    FORERUN_TRY(const Pair pair, predict_case(questions, folder, one));
    gain.predicted_before = predicted_figure(pair.before, metric, before->second.batch);
    gain.predicted_after = predicted_figure(pair.after, metric, after->second.batch);
    gains.push_back(std::move(gain));
  }
  return gains;
}

ReportPage gains_page(const std::vector<Gain>& gains) {
  ReportPage page{
      .title = "Advice, measured",
      .introduction =
          "For people who want to know how far to trust `forerun advise`: changes of the kinds it proposes, made to "
          "real networks and measured on an H200 before and after (PyTorch 2.11, 2026-11-19, medians of warm "
          "repeats, CUDA events). Generated by `forerun-lab gains --write docs/accuracy/advice.md`; do not edit.\n"};
  std::set<std::string> kinds, right_kinds;
  std::map<std::string, std::vector<double>> by_kind;
  std::vector<double> points;
  std::size_t right = 0;
  ReportTable table{.columns = {"change", "network", "question", "before → after", "saved, measured %", "predicted %",
                                "difference, points", "sign right"}};
  for (const Gain& gain : gains) {
    const double difference = std::abs(gain.predicted_saved() - gain.measured_saved()) * 100;
    kinds.insert(gain.kind);
    by_kind[gain.kind].push_back(difference);
    points.push_back(difference);
    right += gain.is_sign_right();
    table.rows.push_back({fmt::format("{} ({})", gain.kind, gain.change), gain.network, gain.question,
                          fmt::format("{} → {} {}", number_cell(gain.before), number_cell(gain.after), gain.unit),
                          fmt::format("{:.0f}", gain.measured_saved() * 100),
                          fmt::format("{:.0f}", gain.predicted_saved() * 100), fmt::format("{:.0f}", difference),
                          gain.is_sign_right() ? "yes" : "no"});
  }
  ReportSection section{.id = "gains", .heading = "Before and after"};
  section.text = fmt::format(
      "{} changes of {} kinds. The sign of the gain is right for {} (a change under 2 % counts as none); the share "
      "saved is {:.0f} "
      "points off at the median. *saved* is the share of the time (of a pass, step or sample), or of the memory, that "
      "the change "
      "saves; an edit that finds no place in a network is not proposed and counts as nothing saved. The networks were "
      "also in the campaigns that the predictors learned from, as far as they are standard "
      "ones; the "
      "changed ones mostly were not.\n",
      gains.size(), kinds.size(), right, median(points));
  section.tables.push_back(std::move(table));
  ReportTable kinds_table{.caption = "By kind", .columns = {"change", "measured", "difference at the median, points"}};
  for (const auto& [kind, differences] : by_kind)
    kinds_table.rows.push_back({kind, std::to_string(differences.size()), fmt::format("{:.0f}", median(differences))});
  section.tables.push_back(std::move(kinds_table));
  page.sections.push_back(std::move(section));
  return page;
}

}  // namespace forerun
