// docs/accuracy/published.md: what the published inference and training designs reach on our rows, and why.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "evaluation/report.hpp"
#include "evaluation/trees/tree_study.hpp"
#include "training/gnn/published_rows.hpp"

namespace forerun {

struct PublishedStudy {
  PublishedRows rows;
  std::vector<PublishedRun> runs;                       // of all groups; names are distinct
  std::string docs = "docs";                            // whose tables about our own predictors are quoted
  std::string graphs = "data/graphs/published.tar.xz";  // of the table of slices
  std::string hardware;                                 // what it was trained on, in words
};
[[nodiscard]] const PublishedRun* find_run(const PublishedStudy& study, std::string_view name);

struct PublishedPage {
  std::vector<ReportSection> sections;
  std::map<std::string, std::string> files;  // pictures, by name
};
[[nodiscard]] Result<PublishedPage> write_published_sections(const PublishedStudy& study, const ProgressLine& progress);

// The parts: published_inference_page.cpp, published_training_page.cpp.
[[nodiscard]] Result<ReportSection> report_published_inference(const PublishedStudy& study, PublishedPage& page);
[[nodiscard]] Result<ReportSection> report_inference_steps(const PublishedStudy& study);
[[nodiscard]] Result<ReportSection> report_published_slices(const PublishedStudy& study);
[[nodiscard]] Result<ReportSection> report_published_training(const PublishedStudy& study, PublishedPage& page);

}  // namespace forerun
