// forerun-lab fit-collectives: fits the times of messages between devices to public tables. Repeatable.
#include <fmt/format.h>

#include <fstream>

#include "commands/command.hpp"
#include "training/parallel/collective_fit.hpp"

namespace forerun {

LabAction declare_fit_collectives(CLI::App& app) {
  struct Options {
    std::string public_data, out = "data/collectives/constants.json";
  };
  auto options = std::make_shared<Options>();
  app.add_option("--public", options->public_data, "folder of the public tables (AIConfigurator, Vidur)")->required();
  app.add_option("--out", options->out, "where the constants go")->capture_default_str();
  return [options]() -> Status {
    FORERUN_TRY(const std::vector<CollectiveRow> rows, load_collectives(options->public_data));
    const CollectiveConstants constants =
        fit_collectives(rows, [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
    std::ofstream file(options->out);
    file << to_json(constants);
    return file.flush() ? ok() : Status(Error{ErrorKind::Io, options->out + ": cannot write"});
  };
}

}  // namespace forerun
