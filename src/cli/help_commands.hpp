// `forerun help`, `completion` and `man`: what the program says about itself.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cli/view.hpp"

namespace forerun {

struct HelpArguments {
  std::string command, shell;
};

// REQUIRES: all other commands are in `app`; what is passed lives until it has been parsed. `write` takes the text.
void add_help_commands(CLI::App& app, HelpArguments& arguments, const View& view,
                       const std::function<void(const std::string&)>& write);

}  // namespace forerun
