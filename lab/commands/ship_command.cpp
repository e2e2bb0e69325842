// forerun-lab ship: judges a bundle and puts it among those that ship when it passes.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "evaluation/ship/gate.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct ShipOptions {
  std::string candidate, against, data = "data/measurements", trees = "bundles/trees.bundle", out = "bundles", answers;
  bool first = false, check = false;
  GateOptions gate;
};

// What the candidate is compared with, by name.
struct Reference {
  std::string name;
  BundleAnswers answers;
};

Result<Reference> find_reference(const ShipOptions& options, const fs::path& shipped, const BundleAnswers& candidate,
                                 std::span<const Example> examples) {
  if (options.first) {
    FORERUN_TRY(BundleAnswers answers, answers_of_roofline(examples));
    std::set<std::string_view> answered;
    for (const BundleAnswer& answer : candidate) answered.insert(answer.key);
    std::erase_if(answers, [&](const BundleAnswer& answer) { return !answered.contains(answer.key); });
    return Reference{"the roofline", std::move(answers)};
  }
  const fs::path kept = fs::path(shipped).replace_extension(".answers.csv");
  std::string path = options.against;
  if (path.empty()) path = fs::exists(kept) ? kept.string() : shipped.string();
  if (!fs::exists(path))
    return not_found(path + ": nothing to compare with: name a bundle or its answers with --against, or say --first");
  if (fs::path(path).extension() == ".csv") {
    FORERUN_TRY(BundleAnswers answers, read_answers(path));
    return Reference{path, std::move(answers)};
  }
  auto answers = answers_of_bundle(path, options.trees, examples);
  if (!answers)
    return Error{answers.error().kind, answers.error().message +
                                           "; the candidate is compared with it: name another with --against, or say "
                                           "--first"};
  return Reference{path, std::move(*answers)};
}

// The candidate and its answers, which the next candidate is compared with.
Status put_in_place(const ShipOptions& options, const fs::path& shipped, const BundleAnswers& answers) {
  FORERUN_TRY(const std::string bytes, read_text_file(options.candidate));
  std::error_code failed;
  fs::create_directories(shipped.parent_path(), failed);
  FORERUN_CHECK(write_answers(answers, fs::path(shipped).replace_extension(".answers.csv").string()));
  return write_text_file(shipped.string(), bytes);
}

Result<int> ship(const ShipOptions& options) {
  FORERUN_TRY(const Bundle bundle, Bundle::open(options.candidate));
  const fs::path shipped = fs::path(options.out) / (bundle.manifest().name + ".bundle");
  if (bundle.manifest().name.find('/') != std::string::npos)
    return bad_input(options.candidate + ": its name '" + bundle.manifest().name + "' cannot name a file");
  FORERUN_TRY(const std::vector<Example> examples, load_judged(options.data));
  if (examples.empty()) return bad_input(options.data + ": holds no run of a network that judges bundles");
  const auto answers = answers_of_bundle(options.candidate, options.trees, examples);
  if (!answers) {
    fmt::print("refused: {}\n", answers.error().message);
    return 1;
  }
  if (!options.answers.empty()) FORERUN_CHECK(write_answers(*answers, options.answers));
  FORERUN_TRY(const Reference reference, find_reference(options, shipped, *answers, examples));
  const GateResult result = judge_candidate(*answers, reference.answers, options.gate);
  fmt::print("{}", to_markdown({.title = "May it ship?",
                                .introduction = "",
                                .sections = {gate_section(result, options.candidate, reference.name)}}));
  if (!result.has_passed()) {
    fmt::print("refused: {} stays as it is\n", shipped.string());
    return 1;
  }
  if (options.check) {
    fmt::print("passed; nothing written (--check)\n");
    return 0;
  }
  FORERUN_CHECK(put_in_place(options, shipped, *answers));
  fmt::print("passed: {} written\n", shipped.string());
  if (bundle.manifest().kind == "trees")
    fmt::print(
        "Graph networks whose kernels these trees time must be trained again: forerun-lab gnn train --trees {}\n",
        shipped.string());
  return 0;
}

}  // namespace

LabAction declare_ship(CLI::App& app) {
  auto options = std::make_shared<ShipOptions>();
  app.add_option("candidate", options->candidate, "Bundle to judge, trained without the networks that judge bundles")
      ->required();
  auto* against = app.add_option("--against", options->against,
                                 "Bundle, or answers as .csv, to compare with. Default: the one of its name in --out");
  app.add_flag("--first", options->first, "The first of its kind: compare with the analytic roofline")
      ->excludes(against);
  app.add_option("--data", options->data, "Folder of campaigns")->capture_default_str();
  app.add_option("--trees", options->trees, "Bundle of the trees that time a graph network's kernels")
      ->capture_default_str();
  app.add_option("--out", options->out, "Folder of the bundles that ship")->capture_default_str();
  app.add_option("--answers", options->answers, "Write the candidate's answers to this CSV file, whatever the verdict");
  app.add_option("--fewest-networks", options->gate.fewest_networks, "Networks that a metric needs to be judged")
      ->capture_default_str()
      ->check(CLI::Range(2, 1000));
  app.add_flag("--check", options->check, "Judge only, write nothing");
  return [options] { return ship(*options); };
}

}  // namespace forerun
