#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "commands/command.hpp"

namespace forerun {
namespace {

constexpr std::array kCommands = {
    LabCommand{"adapt", "Correct the answers for a device with a few measurements of it", declare_adapt},
    LabCommand{"case-study", "Write the page that sets a published benchmarking study beside our answers",
               declare_case_study},
    LabCommand{"characterize", "Measure the ceilings of this machine's GPU", declare_characterize},
    LabCommand{"compiled", "Learn what torch.compile changes from runs measured compiled and replayed",
               declare_compiled},
    LabCommand{"counters", "Read Nsight Compute's counters of operators; compare them with predicted bytes",
               declare_counters},
    LabCommand{"decode", "Let a language model continue a text", declare_decode},
    LabCommand{"evaluate", "Judge predictors on held-out measurements; writes docs/accuracy/detail.md",
               declare_evaluate},
    LabCommand{"fit-collectives", "Fit the times of messages between devices to public tables",
               declare_fit_collectives},
    LabCommand{"fit-roofline", "Fit the roofline's constants to measurements", declare_fit_roofline},
    LabCommand{"fit-steps", "Fit what training on several devices adds to a rank's kernels to public tables",
               declare_fit_steps},
    LabCommand{"gains", "Write the page of advised changes measured before and after", declare_gains},
    LabCommand{"gnn", "Train graph networks, compare them, draw unlabelled graphs", declare_gnn},
    LabCommand{"measure", "Run a plan of networks on this machine's GPU and record it", declare_measure},
    LabCommand{"platforms", "Fit and judge the rates of phones and boards that public tables hold", declare_platforms},
    LabCommand{"published", "Train, judge and bundle the published graph-network predictors", declare_published},
    LabCommand{"restamp",
               "Give bundles this program's hashes, where the sample they are taken of changed and no feature",
               declare_restamp},
    LabCommand{"search", "Search the parameters that trees are trained with", declare_search},
    LabCommand{"ship", "Judge a bundle against the one that ships; put it in its place when it passes", declare_ship},
    LabCommand{"store", "Import, export and list measurements", declare_store},
    LabCommand{"train", "Train the predictors that ship from measurements", declare_train},
};

int status_of(const Error& error) {
  std::fprintf(stderr, "forerun-lab: %s\n", error.message.c_str());
  return error.kind == ErrorKind::Internal ? 1 : 2;
}

}  // namespace

std::span<const LabCommand> lab_commands() { return kCommands; }

int run_lab(int argc, const char* const* argv) {
  CLI::App app("Measures, keeps and studies how networks run. Answers come from the other program, forerun.",
               "forerun-lab");
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, LabAction>> actions;
  for (const LabCommand& command : lab_commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    actions.emplace_back(sub, command.declare(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "forerun-lab: %s (--help shows how)\n", error.what());
    return 2;
  }
  try {
    for (const auto& [sub, action] : actions) {
      if (!sub->parsed()) continue;
      const Result<int> status = action();
      return status ? *status : status_of(status.error());
    }
  } catch (const std::exception& error) {
    return status_of(internal_error(std::string("unexpected: ") + error.what()));
  }
  return 0;
}

}  // namespace forerun
