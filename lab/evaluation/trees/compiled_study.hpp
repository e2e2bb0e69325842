// What compiling changes: the learned factor of predictors/compiled/, from runs measured compiled and replayed.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "dataset/compiled_rows.hpp"
#include "dataset/splits.hpp"
#include "evaluation/report.hpp"
#include "evaluation/trees/tree_study.hpp"
#include "predictors/compiled/compiled_pass.hpp"

namespace forerun {

// A compiled run with what the shipped predictors say of it without a learned factor.
struct CompiledPoint {
  CompiledRow row;
  RunKind kind = RunKind::VisionInference;
  std::vector<float> facts;
  double replay_ms = 0, analytic_ms = 0;                    // PyTorch's kernels as answered; Inductor's, analytic
  double replay_memory_mb = 0;                              // as answered
  std::array<double, kCompiledMetrics.size()> base{};       // by kCompiledMetrics; 0: not answered
  std::array<double, kCompiledMetrics.size()> measured{};   // 0: not measured
  std::array<double, kCompiledMetrics.size()> far_width{};  // log half width of the answer on a device never measured
};
Result<std::vector<CompiledPoint>> compiled_points(std::vector<CompiledRow> rows, const ProgressLine& progress);

// Every point's answer by a factor that did not see it, its network or its family; 0 where nothing was measured.
Result<std::vector<double>> hold_out_compiled(std::span<const CompiledPoint> points, std::size_t metric, SplitKind kind,
                                              std::uint64_t seed);
// The factors of all points, with half widths from the split by architecture, as a bundle.
Result<std::string> train_compiled(std::span<const CompiledPoint> points);

// The section of docs/accuracy/detail.md.
Result<ReportSection> report_compiled(const StudyOptions& options, const ProgressLine& progress);

}  // namespace forerun
