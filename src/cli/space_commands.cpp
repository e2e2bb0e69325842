#include "cli/space_commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/json_writer.hpp"
#include "base/text_file.hpp"
#include "cli/fail.hpp"
#include "cli/interrupt.hpp"
#include "search/search.hpp"
#include "search/sweep.hpp"

namespace forerun {
namespace {

// A line that is written over, where a person looks on.
class ProgressLine {
 public:
  explicit ProgressLine(std::ostream& err) : err_(err), is_shown_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (was_shown_) err_ << "\n";
  }
  void show(std::int64_t done, std::int64_t total, double per_s) {
    if (!is_shown_) return;
    was_shown_ = true;
    const int filled = int(30 * double(done) / double(std::max<std::int64_t>(1, total)));
    err_ << fmt::format("\r[{:<30}] {} of {}", std::string(std::size_t(filled), '='), done, total);
    if (per_s > 0) err_ << fmt::format(", {:.0f} a second, {:.0f} s left ", per_s, double(total - done) / per_s);
    err_.flush();
  }

 private:
  std::ostream& err_;
  bool is_shown_, was_shown_ = false;
};

Result<QuestionSpace> read_space(const std::string& path) {
  FORERUN_TRY(const std::string text, read_text_file(path));
  return QuestionSpace::read(text, path);
}

// Becomes `python3 -m forerun.ray`; returns only where that fails.
int run_in_python(const SweepArguments& a, std::ostream& err) {
  std::vector<std::string> words = {"python3",  "-m",    "forerun.ray", a.space,
                                    "--out",    a.out,   "--partition", std::to_string(a.partition),
                                    "--format", a.format};
  if (!a.ray.empty()) words.insert(words.end(), {"--address", a.ray});
  if (a.ray.empty()) words.emplace_back("--local");
  if (a.workers > 0) words.insert(words.end(), {"--workers", std::to_string(a.workers)});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers.front(), pointers.data());
  return fail({ErrorKind::Io, std::string("python3: ") + std::strerror(errno) +
                                  "; --ray and --format parquet need the Python package (pip install 'forerun[ray]')"},
              err);
}

int answer_to_stream(const Service& service, const QuestionSpace& space, const SweepArguments& a, std::ostream& out,
                     const CancelToken& cancel) {
  std::vector<std::string> questions;
  for (std::int64_t first = 0; first < space.size(); first += a.partition) {
    questions.clear();
    for (std::int64_t i = first; i < std::min(space.size(), first + a.partition); ++i)
      questions.push_back(space.question(i));
    for (const AnswerRow& row : answer_questions(service, questions, first, a.workers, cancel))
      out << to_json_line(row, questions[std::size_t(row.question - first)]);
    if (cancel.stopped()) return kInterruptedStatus;
  }
  return 0;
}

}  // namespace

CLI::App* add_sweep_command(CLI::App& app, SweepArguments& a) {
  CLI::App* sweep = app.add_subcommand("sweep", "answer every question of a space, on all cores or on a Ray cluster");
  sweep->add_option("SPACE", a.space, "a file in YAML or JSON that says which values each field takes")->required();
  sweep
      ->add_option("--out", a.out,
                   "folder for the answers, one file a part; the same command goes on where an earlier one ended "
                   "(default: JSON lines on standard output)")
      ->type_name("FOLDER");
  sweep->add_option("--format", a.format, "of the parts; parquet needs the Python package")
      ->check(CLI::IsMember({"jsonl", "parquet"}));
  sweep->add_option("--partition", a.partition, "questions of a part (default 4096)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  sweep->add_option("--workers", a.workers, "threads, or with --ray tasks at a time (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  sweep
      ->add_option("--ray", a.ray, "answer on this Ray cluster (auto, or HOST:PORT; needs the Python package with Ray)")
      ->type_name("ADDRESS");
  auto* questions = sweep->add_flag("--questions", a.questions, "print the questions, one a line, and answer none");
  sweep->add_flag("--json", a.json, "with --out: a summary as one JSON object")->excludes(questions);
  return sweep;
}

int run_sweep_command(const SweepArguments& a, std::ostream& out, std::ostream& err) {
  const auto space = read_space(a.space);
  if (!space) return fail(space.error(), err);
  if (a.questions) {
    for (std::int64_t i = 0; i < space->size(); ++i) out << space->question(i) << "\n";
    return 0;
  }
  const bool needs_python = !a.ray.empty() || a.format == "parquet";
  if (a.out.empty() && (needs_python || a.json))
    return fail(bad_input("--ray, --json and --format parquet need --out FOLDER"), err);
  if (needs_python) return run_in_python(a, err);
  const auto service = Service::create();
  if (!service) return fail(service.error(), err);
  const InterruptScope interrupts;
  if (a.out.empty()) return answer_to_stream(**service, *space, a, out, interrupts.token());
  SweepOptions options{.out = a.out, .partition = a.partition, .threads = a.workers, .cancel = interrupts.token()};
  Result<SweepReport> report = internal_error("not run");
  {
    ProgressLine line(err);
    options.progress = [&](const SweepProgress& p) {
      line.show(p.done, p.total, p.seconds > 0 ? double(p.done) / p.seconds : 0);
    };
    report = run_sweep(**service, *space, options);
  }
  if (!report) return fail(report.error(), err);
  if (a.json) {
    JsonWriter json;
    json.begin_object().field("out", a.out).field("questions", report->questions).field("found", report->found);
    json.field("rows", report->rows).field("errors", report->errors).field("unwritten", report->unwritten);
    out << json.field("seconds", report->seconds).end_object().take() << "\n";
  } else {
    out << fmt::format("{} questions: {} answered before, {} rows now, {} of them errors, in {:.1f} s: {}\n",
                       report->questions, report->found, report->rows, report->errors, report->seconds, a.out);
  }
  if (report->unwritten == 0) return 0;
  return fail({ErrorKind::Io, fmt::format("{} questions are not answered: {}; the same command asks them again",
                                          report->unwritten, report->write_error)},
              err);
}

CLI::App* add_search_command(CLI::App& app, SearchArguments& a) {
  CLI::App* search = app.add_subcommand("search", "the best candidates of a space: a Pareto front of what you name");
  search->add_option("SPACE", a.space, "a file in YAML or JSON that says what may be chosen")->required();
  search
      ->add_option("--objective", a.objectives,
                   "a column of an answer, as in latency_ms, device_memory_mb, usd_per_million, parameters, macs:max; "
                   "may be repeated (default: latency_ms and parameters)")
      ->type_name("COLUMN[:min|max]")
      ->take_all();
  search
      ->add_option("--constraint", a.constraints,
                   "limit that a candidate must keep, as in latency_ms<=5; may be repeated")
      ->type_name("COLUMN<=X")
      ->take_all();
  search->add_option("--algorithm", a.algorithm, "how candidates are proposed (Bayesian: forerun.search in Python)")
      ->check(CLI::IsMember({"random", "evolutionary"}));
  search->add_option("--budget", a.budget, "candidates to predict (default 1000)")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000'000));
  search->add_option("--population", a.population, "candidates of a generation (default 100)")
      ->type_name("N")
      ->check(CLI::Range(2, 1 << 20));
  search->add_option("--seed", a.seed, "of what is drawn at random (default 1)")->type_name("N");
  search->add_option("--workers", a.workers, "threads (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 16));
  search->add_option("--svg", a.svg, "write a chart of the first two objectives to this file")->type_name("FILE");
  auto* json = search->add_flag("--json", a.json, "one JSON object");
  search->add_flag("--csv", a.csv, "the front as CSV")->excludes(json);
  return search;
}

namespace {

std::string render_front(const SearchReport& report) {
  std::string text =
      fmt::format("{} search: {} candidates in {:.1f} s, {} over the limits, {} failed\n", name_of(report.algorithm),
                  report.evaluated, report.seconds, report.over_limits, report.failed);
  if (!report.first_error.empty()) text += "the first failure: " + report.first_error + "\n";
  const auto front = report.front();
  if (front.empty()) return text + "no candidate keeps the limits\n";
  for (const Objective& objective : report.objectives) text += fmt::format("{:>18}", objective.name());
  text += "  question\n";
  for (const SearchCandidate* candidate : front) {
    for (const Objective& objective : report.objectives)
      text += fmt::format("{:>18.6g}", candidate->row.numbers[objective.column]);
    text += "  " + candidate->question + "\n";
  }
  return text;
}

}  // namespace

int run_search_command(const Service& service, const SearchArguments& a, std::ostream& out, std::ostream& err) {
  const auto space = read_space(a.space);
  if (!space) return fail(space.error(), err);
  const InterruptScope interrupts;
  SearchOptions options{.algorithm = *parse_search_algorithm(a.algorithm),
                        .budget = a.budget,
                        .population = a.population,
                        .seed = a.seed,
                        .threads = a.workers,
                        .cancel = interrupts.token()};
  const std::vector<std::string> usual = {"latency_ms", "parameters"};
  for (const std::string& text : a.objectives.empty() ? usual : a.objectives) {
    const auto objective = Objective::parse(text);
    if (!objective) return fail(objective.error(), err);
    options.objectives.push_back(*objective);
  }
  for (const std::string& text : a.constraints) {
    const auto limit = SearchLimit::parse(text);
    if (!limit) return fail(limit.error(), err);
    options.limits.push_back(*limit);
  }
  Result<SearchReport> report = internal_error("not run");
  {
    ProgressLine line(err);
    options.progress = [&](std::int64_t done) { line.show(done, a.budget, 0); };
    report = run_search(service, *space, options);
  }
  if (!report) return fail(report.error(), err);
  if (!a.svg.empty()) {
    if (const Status written = write_text_file(a.svg, render_svg(*report)); !written) return fail(written.error(), err);
  }
  out << (a.json ? to_json(*report) + "\n" : a.csv ? to_csv(*report) : render_front(*report));
  return 0;
}

}  // namespace forerun
