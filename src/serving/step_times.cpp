#include "serving/step_times.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {
namespace {

// Index of the interval that x lies in, the outer ones for what lies beyond.
std::size_t interval_of(const std::vector<double>& grid, double x) {
  const auto above = std::upper_bound(grid.begin(), grid.end(), x);
  const auto index = std::size_t(above - grid.begin());
  return grid.size() < 2 ? 0 : std::clamp<std::size_t>(index, 1, grid.size() - 1) - 1;
}

}  // namespace

StepTimes::StepTimes(std::vector<StepPoint> decodes, std::vector<StepPoint> prompts, HostTime host) : host_(host) {
  for (const StepPoint& p : decodes) {
    if (batches_.empty() || batches_.back() < p.batch) batches_.push_back(p.batch);
    if (batches_.size() == 1) contexts_.push_back(p.context);
    attention_.push_back(p.attention_ms);
    if (batches_.size() > dense_.size()) {
      dense_.push_back({p.batch, p.dense_ms});
      power_.push_back({p.batch, p.power_w});
    }
  }
  for (const StepPoint& p : prompts) {
    if (p.attention_ms > 0 && p.context > 0)
      prompt_attention_.push_back({std::log(p.context), std::log(p.attention_ms)});
    if (!dense_.empty() && p.context <= dense_.back().x) continue;
    dense_.push_back({p.context, p.dense_ms});
    power_.push_back({p.context, p.power_w});
  }
}

double StepTimes::between(const std::vector<Row>& rows, double x) {
  if (rows.empty()) return 0;
  if (rows.size() == 1) return rows[0].y;
  const auto above = std::upper_bound(rows.begin(), rows.end(), x, [](double v, const Row& row) { return v < row.x; });
  const auto i = std::clamp<std::size_t>(std::size_t(above - rows.begin()), 1, rows.size() - 1) - 1;
  const double t = (x - rows[i].x) / (rows[i + 1].x - rows[i].x);
  return rows[i].y + t * (rows[i + 1].y - rows[i].y);
}

double StepTimes::dense_ms(double tokens) const {
  if (tokens <= 0 || dense_.empty()) return 0;
  if (tokens <= dense_.front().x) return dense_.front().y;
  return std::max(dense_.front().y, between(dense_, tokens));
}

double StepTimes::prompt_attention_ms(double tokens) const {
  if (tokens <= 0 || prompt_attention_.empty()) return 0;
  const double log_tokens = std::log(tokens);
  if (prompt_attention_.size() == 1)
    return std::exp(prompt_attention_[0].y) * tokens / std::exp(prompt_attention_[0].x);
  return std::exp(between(prompt_attention_, log_tokens));
}

double StepTimes::decode_attention_ms(double batch, double context) const {
  if (batches_.empty()) return 0;
  const std::size_t columns = contexts_.size(), b = interval_of(batches_, batch), c = interval_of(contexts_, context);
  const auto along = [&](std::size_t row) {
    const double low = attention_[row * columns + c];
    if (columns < 2) return low;
    const double t = (context - contexts_[c]) / (contexts_[c + 1] - contexts_[c]);
    return low + t * (attention_[row * columns + c + 1] - low);
  };
  const double low = along(b);
  if (batches_.size() < 2) return std::max(0.0, low);
  const double t = (batch - batches_[b]) / (batches_[b + 1] - batches_[b]);
  return std::max(0.0, low + t * (along(b + 1) - low));
}

double StepTimes::step_ms(const StepWork& work) const {
  const double decodes = double(work.decodes);
  double device = dense_ms(decodes + double(work.prompt_tokens)) + work.prompt_attention_ms;
  if (work.decodes > 0) device += decode_attention_ms(decodes, work.context_tokens / decodes);
  const double host = host_.step_ms + host_.request_ms * (decodes + double(work.prompts));
  return host_.overlaps ? std::max(device, host) : device + host;
}

double StepTimes::power_w(const StepWork& work) const {
  if (power_.empty()) return 0;
  const double tokens = double(work.decodes + work.prompt_tokens);
  return between(power_, std::clamp(tokens, power_.front().x, power_.back().x));
}

}  // namespace forerun
