// `forerun serve`: its options, and running it.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/serve.hpp"
#include "service/service.hpp"

namespace forerun {

struct ServeArguments {
  server::ServeOptions options;
  std::string token_file;
  std::vector<std::string> device_files;  // for the service
  std::uint64_t max_upload_mb = 2048;
  double timeout_s = 60;
  std::vector<std::string> allowed_hosts, allowed_origins;
  double max_work_millions = 20;
};

CLI::App* add_serve_command(CLI::App& app, ServeArguments& arguments);
// Returns when stopped. Writes the listening address to `err`.
Status run_serve(const Service& service, const ServeArguments& arguments, std::ostream& err);

}  // namespace forerun
