// docs/accuracy/advice.md: changes that `forerun advise` proposes, measured before and after.
#pragma once

#include <filesystem>

#include "evaluation/advice/questions.hpp"
#include "evaluation/report.hpp"

namespace forerun {

// A change of a network or of how it runs: time (or memory) saved, measured and predicted, of 1.
struct Gain {
  std::string kind, network, question, change, unit;
  double before = 0, after = 0;                      // measured
  double predicted_before = 0, predicted_after = 0;  // the same
  [[nodiscard]] double measured_saved() const { return 1 - after / before; }
  [[nodiscard]] double predicted_saved() const { return 1 - predicted_after / predicted_before; }
  // A difference under two percent is none.
  [[nodiscard]] bool is_sign_right() const;
};
// `folder`: cases.json, rows.csv and graphs/ of a campaign.
Result<std::vector<Gain>> read_gains(const Questions& questions, const std::filesystem::path& folder);
[[nodiscard]] ReportPage gains_page(const std::vector<Gain>& gains);

}  // namespace forerun
