// Explains answers of the trees: the features that changed an answer, each with its factor.
#include <algorithm>
#include <cmath>

#include "predictors/trees/tree_predictor.hpp"

namespace forerun {
namespace {

void sort_by_effect(Explanation& explanation) {
  std::sort(explanation.contributions.begin(), explanation.contributions.end(),
            [](const Contribution& a, const Contribution& b) {
              return std::abs(std::log(a.factor)) > std::abs(std::log(b.factor));
            });
}

}  // namespace

// Exact decomposition of log(P / P0), P0 being the power with all scores at the base: over kernels, the sum of score
// contributions, weighted by the logarithmic mean of the kernel's power at its score and at the base, divided by that
// of the pass.
Explanation TreePredictor::explain_power(const TreeInput& input, RunMetric metric, const CountedPass& pass) const {
  const auto log_mean = [](double a, double b) { return std::abs(a - b) < 1e-9 * b ? b : (a - b) / std::log(a / b); };
  const std::vector<float> facts = power_facts(input);
  const std::size_t width = power_fact_names().size();
  const double in_pass = pass.kernel_ms / std::max(pass.kernel_ms, pass.period_ms) / (1e3 * input.kernel_ms);
  std::vector<double> effects(width, 0), means(width, 0), own(width);
  double base = 0;
  for (std::size_t k = 0; k < input.kernel_us.size(); ++k) {
    const auto row = std::span(facts).subspan(k * width, width);
    std::fill(own.begin(), own.end(), 0);
    base = 0;
    power_forest_->add_contributions(row, own, base);
    double score = base;
    for (const double part : own) score += part;
    const double usual = kUsualPowerW * input.kernel_us[k] * in_pass;
    const double weight = log_mean(usual * std::exp(score), usual * std::exp(base));
    for (std::size_t c = 0; c < width; ++c) {
      effects[c] += weight * own[c];
      means[c] += double(row[c]) * input.kernel_us[k] / (1e3 * input.kernel_ms);
    }
  }
  const double usual_w = pass_power_w(pass, kUsualPowerW * std::exp(base));
  const double whole = log_mean(pass_power_w(pass, busy_power_w(input, *power_forest_)), usual_w);
  Explanation explanation;
  explanation.base = energy_or_power(metric, pass, kUsualPowerW * std::exp(base));
  for (std::size_t c = 0; c < width; ++c) {
    if (effects[c] != 0)
      explanation.contributions.push_back({power_fact_names()[c], float(means[c]), std::exp(effects[c] / whole)});
  }
  sort_by_effect(explanation);
  return explanation;
}

std::optional<Explanation> TreePredictor::explain(const PredictorInput& in, Metric key) const {
  const auto metric = run_metric_of(key, in.workload);
  if (!metric) return std::nullopt;
  TreeInput input = input_of(in, KernelBasis::Measured);
  const Model* model = find(input.domain, *metric);
  if (model == nullptr) return std::nullopt;
  sum(input);
  const std::vector<float> row = tree_row(input);
  if (is_energy_or_power(*metric)) {
    const auto pass = power_forest_ ? pass_of(input, answers(input, row), *metric) : std::nullopt;
    return pass ? std::optional(explain_power(input, *metric, *pass)) : std::nullopt;
  }
  std::vector<double> parts(row.size(), 0);
  double base = 0;
  model->forest.add_contributions(row, parts, base);
  Explanation explanation;
  explanation.base = tree_base(input, *metric) * std::exp(base);
  for (std::size_t c = 0; c < parts.size(); ++c) {
    if (parts[c] != 0) explanation.contributions.push_back({tree_column_names()[c], row[c], std::exp(parts[c])});
  }
  sort_by_effect(explanation);
  return explanation;
}

}  // namespace forerun
