// docs/case-study-unet.md: the published benchmarking study of a U-Net, beside what Forerun predicts for it.
#pragma once

#include <filesystem>

#include "evaluation/advice/questions.hpp"
#include "evaluation/report.hpp"

namespace forerun {

struct CaseStudyFiles {
  std::filesystem::path data = "data/measurements";
  std::filesystem::path page = "docs/case-study-unet.md";
};
// The page's sections; pictures are written beside the page, below images/.
Result<ReportPage> make_case_study(const Questions& questions, const CaseStudyFiles& files);

}  // namespace forerun
