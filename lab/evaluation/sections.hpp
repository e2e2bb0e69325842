// The sections of docs/accuracy/detail.md that `forerun-lab evaluate` can write: one row each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/roofline/roofline_report.hpp"
#include "evaluation/trees/tree_report.hpp"

namespace forerun {

// What sections share; the studies are opened by the first section that needs them.
struct Evaluation {
  StudyOptions options;
  TreeReportOptions report;
  ProgressLine progress;
  std::optional<TreeStudy> trees = std::nullopt;
  std::optional<RooflineStudy> roofline = std::nullopt;
};

struct EvaluationSection {
  const char* name;
  Result<std::vector<ReportSection>> (*report)(Evaluation& evaluation);
  bool in_detail = true;  // of docs/accuracy/detail.md: written when no section is named
};

[[nodiscard]] std::span<const EvaluationSection> evaluation_sections();
[[nodiscard]] const EvaluationSection* find_section(std::string_view name);  // null: there is none
[[nodiscard]] std::string section_names();                                   // "roofline, language, …"

}  // namespace forerun
