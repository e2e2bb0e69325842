// Time of an engine's step as a function of what it holds, interpolated between the estimates of a few passes.
#pragma once

#include <cstdint>
#include <vector>

namespace forerun {

// One estimated pass. `dense_ms`: everything that depends on the number of tokens alone (products, norms, exchange
// between devices); `attention_ms` depends on the caches too.
struct StepPoint {
  double batch = 1;    // sequences of a decode pass; 1 for a prompt
  double context = 1;  // tokens in each cache before a decode pass; tokens of the prompt for a prefill
  double dense_ms = 0, attention_ms = 0, power_w = 0;
};

// The engine's CPU time per step.
struct HostTime {
  double step_ms = 0, request_ms = 0;  // fixed, and per sequence in the step
  bool overlaps = false;               // prepared while the device runs the step before
};

struct StepWork {
  std::int64_t decodes = 0;        // sequences that get one more token
  double context_tokens = 0;       // in the caches of those, together
  std::int64_t prompt_tokens = 0;  // of all prompts and chunks of prompts in the step
  double prompt_attention_ms = 0;  // of those: differences of prompt_attention_ms()
  std::int64_t prompts = 0;
};

class StepTimes {
 public:
  // REQUIRES: at least one point. `decodes` form a grid: every batch with the same contexts. Sorted by batch, context.
  StepTimes(std::vector<StepPoint> decodes, std::vector<StepPoint> prompts, HostTime host);

  [[nodiscard]] double step_ms(const StepWork& work) const;
  [[nodiscard]] double power_w(const StepWork& work) const;
  // Attention of a prompt's first `tokens`; a chunk costs the difference of two.
  [[nodiscard]] double prompt_attention_ms(double tokens) const;
  [[nodiscard]] double decode_attention_ms(double batch, double context) const;
  [[nodiscard]] double dense_ms(double tokens) const;

 private:
  struct Row {
    double x, y;
  };
  static double between(const std::vector<Row>& rows, double x);
  std::vector<double> batches_, contexts_, attention_;  // attention_[batch][context]
  std::vector<Row> dense_, power_;                      // by tokens in the step
  std::vector<Row> prompt_attention_;                   // logarithms
  HostTime host_;
};

}  // namespace forerun
