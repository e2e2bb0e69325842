#include "evaluation/gnn/gnn_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/conformal.hpp"
#include "base/csv.hpp"
#include "base/text_file.hpp"
#include "bundle/bundle.hpp"
#include "dataset/splits.hpp"
#include "evaluation/report.hpp"
#include "evaluation/trees/cross_validate.hpp"
#include "evaluation/trees/tree_study.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// One held-out answer. `trees` 0: the trees have none.
struct HeldOutRow {
  std::string protocol, run, metric, id, network, family;
  double measured = 0, roofline = 0, network_says = 0, trees = 0;
};

Result<std::vector<HeldOutRow>> read_held_out(const std::string& path) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  std::vector<HeldOutRow> rows;
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return rows;
    const auto text = [&](const char* name) { return std::string(csv.field(name)); };
    const auto measured = csv.number("measured"), roofline = csv.number("roofline"),
               predicted = csv.number("predicted");
    if (!measured || !roofline || !predicted)
      return bad_input(fmt::format("{}: line {}: a number is missing", path, csv.line()));
    rows.push_back({text("protocol"), text("run"), text("metric"), text("row"), text("network"), text("family"),
                    *measured, *roofline, *predicted, 0});
  }
}

// The trees' held-out answers under the same protocols, by protocol, run, metric and row.
using TreesHeldOut = std::map<std::array<std::string, 4>, double>;
Result<TreesHeldOut> answer_by_trees(const GnnPageOptions& options,
                                     const std::function<void(const std::string&)>& say) {
  StudyOptions study_options;
  study_options.data = options.data;
  study_options.public_data = options.public_data;
  FORERUN_TRY(const TreeStudy study, open_study(study_options, say));
  TreesHeldOut answers;
  for (const auto& [domain, metric] : learnable(study.rows)) {
    if (metric == RunMetric::DeviceMemory) continue;
    const MetricRows rows = metric_rows(study.rows, domain, metric);
    for (const SplitKind kind : {SplitKind::AsPublished, SplitKind::ByArchitecture, SplitKind::LeaveOneFamilyOut}) {
      FORERUN_TRY(const HeldOut held, hold_out(study, domain, metric, kind, 1));
      for (std::size_t i = 0; i < rows.measured.size(); ++i) {
        if (held.fold[i] < 0) continue;
        answers[{std::string(name_of(kind)), std::string(name_of(domain)), std::string(name_of(metric)),
                 split_key(study.rows.examples[rows.example[i]]).id}] = held.predicted[i];
      }
    }
    say(fmt::format("trees: {} {}", name_of(domain), name_of(metric)));
  }
  return answers;
}

// Kept with the studies' results, so that a page can be written again; delete the file to cross-validate anew.
constexpr const char* kTreeFile = "trees-held-out.csv";

Status write_tree_answers(const fs::path& path, const TreesHeldOut& answers) {
  std::string text = "protocol,run,metric,row,predicted\n";
  for (const auto& [key, predicted] : answers)
    text += fmt::format("{},{},{},{},{:.6g}\n", key[0], key[1], key[2], key[3], predicted);
  return write_text_file(path.string(), text);
}

Result<TreesHeldOut> read_tree_answers(const fs::path& path) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  TreesHeldOut answers;
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return answers;
    const auto predicted = csv.number("predicted");
    if (!predicted) return bad_input(fmt::format("{}: line {}: a number is missing", path.string(), csv.line()));
    answers[{std::string(csv.field("protocol")), std::string(csv.field("run")), std::string(csv.field("metric")),
             std::string(csv.field("row"))}] = *predicted;
  }
}

struct Errors {
  double sum = 0, count = 0, squares = 0;
  void add(double predicted, double measured) {
    const double error = std::abs(predicted / measured - 1);
    sum += error;
    squares += (predicted - measured) * (predicted - measured);
    ++count;
  }
  [[nodiscard]] double mape() const { return count > 0 ? 100 * sum / count : 0; }
  [[nodiscard]] std::string cell() const { return count > 0 ? fmt::format("{:.1f}", mape()) : "–"; }
  [[nodiscard]] double rmse() const { return count > 0 ? std::sqrt(squares / count) : 0; }
};

constexpr const char* kRuns[] = {"vision_inference", "vision_training", "llm"};
constexpr const char* kMetrics[] = {"latency_graph_ms", "latency_eager_ms", "step_ms",        "memory_mb",
                                    "energy_j",         "power_w",          "energy_graph_j", "power_graph_w"};
constexpr const char* kProtocols[] = {"as_published", "by_architecture", "leave_one_family_out"};

using Chosen = std::vector<const HeldOutRow*>;
Chosen choose(const std::vector<HeldOutRow>& rows, std::string_view run, std::string_view metric,
              std::string_view protocol) {
  Chosen chosen;
  for (const HeldOutRow& row : rows) {
    if (row.run == run && row.metric == metric && row.protocol == protocol) chosen.push_back(&row);
  }
  return chosen;
}

using Says = double (*)(const HeldOutRow&);
double network_says(const HeldOutRow& row) { return row.network_says; }
double trees_say(const HeldOutRow& row) { return row.trees; }
double average_says(const HeldOutRow& row) { return std::sqrt(row.trees * row.network_says); }
double log_error(const HeldOutRow& row, Says says) { return std::abs(std::log(says(row) / row.measured)); }

// Intervals are checked on one half of the networks with what the other half gives.
enum class Half : std::uint8_t { First, Second, Both };
bool is_in(const HeldOutRow& row, Half half) {
  return half == Half::Both || mix_seed(row.network, 5) % 2 == static_cast<std::uint64_t>(half);
}

// The 90 % half width on the log scale; 0 where there are fewer than ten rows.
double half_width(const Chosen& rows, Says says, Half half) {
  std::vector<double> errors;
  for (const HeldOutRow* row : rows) {
    if (is_in(*row, half) && says(*row) > 0) errors.push_back(log_error(*row, says));
  }
  return errors.size() < 10 ? 0 : conformal_half_width(std::move(errors));
}

// Width of the average's interval relative to the trees'; 0 where that is not known.
double width_beside_trees(const Chosen& by_architecture, Half half) {
  const double trees = half_width(by_architecture, trees_say, half);
  return trees > 0 ? half_width(by_architecture, average_says, half) / trees : 0;
}

// The share of rows inside ± a half width, in per cent.
double coverage_of(const Chosen& rows, Says says, const std::function<double(Half)>& width_from) {
  double inside = 0, count = 0;
  for (const auto& [half, other] : {std::pair{Half::First, Half::Second}, std::pair{Half::Second, Half::First}}) {
    const double width = width_from(other);
    for (const HeldOutRow* row : rows) {
      if (!is_in(*row, half) || !(says(*row) > 0)) continue;
      ++count;
      inside += log_error(*row, says) <= width ? 1 : 0;
    }
  }
  return count > 0 ? 100 * inside / count : 0;
}

std::string protocol_tables(const std::vector<HeldOutRow>& rows) {
  std::string out =
      "| run | metric | protocol | rows | roofline | trees | graph network | average of both | best | network's "
      "interval covers % | average's covers % |\n|---|---|---|---:|---:|---:|---:|---:|---|---:|---:|\n";
  for (const char* run : kRuns) {
    for (const char* metric : kMetrics) {
      const Chosen by_architecture = choose(rows, run, metric, "by_architecture");
      for (const char* protocol : kProtocols) {
        Errors roofline, trees, network, both;
        const Chosen chosen = choose(rows, run, metric, protocol);
        for (const HeldOutRow* row : chosen) {
          roofline.add(row->roofline, row->measured);
          network.add(row->network_says, row->measured);
          if (row->trees > 0) {
            trees.add(row->trees, row->measured);
            both.add(average_says(*row), row->measured);
          }
        }
        if (chosen.empty()) continue;
        const char* best = trees.count == 0 || network.mape() < trees.mape() ? "graph network" : "trees";
        if (both.count > 0 && both.mape() < std::min(trees.mape(), network.mape())) best = "average";
        const double network_covers =
            coverage_of(chosen, network_says, [&](Half half) { return half_width(chosen, network_says, half); });
        const double average_covers = coverage_of(chosen, average_says, [&](Half half) {
          return half_width(chosen, trees_say, half) * width_beside_trees(by_architecture, half);
        });
        out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0f} | {:.0f} |\n", run, metric, protocol,
                           chosen.size(), roofline.cell(), trees.cell(), network.cell(), both.cell(), best,
                           network_covers, average_covers);
      }
    }
  }
  return out;
}

// Into the bundle: how much narrower the average's intervals are than the trees' (part "average", by run and metric).
Status write_average_widths(const std::string& path, const std::vector<HeldOutRow>& rows) {
  nlohmann::json widths = nlohmann::json::object();
  for (const char* run : kRuns) {
    for (const char* metric : kMetrics) {
      const double width = width_beside_trees(choose(rows, run, metric, "by_architecture"), Half::Both);
      if (width > 0) widths[fmt::format("{} {}", run, metric)] = std::round(width * 1e3) / 1e3;
    }
  }
  FORERUN_TRY(const Bundle bundle, Bundle::open(path));
  BundleManifest manifest = bundle.manifest();
  manifest.parts["average"] = widths.dump();
  BundleWriter writer(manifest);
  for (const std::string& name : bundle.section_names()) {
    FORERUN_TRY(const std::string_view bytes, bundle.section(name));
    FORERUN_CHECK(writer.add_section(name, std::string(bytes)));
  }
  return writer.write(path);
}

struct Aim {
  const char *run, *metric;
  double as_published, by_architecture;
};
constexpr Aim kAims[] = {{"vision_inference", "latency_graph_ms", 3, 5},
                         {"vision_inference", "memory_mb", 2, 3},
                         {"vision_inference", "energy_j", 5, 8},
                         {"vision_inference", "energy_graph_j", 5, 8},
                         {"vision_training", "step_ms", 7, 9},
                         {"vision_training", "memory_mb", 4, 5},
                         {"vision_training", "power_w", 4, 5}};

std::string aim_table(const std::vector<HeldOutRow>& rows) {
  std::string out =
      "| run | metric | protocol | aim | graph network | average with the trees | reached "
      "|\n|---|---|---|---:|---:|---:|---|\n";
  const auto line = [&](const char* run, const char* metric, const char* protocol, double aim) {
    Errors network, both;
    for (const HeldOutRow* row : choose(rows, run, metric, protocol)) {
      network.add(row->network_says, row->measured);
      if (row->trees > 0) both.add(average_says(*row), row->measured);
    }
    const bool reached = network.mape() <= aim || (both.count > 0 && both.mape() <= aim);
    out += fmt::format("| {} | {} | {} | {:.0f} | {} | {} | {} |\n", run, metric, protocol, aim, network.cell(),
                       both.cell(), reached ? "yes" : "no");
  };
  for (const Aim& aim : kAims) {
    line(aim.run, aim.metric, "as_published", aim.as_published);
    line(aim.run, aim.metric, "by_architecture", aim.by_architecture);
  }
  line("vision_inference", "latency_graph_ms", "leave_one_family_out", 10);
  return out;
}

std::string family_table(const std::vector<HeldOutRow>& rows) {
  std::string out =
      "| family | metric | rows | MAPE %, by architecture | RMSE, by architecture | MAPE %, family left out | trees, "
      "family left out |\n|---|---|---:|---:|---:|---:|---:|\n";
  std::map<std::pair<std::string, std::string>, std::array<Errors, 3>> parts;
  for (const HeldOutRow& row : rows) {
    if (row.metric != "latency_graph_ms" && row.metric != "step_ms") continue;
    auto& part = parts[{row.family, row.metric}];
    if (row.protocol == "by_architecture") part[0].add(row.network_says, row.measured);
    if (row.protocol == "leave_one_family_out") {
      part[1].add(row.network_says, row.measured);
      if (row.trees > 0) part[2].add(row.trees, row.measured);
    }
  }
  for (const auto& [key, part] : parts) {
    out += fmt::format("| {} | {} | {} | {} | {:.3g} ms | {} | {} |\n", key.first, key.second, part[0].count,
                       part[0].cell(), part[0].rmse(), part[1].cell(), part[2].cell());
  }
  return out;
}

// A short section of docs/accuracy/detail.md that leads here; the page's other sections stay.
Status link_from_accuracy(const fs::path& docs, const std::vector<HeldOutRow>& rows) {
  const fs::path json = docs / "accuracy/detail.json";
  if (!fs::exists(json)) return ok();
  FORERUN_TRY(const std::string text, read_text_file(json.string()));
  FORERUN_TRY(ReportPage page, parse_page(text));
  ReportTable table{
      .caption = "Trees, graph network and their average (MAPE, %; as published / by architecture / family left out)",
      .columns = {"kind of run", "metric", "rows", "trees", "graph network", "average"}};
  for (const char* run : kRuns) {
    for (const char* metric : kMetrics) {
      std::array<std::string, 3> cells;
      std::size_t count = 0;
      for (const char* protocol : kProtocols) {
        Errors trees, network, both;
        for (const HeldOutRow* row : choose(rows, run, metric, protocol)) {
          if (!(row->trees > 0)) continue;
          trees.add(row->trees, row->measured);
          network.add(row->network_says, row->measured);
          both.add(average_says(*row), row->measured);
        }
        count = static_cast<std::size_t>(trees.count);
        const std::string between = cells[0].empty() ? "" : " / ";
        cells[0] += between + trees.cell();
        cells[1] += between + network.cell();
        cells[2] += between + both.cell();
      }
      if (count > 0) table.rows.push_back({run, metric, std::to_string(count), cells[0], cells[1], cells[2]});
    }
  }
  put_section(page, {.id = "graph-networks",
                     .heading = "Graph networks",
                     .text = "The graph networks ([method](../method/graph-network.md)) under the same splits; more in "
                             "[graph networks](graph-networks.md). Written by `forerun-lab gnn page`.\n",
                     .tables = {table}});
  FORERUN_CHECK(write_text_file(json.string(), to_json(page)));
  return write_page(docs / "accuracy/detail.md", "", to_markdown(page));
}

}  // namespace

Status write_gnn_page(const GnnPageOptions& options, const std::function<void(const std::string&)>& say) {
  const fs::path work = options.work, folder = fs::path(options.docs) / "accuracy/graph-networks";
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  std::string page =
      "# Graph networks: accuracy\n\nFor readers who want to know how the graph networks were judged against the "
      "trees, and what layers, pre-training and transfer change. Generated by `forerun-lab gnn study` and `forerun-lab "
      "gnn page`; do not edit. How the networks are built: [graph network](../method/graph-network.md). Shipped "
      "networks are scored by the code that answers users, with weights rounded to 16 bits; the published designs are "
      "scored in LibTorch.\n";
  for (const auto& [name, title] : options.sections) {
    const auto section = read_text_file((work / (name + ".md")).string());
    if (!section) {
      say("no section " + name);
      continue;
    }
    page += fmt::format("\n## {}\n\n", title);
    if (name == "protocols") {
      FORERUN_TRY(std::vector<HeldOutRow> rows, read_held_out((work / "held-out.csv").string()));
      if (options.trees) {
        TreesHeldOut answers;
        if (fs::exists(work / kTreeFile)) {
          FORERUN_TRY(answers, read_tree_answers(work / kTreeFile));
        } else {
          FORERUN_TRY(answers, answer_by_trees(options, say));
          FORERUN_CHECK(write_tree_answers(work / kTreeFile, answers));
        }
        for (HeldOutRow& row : rows) {
          const auto found = answers.find({row.protocol, row.run, row.metric, row.id});
          if (found != answers.end()) row.trees = found->second;
        }
      }
      if (options.trees) FORERUN_CHECK(link_from_accuracy(options.docs, rows));
      if (options.trees && !options.bundle.empty()) FORERUN_CHECK(write_average_widths(options.bundle, rows));
      page +=
          "Every row is predicted by networks that did not see it: *as published* five folds of rows (other batches of "
          "the same network may be in training), *by architecture* five folds of networks, "
          "*leave one family out* each family from all others. The trees are cross-validated under the same splits. "
          "The average is the geometric mean of both answers. MAPE in per cent. Intervals: the 90 % half "
          "width is set on one half of the networks and checked on the other; the average has the trees' interval, "
          "scaled by the ratio of the two errors by architecture.\n\n";
      page += protocol_tables(rows) + "\nAgainst the aims:\n\n" + aim_table(rows) + "\nBy family:\n\n" +
              family_table(rows) +
              "\n![loss](graph-networks/gnn-loss.svg)\n\n![embeddings](graph-networks/gnn-embeddings.svg)\n\n";
    }
    page += *section;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(work)) {
    const std::string extension = entry.path().extension();
    if (extension != ".svg" && extension != ".log") continue;
    FORERUN_TRY(const std::string text, read_text_file(entry.path().string()));
    FORERUN_CHECK(write_text_file((folder / entry.path().filename()).string(), text));
  }
  return write_page(fs::path(options.docs) / "accuracy/graph-networks.md", "graph-networks/", page);
}

}  // namespace forerun
