// One instance of an engine inside the simulation: its queue, its KV blocks and its steps.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "serving/simulator.hpp"

namespace forerun {

// A request while it is simulated. `generation` counts its (re)starts: heap entries of older ones are stale.
struct SimulatedRequest {
  std::int64_t prompt = 0;     // tokens to prefill: input, and after a preemption what was generated
  std::int64_t prefilled = 0;  // of them
  std::int64_t generated = 0, output = 1;
  std::int64_t blocks = 0;     // while it prefills
  std::int64_t committed = 0;  // blocks it was admitted with
  std::int64_t start_step = 0;
  std::uint32_t generation = 0;
  bool has_cache = false;  // prefilled elsewhere
  bool is_running = false;
};

// What a finished step hands to the event loop.
struct StepOutcome {
  std::vector<std::int32_t> first_tokens;  // requests whose prompt is complete
  std::vector<std::int32_t> done;
};

class Instance {
 public:
  Instance(const InstanceGroup& group, std::vector<SimulatedRequest>& requests, bool prefill_only)
      : group_(group),
        requests_(requests),
        prefill_only_(prefill_only),
        phases_(std::size_t(group.limits.block_tokens)) {}

  void enqueue(std::int32_t id) { waiting_.push_back(id); }
  // Starts a step when there is work; returns its time, or a negative number. Requests that can never be held are added
  // to `dropped`.
  double start_step(double now_ms, std::vector<std::int32_t>& dropped, std::vector<std::int32_t>& joined);
  void finish_step(double now_ms, StepOutcome& outcome, std::vector<TokenGap>& gaps);

  [[nodiscard]] bool is_busy() const { return busy_; }
  [[nodiscard]] std::int64_t load() const { return std::ssize(waiting_) + std::ssize(prefilling_) + decodes_; }
  [[nodiscard]] std::int64_t queued() const { return std::ssize(waiting_); }
  [[nodiscard]] std::int64_t running() const { return std::ssize(prefilling_) + decodes_; }
  [[nodiscard]] double kv_use() const {
    return double(used_) / double(std::max<std::int64_t>(1, group_.limits.blocks));
  }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }
  [[nodiscard]] double energy_j() const { return energy_j_; }
  [[nodiscard]] double busy_ms() const { return busy_ms_; }

 private:
  struct Ending {
    std::int64_t step;
    std::int32_t id;
    std::uint32_t generation;
    bool operator>(const Ending& other) const { return step != other.step ? step > other.step : id > other.id; }
  };
  struct Joined {
    double at_ms;
    std::int64_t count;
  };

  [[nodiscard]] SimulatedRequest& request(std::int32_t id) { return requests_[std::size_t(id)]; }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    return (tokens + group_.limits.block_tokens - 1) / group_.limits.block_tokens;
  }
  [[nodiscard]] std::int64_t context_of(const SimulatedRequest& r) const {
    return r.prompt + decode_steps_ - r.start_step;
  }
  [[nodiscard]] std::size_t phase_of(const SimulatedRequest& r) const;
  [[nodiscard]] std::int64_t commitment_of(const SimulatedRequest& r) const;
  [[nodiscard]] bool fits(const SimulatedRequest& r) const;
  void join(std::int32_t id, double now_ms);
  void leave(SimulatedRequest& r);
  bool make_room();
  void admit(std::int64_t& budget, double now_ms, bool starts_prompts, std::vector<std::int32_t>& dropped,
             std::vector<std::int32_t>& joined);
  std::int64_t take_chunk(std::int32_t id, std::int64_t budget);

  const InstanceGroup& group_;
  std::vector<SimulatedRequest>& requests_;
  bool prefill_only_;
  bool busy_ = false;
  std::deque<std::int32_t> waiting_, prefilling_;
  std::vector<std::int32_t> admitted_;  // decoding requests by admission; those that left are skipped
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
  std::vector<std::int64_t> phases_;  // decoding requests that need a new block in step s, by s modulo the block
  std::vector<Joined> pending_;       // requests whose last token was their first
  std::int64_t decodes_ = 0, context_ = 0, remaining_ = 0, used_ = 0, committed_ = 0, decode_steps_ = 0;
  StepWork work_;  // of the step that runs
  double step_ms_ = 0, last_decode_ms_ = 0;
  std::int64_t steps_ = 0, preemptions_ = 0;
  double energy_j_ = 0, busy_ms_ = 0;
};

}  // namespace forerun
