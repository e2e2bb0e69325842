#include "evaluation/roofline/error_table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace forerun {

void ErrorTable::add(const std::vector<std::string>& group, double estimated, double measured) {
  ratios_[group].push_back(estimated / measured);
}

std::map<std::vector<std::string>, ErrorTable::Errors> ErrorTable::errors() const {
  std::map<std::vector<std::string>, Errors> all;
  for (const auto& [group, ratios] : ratios_) {
    std::vector<double> off;
    for (const double ratio : ratios) off.push_back(100 * std::abs(ratio - 1));
    all[group] = {ratios.size(), repeated(off).mean, quantile(off, 0.5), quantile(off, 0.9)};
  }
  return all;
}

ReportTable ErrorTable::table(std::string caption) const {
  ReportTable table{.caption = std::move(caption), .columns = columns_, .rows = {}};
  for (const char* column : {"rows", "MAPE %", "median %", "p90 %", "median ratio"}) table.columns.emplace_back(column);
  for (const auto& [group, e] : errors()) {
    std::vector<std::string> cells = group;
    cells.push_back(std::to_string(e.rows));
    cells.push_back(fmt::format("{:.1f}", e.mape));
    cells.push_back(fmt::format("{:.1f}", e.median));
    cells.push_back(fmt::format("{:.1f}", e.p90));
    cells.push_back(fmt::format("{:.2f}", quantile(ratios_.at(group), 0.5)));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace forerun
