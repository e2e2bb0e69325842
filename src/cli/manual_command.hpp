// `forerun manual`: the manual page, the shells' completions and a JSON listing, written from the commands themselves;
// the metrics as JSON, from which tests/metrics_check.py writes the page's, Python's and the docs' tables.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace forerun {

struct ManualArguments {
  bool man = false, bash = false, zsh = false, fish = false, json = false, metrics = false;
};

CLI::App* add_manual_command(CLI::App& app, ManualArguments& arguments);
// REQUIRES: all commands are in `app`.
[[nodiscard]] std::string render_manual(const CLI::App& app, const ManualArguments& arguments,
                                        const std::string& version);
[[nodiscard]] std::string render_fish(const CLI::App& app);
[[nodiscard]] std::string render_manual_json(const CLI::App& app);

}  // namespace forerun
