// Errors collected by group, and the table of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "evaluation/report.hpp"

namespace forerun {

class ErrorTable {
 public:
  explicit ErrorTable(std::vector<std::string> group_columns) : columns_(std::move(group_columns)) {}
  // REQUIRES: measured > 0, as many names as group columns.
  void add(const std::vector<std::string>& group, double estimated, double measured);
  struct Errors {
    std::size_t rows = 0;
    double mape = 0, median = 0, p90 = 0;  // percent
  };
  [[nodiscard]] std::map<std::vector<std::string>, Errors> errors() const;
  // Rows, MAPE, median, 90th percentile, and the median ratio of estimate and measurement (above 1: estimated too
  // slow).
  [[nodiscard]] ReportTable table(std::string caption) const;

 private:
  std::vector<std::string> columns_;
  std::map<std::vector<std::string>, std::vector<double>> ratios_;
};

}  // namespace forerun
