// forerun-lab gains: writes docs/accuracy/advice.md, advised changes measured before and after.
#include <memory>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "evaluation/advice/gains.hpp"

namespace forerun {

LabAction declare_gains(CLI::App& app) {
  struct Options {
    std::string data = "data/measurements/h200-2026-11-advice", page = "docs/accuracy/advice.md";
  };
  auto options = std::make_shared<Options>();
  app.add_option("--data", options->data, "Folder of the campaign: cases.json, rows.csv, graphs/")
      ->capture_default_str();
  app.add_option("--write", options->page, "Page to write")->capture_default_str();
  return [options]() -> Status {
    FORERUN_TRY(const Questions questions, Questions::open());
    FORERUN_TRY(const std::vector<Gain> gains, read_gains(questions, options->data));
    return write_text_file(options->page, to_markdown(gains_page(gains)));
  };
}

}  // namespace forerun
