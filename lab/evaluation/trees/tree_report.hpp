// The learned predictors' sections of docs/accuracy/detail.md.
#pragma once

#include <string>
#include <vector>

#include "evaluation/report.hpp"
#include "evaluation/trees/tree_study.hpp"

namespace forerun {

struct TreeReportOptions {
  int seeds = 5;
  unsigned threads = 0;
  std::string plots;  // folder for pictures; empty: none
};

// Errors under all protocols against the baselines; pictures of the by-architecture predictions.
Result<ReportSection> report_networks(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress);
// Which inputs matter: the published ablation.
Result<ReportSection> report_ablation(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress);
// Operators of a device that was left out of training.
Result<ReportSection> report_operators(const TreeStudy& study, const TreeReportOptions& options,
                                       const ProgressLine& progress);
Result<ReportSection> report_products(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress);
// Whole networks of a device that was left out of training.
Result<ReportSection> report_left_out(const TreeStudy& study, const ProgressLine& progress);
// The same devices with 0 to 300 of their rows to adapt with.
Result<ReportSection> report_few_shot(const TreeStudy& study, const TreeReportOptions& options,
                                      const ProgressLine& progress);
// Gains of changes of one setting, predicted against measured.
Result<ReportSection> report_gains(const TreeStudy& study, const TreeReportOptions& options,
                                   const ProgressLine& progress);
// The published study of trees for language models (llm_trees.cpp).
Result<ReportSection> report_published_trees(const std::string& data, const ProgressLine& progress);
// Two measurements of the same row, and rows that should be equal.
Result<ReportSection> report_noise(const TreeStudy& study, const std::string& data_folder);

}  // namespace forerun
