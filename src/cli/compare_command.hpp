// `forerun compare A B`: its options, and answering.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

#include "cli/arguments.hpp"
#include "service/service.hpp"

namespace forerun {

CLI::App* add_compare_command(CLI::App& app, Arguments& arguments);
// Returns the exit status.
int run_compare(const Service& service, Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace forerun
