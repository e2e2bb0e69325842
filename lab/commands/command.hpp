// The sub-commands of forerun-lab: one row each in commands.cpp, one file each beside it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.hpp"

namespace forerun {

using LabAction = std::function<Status()>;

struct LabCommand {
  const char* name;
  const char* summary;
  // Declares options and further sub-commands on `app`; returns what to run when it was chosen.
  LabAction (*declare)(CLI::App& app);
};

[[nodiscard]] std::span<const LabCommand> lab_commands();

LabAction declare_gnn(CLI::App& app);
LabAction declare_store(CLI::App& app);
LabAction declare_measure(CLI::App& app);
LabAction declare_search(CLI::App& app);
LabAction declare_characterize(CLI::App& app);
LabAction declare_fit_roofline(CLI::App& app);
LabAction declare_train(CLI::App& app);
LabAction declare_evaluate(CLI::App& app);
LabAction declare_adapt(CLI::App& app);

// Parses and runs. Returns the exit status: 0 done, 2 the request or a file is wrong, 1 our own fault.
int run_lab(int argc, const char* const* argv);

}  // namespace forerun
