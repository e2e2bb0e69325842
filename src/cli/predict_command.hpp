// `forerun predict`: its options, and answering.
#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <ostream>

#include "cli/arguments.hpp"
#include "service/service.hpp"

namespace forerun {

inline constexpr int kAssertionStatus = 3;  // an assertion does not hold

CLI::App* add_predict_command(CLI::App& app, Arguments& arguments);
// Returns the exit status.
int run_predict(const Service& service, Arguments& arguments, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace forerun
