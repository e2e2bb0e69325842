// How well a new phone, board or GPU is predicted from a few of its rows: linear fits and `adapt`, by platform.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "dataset/platform_rows.hpp"
#include "evaluation/report.hpp"

namespace forerun {

struct PlatformStudyOptions {
  int seeds = 3;
  std::size_t judged = 400;  // rows of networks that no fit saw, at most
};
// Tables by platform: share within 10 % and MAPE, mean and spread over the seeds. Splits are by architecture.
[[nodiscard]] ReportSection report_platforms(std::span<const PlatformSource> sources, std::span<const PlatformRow> rows,
                                             const PlatformStudyOptions& options,
                                             const std::function<void(const std::string&)>& progress);

}  // namespace forerun
