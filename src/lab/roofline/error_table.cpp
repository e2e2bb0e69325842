#include "lab/roofline/error_table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace forerun {

void ErrorTable::add(const std::vector<std::string>& group, double estimated, double measured) { ratios_[group].push_back(estimated / measured); }

ReportTable ErrorTable::table(std::string caption) const {
  ReportTable table{.caption = std::move(caption), .columns = columns_, .rows = {}};
  for (const char* column : {"rows", "MAPE %", "median %", "p90 %", "median ratio"}) table.columns.emplace_back(column);
  for (const auto& [group, ratios] : ratios_) {
    std::vector<double> errors;
    for (const double ratio : ratios) errors.push_back(100 * std::abs(ratio - 1));
    std::vector<std::string> cells = group;
    cells.push_back(std::to_string(ratios.size()));
    cells.push_back(fmt::format("{:.1f}", repeated(errors).mean));
    cells.push_back(fmt::format("{:.1f}", quantile(errors, 0.5)));
    cells.push_back(fmt::format("{:.1f}", quantile(errors, 0.9)));
    cells.push_back(fmt::format("{:.2f}", quantile(ratios, 0.5)));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace forerun
