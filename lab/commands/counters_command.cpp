// forerun-lab counters: Nsight Compute's counters into a campaign's CSV, and the page that compares them.
#include <memory>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "evaluation/advice/counters.hpp"

namespace forerun {

LabAction declare_counters(CLI::App& app) {
  struct Options {
    std::string data = "data/measurements/h200-2026-11-counters", page;
    std::vector<std::string> operators, counters;
    std::string times;
  };
  auto options = std::make_shared<Options>();
  app.add_option("--data", options->data, "Folder of the campaign")->capture_default_str();
  app.add_option("--operators", options->operators, "Lists of operators that were run (JSON lines)");
  app.add_option("--ncu", options->counters, "Nsight Compute's CSV of each list; writes counters.csv");
  app.add_option("--times", options->times, "Times of the kernels by PyTorch's profiler (JSON)");
  app.add_option("--write", options->page, "Page to write, docs/accuracy/counters.md; a picture beside it");
  return [options]() -> Status {
    namespace fs = std::filesystem;
    if (options->operators.size() != options->counters.size())
      return bad_input("--operators and --ncu: one CSV for each list");
    std::vector<CounterRow> rows;
    for (std::size_t i = 0; i < options->operators.size(); ++i) {
      FORERUN_TRY(const auto more, import_counters(options->operators[i], options->counters[i], options->times));
      rows.insert(rows.end(), more.begin(), more.end());
    }
    if (!rows.empty())
      FORERUN_CHECK(write_text_file((fs::path(options->data) / "counters.csv").string(), to_csv(rows)));
    if (options->page.empty()) return ok();
    FORERUN_TRY(const Questions questions, Questions::open());
    const fs::path image = fs::path(options->page).replace_extension(".svg");
    FORERUN_TRY(const ReportPage page, counters_page(questions, options->data, image));
    return write_page(options->page, "", to_markdown(page));
  };
}

}  // namespace forerun
