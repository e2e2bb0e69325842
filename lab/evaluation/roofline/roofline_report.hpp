// The roofline's sections of docs/accuracy/detail.md: networks, operators, devices left out of the fit, language
// models, serving.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluation/report.hpp"
#include "predictors/roofline/roofline.hpp"
#include "training/roofline/measured_rows.hpp"

namespace forerun {

using RooflineProgress = std::function<void(const std::string&)>;

struct RooflineStudy {
  MeasuredOptions options;
  Catalogue catalogue;
  MeasuredRows rows;
};
Result<RooflineStudy> open_roofline_study(const MeasuredOptions& options);

// Whole networks of the campaigns: by kind of run, precision and family.
[[nodiscard]] ReportSection report_roofline_networks(const std::vector<NetworkRow>& rows,
                                                     const RooflineConstants& constants);
// Operators timed alone, by device and class.
[[nodiscard]] ReportSection report_roofline_operators(const std::vector<OperatorRow>& rows,
                                                      const RooflineConstants& constants);
// The constants fitted again without one device, judged on its operators; one fit for each device, on a part of
// our own rows.
[[nodiscard]] ReportSection report_left_out(const MeasuredRows& rows, int rounds, const RooflineProgress& progress);

// Operators of serving engines and of decoder layers, by device; exchange between devices.
Result<std::vector<ReportSection>> report_language(const RooflineStudy& study);
// Serving runs: time to the first token and between tokens, one device and several apart.
Result<ReportSection> report_serving(const RooflineStudy& study, const RooflineProgress& progress);

}  // namespace forerun
