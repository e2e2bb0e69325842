// Sections on several devices: messages between them, language models' training, training of vision networks.
#pragma once

#include <string>

#include "evaluation/report.hpp"

namespace forerun {

Result<ReportSection> report_collectives(const std::string& public_data);
Result<ReportSection> report_mpt(const std::string& public_data);
Result<ReportSection> report_gavel(const std::string& public_data);

}  // namespace forerun
