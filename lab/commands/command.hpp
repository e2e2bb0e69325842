// The sub-commands of forerun-lab: one row each in commands.cpp, one file each in this folder.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.hpp"

namespace forerun {

// What a chosen command does; returns the exit status. Made of a function that returns that, or a Status: 0 when ok.
class LabAction {
 public:
  template <typename Function>
  LabAction(Function function) {
    if constexpr (std::is_same_v<std::invoke_result_t<Function&>, Status>) {
      run_ = [function = std::move(function)]() mutable -> Result<int> {
        FORERUN_CHECK(function());
        return 0;
      };
    } else {
      run_ = std::move(function);
    }
  }
  Result<int> operator()() const { return run_(); }

 private:
  std::function<Result<int>()> run_;
};

struct LabCommand {
  const char* name;
  const char* summary;
  // Declares options and further sub-commands on `app`; returns what to run when it was chosen.
  LabAction (*declare)(CLI::App& app);
};

[[nodiscard]] std::span<const LabCommand> lab_commands();

LabAction declare_gnn(CLI::App& app);
LabAction declare_published(CLI::App& app);
LabAction declare_ship(CLI::App& app);
LabAction declare_store(CLI::App& app);
LabAction declare_measure(CLI::App& app);
LabAction declare_platforms(CLI::App& app);
LabAction declare_restamp(CLI::App& app);
LabAction declare_search(CLI::App& app);
LabAction declare_characterize(CLI::App& app);
LabAction declare_fit_collectives(CLI::App& app);
LabAction declare_fit_roofline(CLI::App& app);
LabAction declare_fit_steps(CLI::App& app);
LabAction declare_compiled(CLI::App& app);
LabAction declare_train(CLI::App& app);
LabAction declare_evaluate(CLI::App& app);
LabAction declare_adapt(CLI::App& app);
LabAction declare_case_study(CLI::App& app);
LabAction declare_counters(CLI::App& app);
LabAction declare_gains(CLI::App& app);
LabAction declare_decode(CLI::App& app);

// Parses and runs. Returns the exit status: 0 done, 1 refused by `ship`, 2 the request or a file is wrong, 1 our own
// fault.
int run_lab(int argc, const char* const* argv);

}  // namespace forerun
