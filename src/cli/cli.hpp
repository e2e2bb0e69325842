// The command line: translates arguments into requests and reports into text. Computes nothing.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace forerun {

// Runs one command. Returns the exit status: 0 answered, 2 the request or file is wrong, 1 our own fault.
int run_cli(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace forerun
