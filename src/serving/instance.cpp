#include "serving/instance.hpp"

#include <algorithm>

namespace forerun {

// A cache of c tokens at step s takes a new block where c is a multiple of the block: at steps congruent to s - c.
std::size_t Instance::phase_of(const SimulatedRequest& r) const {
  const std::int64_t size = group_.limits.block_tokens, shifted = (r.start_step - r.prompt) % size;
  return std::size_t(shifted < 0 ? shifted + size : shifted);
}

// Blocks that a request is admitted with: its prompt's, one more token's, and the reserved share of its output's.
std::int64_t Instance::commitment_of(const SimulatedRequest& r) const {
  const double outputs = prefill_only_ ? 0 : double(r.output - r.generated);
  return blocks_of(r.prompt + std::max<std::int64_t>(1, std::int64_t(group_.limits.output_reserve * outputs)));
}

bool Instance::fits(const SimulatedRequest& r) const {
  return std::max(used_, committed_) + commitment_of(r) <= group_.limits.blocks;
}

void Instance::join(std::int32_t id, double now_ms) {
  SimulatedRequest& r = request(id);
  r.start_step = decode_steps_;
  r.is_running = true;
  ++decodes_;
  context_ += r.prompt;
  remaining_ += r.output - r.generated;
  ++phases_[phase_of(r)];
  admitted_.push_back(id);
  endings_.push({decode_steps_ + r.output - r.generated, id, r.generation});
  if (!pending_.empty() && pending_.back().at_ms == now_ms)
    ++pending_.back().count;
  else
    pending_.push_back({now_ms, 1});
}

// Takes a decoding request out of the batch and frees its blocks.
void Instance::leave(SimulatedRequest& r) {
  const std::int64_t context = context_of(r), made = decode_steps_ - r.start_step;
  --decodes_;
  context_ -= context;
  remaining_ -= r.output - r.generated - made;
  --phases_[phase_of(r)];
  used_ -= blocks_of(context);
  committed_ -= r.committed;
  r.is_running = false;
  r.generated += made;
}

// Blocks for one more token of every decoding request; where they are lacking, the request admitted last is preempted
// and will be computed again. Returns whether nothing had to go.
bool Instance::make_room() {
  bool untouched = true;
  while (decodes_ > 1 || (decodes_ == 1 && !prefilling_.empty())) {
    const std::int64_t needed = phases_[std::size_t(decode_steps_ % group_.limits.block_tokens)];
    if (used_ + needed <= group_.limits.blocks) break;
    while (!admitted_.empty() && !request(admitted_.back()).is_running) admitted_.pop_back();
    if (admitted_.empty()) break;
    const std::int32_t id = admitted_.back();
    admitted_.pop_back();
    SimulatedRequest& r = request(id);
    if (r.start_step == decode_steps_ && !pending_.empty()) {  // it joined after the last decode step
      if (--pending_.back().count == 0) pending_.pop_back();
    }
    leave(r);
    ++r.generation;
    r.prompt += decode_steps_ - r.start_step + 1;  // the token generated last is not in the cache
    r.prefilled = 0;
    r.has_cache = false;
    waiting_.push_front(id);
    ++preemptions_;
    untouched = false;
  }
  return untouched;
}

std::int64_t Instance::take_chunk(std::int32_t id, std::int64_t budget) {
  SimulatedRequest& r = request(id);
  const std::int64_t chunk = std::min(budget, r.prompt - r.prefilled);
  work_.prompt_tokens += chunk;
  work_.prompt_attention_ms += group_.times->prompt_attention_ms(double(r.prefilled + chunk)) -
                               group_.times->prompt_attention_ms(double(r.prefilled));
  ++work_.prompts;
  r.prefilled += chunk;
  return chunk;
}

void Instance::admit(std::int64_t& budget, double now_ms, bool starts_prompts, std::vector<std::int32_t>& dropped,
                     std::vector<std::int32_t>& joined) {
  while (!waiting_.empty() && running() < group_.limits.max_batch) {
    const std::int32_t id = waiting_.front();
    SimulatedRequest& r = request(id);
    if (!fits(r)) {
      if (running() > 0 || used_ > 0) return;
      dropped.push_back(id);
      waiting_.pop_front();
      continue;
    }
    r.committed = commitment_of(r);
    if (r.has_cache) {
      committed_ += r.committed;
      used_ += blocks_of(r.prompt);
      join(id, now_ms);
      joined.push_back(id);
      waiting_.pop_front();
      continue;
    }
    const bool whole = group_.limits.chunks_prompts || r.prompt <= budget || work_.prompt_tokens == 0;
    if (!starts_prompts || budget <= 0 || !whole) return;
    committed_ += r.committed;
    r.blocks = blocks_of(r.prompt);
    used_ += r.blocks;
    budget -= take_chunk(id, group_.limits.chunks_prompts ? budget : r.prompt);
    prefilling_.push_back(id);
    waiting_.pop_front();
  }
}

double Instance::start_step(double now_ms, std::vector<std::int32_t>& dropped, std::vector<std::int32_t>& joined) {
  work_ = {};
  const bool has_room = make_room();
  const std::size_t phase = std::size_t(decode_steps_ % group_.limits.block_tokens);
  const std::int64_t growth = phases_[phase];
  used_ += growth;
  std::int64_t budget = group_.limits.step_tokens - (group_.limits.mixes_phases ? decodes_ : 0);
  // One decode token a step must go on even when the batch alone exceeds the budget.
  for (const std::int32_t id : prefilling_) {
    if (budget > 0) budget -= take_chunk(id, budget);
  }
  if (has_room) admit(budget, now_ms, true, dropped, joined);
  work_.decodes = group_.limits.mixes_phases || work_.prompt_tokens == 0 ? decodes_ : 0;
  work_.context_tokens = double(context_);
  used_ += work_.decodes > 0 ? phases_[phase] - growth : -growth;
  if (work_.decodes == 0 && work_.prompt_tokens == 0) return -1;
  step_ms_ = group_.times->step_ms(work_);
  busy_ = true;
  return step_ms_;
}

void Instance::finish_step(double now_ms, StepOutcome& outcome, std::vector<TokenGap>& gaps) {
  busy_ = false;
  ++steps_;
  busy_ms_ += step_ms_;
  energy_j_ += group_.times->power_w(work_) * step_ms_ / 1e3;
  if (work_.decodes > 0) {
    std::int64_t old = work_.decodes;
    for (const Joined& joined : pending_) {
      gaps.push_back({now_ms - joined.at_ms, joined.count});
      old -= joined.count;
    }
    pending_.clear();
    if (old > 0) gaps.push_back({now_ms - last_decode_ms_, old});
    last_decode_ms_ = now_ms;
    ++decode_steps_;
    context_ += work_.decodes;
    remaining_ -= work_.decodes;
    while (!endings_.empty() && endings_.top().step <= decode_steps_) {
      const Ending ending = endings_.top();
      endings_.pop();
      SimulatedRequest& r = request(ending.id);
      if (r.generation != ending.generation || !r.is_running) continue;
      leave(r);
      outcome.done.push_back(ending.id);
    }
  }
  while (!prefilling_.empty() && request(prefilling_.front()).prefilled == request(prefilling_.front()).prompt) {
    const std::int32_t id = prefilling_.front();
    prefilling_.pop_front();
    SimulatedRequest& r = request(id);
    ++r.generated;
    outcome.first_tokens.push_back(id);
    if (r.generated >= r.output || prefill_only_) {
      used_ -= r.blocks;
      committed_ -= r.committed;
      if (r.generated >= r.output) outcome.done.push_back(id);
    } else {
      join(id, now_ms);
    }
  }
}

}  // namespace forerun
