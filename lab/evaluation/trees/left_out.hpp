// Whole networks on a device that is left out of everything: what each predictor says of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluation/trees/tree_study.hpp"

namespace forerun {

// Answers on devices left out of training; entry i belongs to TreeStudy::elsewhere[i].
struct LeftOutAnswers {
  std::vector<double> measured, roofline, kernel_sum, learned, log_linear, plain;
  std::vector<char> waits;        // of kernel_sum: host_may_decide()
  std::vector<TreeInput> inputs;  // summed by the learned kernels, without facts: class shares and times
};
// With `baselines` all of them, else `learned`, `inputs` and `kernel_sum` alone.
Result<LeftOutAnswers> leave_devices_out(const TreeStudy& study, bool baselines, const ProgressLine& progress);

// The shipped learner: on our own networks and on these rows of TreeStudy::elsewhere.
Result<TreeNodes> train_elsewhere(const TreeStudy& study, std::span<const std::size_t> rows);
// An even choice of the rows of TreeStudy::elsewhere, without those of one device's chip.
[[nodiscard]] std::vector<std::size_t> rows_to_learn(const TreeRows& rows, const std::string& left_out = {});

// Boards of one chip go together: "a100-sxm-40gb" and "a100-pcie-80gb" are "a100".
[[nodiscard]] std::string chip_of(const std::string& device);

// 90 % half width on the log scale for a device of which nothing was measured: a quarter more than what
// nine of ten rows on every other device needed when that one was left out (`left_out`: not asked). `metric`: rows of
// this one alone.
[[nodiscard]] double left_out_half_width(const TreeRows& rows, const LeftOutAnswers& answers,
                                         const std::vector<double>& predicted, std::string_view metric,
                                         const std::string& left_out = {});

}  // namespace forerun
