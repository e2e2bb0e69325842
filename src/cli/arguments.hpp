// Values of a command line as written, and the request they make.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/interrupt.hpp"
#include "service/options.hpp"

namespace forerun {

struct Arguments {
  std::string model, other;  // `other`: what `forerun compare` compares with
  bool json = false, text = false, nodes = false, csv = false, strict = false, no_config = false;
  std::string svg;
  std::vector<std::string> columns;
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;
  std::optional<InterruptScope> interrupts;  // from the request on

  // With the defaults of ~/.config/forerun/config.json for options of `which` commands that are not given.
  Result<Request> request(unsigned which);
  [[nodiscard]] bool has(std::string_view option) const;
};

// The rows of the option table that `which` commands take, in groups.
void add_options(CLI::App* command, unsigned which, Arguments& arguments);

}  // namespace forerun
