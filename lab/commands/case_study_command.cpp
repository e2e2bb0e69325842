// forerun-lab case-study: writes docs/case-study-unet.md.
#include <memory>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "evaluation/advice/case_study.hpp"

namespace forerun {

LabAction declare_case_study(CLI::App& app) {
  auto files = std::make_shared<CaseStudyFiles>();
  app.add_option("--data", files->data, "Folder of campaigns")->capture_default_str();
  app.add_option("--write", files->page, "Page to write; pictures beside it")->capture_default_str();
  return [files]() -> Status {
    FORERUN_TRY(const Questions questions, Questions::open());
    FORERUN_TRY(const ReportPage page, make_case_study(questions, *files));
    return write_text_file(files->page.string(), to_markdown(page));
  };
}

}  // namespace forerun
