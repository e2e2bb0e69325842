#include "serving/simulator.hpp"

#include <algorithm>
#include <queue>

#include "serving/instance.hpp"

namespace forerun {
namespace {

enum class EventKind : std::uint8_t { StepEnds, Arrives, CacheArrives };

struct Event {
  double at_ms;
  std::int64_t order;  // of creation: events of one moment keep it
  EventKind kind;
  std::int32_t subject;  // an instance or a request
  bool operator>(const Event& other) const { return at_ms != other.at_ms ? at_ms > other.at_ms : order > other.order; }
};

constexpr std::int64_t kMostSteps = 5000000;  // a load of longer runs is cut off there; what is open is not served
constexpr std::size_t kMostGaps = std::size_t{1} << 18;  // beyond, every other one is dropped

class Simulation {
 public:
  Simulation(const Deployment& deployment, const std::vector<LoadRequest>& load, std::int64_t concurrency)
      : deployment_(deployment), load_(load), concurrency_(std::max<std::int64_t>(1, concurrency)) {
    state_.resize(load.size());
    result_.requests.resize(load.size());
    for (std::size_t i = 0; i < load.size(); ++i) {
      state_[i].prompt = load[i].input_tokens;
      state_[i].output = std::max<std::int64_t>(1, load[i].output_tokens);
    }
    decoders_ = std::size_t(std::max<std::int64_t>(1, deployment.decode.count));
    instances_.reserve(decoders_ + std::size_t(std::max<std::int64_t>(0, deployment.prefill.count)));
    for (std::size_t i = 0; i < decoders_; ++i) instances_.emplace_back(deployment.decode, state_, false);
    for (std::int64_t i = 0; i < deployment.prefill.count; ++i)
      instances_.emplace_back(deployment.prefill, state_, true);
  }

  SimulationResult run() {
    send(0);
    PacedStop stop(deployment_.cancel);
    while (!events_.empty() && steps_ < kMostSteps && !stop()) {
      const Event event = events_.top();
      events_.pop();
      pass_time(event.at_ms);
      handle(event);
    }
    finish();
    return std::move(result_);
  }

 private:
  void schedule(double at_ms, EventKind kind, std::int32_t subject) { events_.push({at_ms, order_++, kind, subject}); }

  // Sends requests while clients are free. A request whose time has not come holds its client until then: those before
  // it have been sent, so nobody else waits for that client.
  void send(double now_ms) {
    while (next_ < load_.size() && in_flight_ < concurrency_) {
      const LoadRequest& request = load_[next_];
      const double sent_ms = std::max(now_ms, request.at_ms);
      RequestTimes& times = result_.requests[next_];
      times = {sent_ms, 0, 0, request.input_tokens, std::max<std::int64_t>(1, request.output_tokens), false};
      api_free_ms_ = std::max(api_free_ms_, sent_ms) + deployment_.api_serial_ms +
                     deployment_.api_serial_ms_per_token * double(request.input_tokens);
      schedule(api_free_ms_ + deployment_.api_ms, EventKind::Arrives, std::int32_t(next_));
      ++next_;
      ++in_flight_;
    }
  }

  std::size_t least_loaded(std::size_t first, std::size_t last) const {
    std::size_t best = first;
    for (std::size_t i = first + 1; i < last; ++i) {
      if (instances_[i].load() < instances_[best].load()) best = i;
    }
    return best;
  }

  void wake(std::size_t index, double now_ms) {
    Instance& instance = instances_[index];
    if (instance.is_busy()) return;
    std::vector<std::int32_t> dropped, joined;
    const double step_ms = instance.start_step(now_ms, dropped, joined);
    if (deployment_.streams_from_decode) {
      for (const std::int32_t id : joined) first_token(id, now_ms);
    }
    for (std::size_t i = 0; i < dropped.size(); ++i) {
      --in_flight_;
      send(now_ms);
    }
    if (step_ms >= 0) schedule(now_ms + step_ms, EventKind::StepEnds, std::int32_t(index));
  }

  void enqueue(std::int32_t id, std::size_t first, std::size_t last, double now_ms) {
    const std::size_t index = least_loaded(first, last);
    instances_[index].enqueue(id);
    // Requests of one moment enter the same step: the instance is woken once all of them are there.
    if (events_.empty() || events_.top().at_ms > now_ms || events_.top().kind == EventKind::StepEnds) {
      for (std::size_t i = first; i < last; ++i) wake(i, now_ms);
    }
  }

  void first_token(std::int32_t id, double now_ms) {
    RequestTimes& times = result_.requests[std::size_t(id)];
    if (times.first_token_ms == 0) times.first_token_ms = now_ms;
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::Arrives:
        deployment_.prefill.count > 0 ? enqueue(event.subject, decoders_, instances_.size(), event.at_ms)
                                      : enqueue(event.subject, 0, decoders_, event.at_ms);
        break;
      case EventKind::CacheArrives: enqueue(event.subject, 0, decoders_, event.at_ms); break;
      case EventKind::StepEnds: end_step(std::size_t(event.subject), event.at_ms); break;
    }
  }

  void end_step(std::size_t index, double now_ms) {
    StepOutcome outcome;
    instances_[index].finish_step(now_ms, outcome, result_.gaps);
    ++steps_;
    if (result_.gaps.size() > kMostGaps) {
      for (std::size_t i = 0; 2 * i < result_.gaps.size(); ++i) result_.gaps[i] = result_.gaps[2 * i];
      result_.gaps.resize(result_.gaps.size() / 2);
    }
    const bool prefills_only = index >= decoders_;
    for (const std::int32_t id : outcome.first_tokens) {
      SimulatedRequest& r = state_[std::size_t(id)];
      const bool goes_on = prefills_only && r.generated < r.output;
      if (!(goes_on && deployment_.streams_from_decode)) first_token(id, now_ms);
      if (!goes_on) continue;
      r.has_cache = true;
      schedule(now_ms + deployment_.transfer_ms + deployment_.transfer_ms_per_token * double(r.prompt),
               EventKind::CacheArrives, id);
    }
    for (const std::int32_t id : outcome.done) {
      RequestTimes& times = result_.requests[std::size_t(id)];
      times.done_ms = now_ms;
      times.served = true;
      result_.generated_tokens += times.output_tokens;
      --in_flight_;
    }
    if (!outcome.done.empty()) send(now_ms);
    wake(index, now_ms);
  }

  // Integrals over time.
  void pass_time(double now_ms) {
    const double ms = now_ms - result_.end_ms;
    if (ms <= 0) return;
    double queued = 0, running = 0, use = 0;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      queued += double(instances_[i].queued());
      if (i >= decoders_) continue;
      running += double(instances_[i].running());
      use += instances_[i].kv_use();
    }
    use /= double(decoders_);
    result_.mean_queue += queued * ms;
    result_.mean_batch += running / double(decoders_) * ms;
    result_.mean_kv_use += use * ms;
    result_.peak_kv_use = std::max(result_.peak_kv_use, use);
    result_.end_ms = now_ms;
  }

  void finish() {
    const double ms = std::max(1e-9, result_.end_ms);
    for (double* mean : {&result_.mean_queue, &result_.mean_batch, &result_.mean_kv_use}) *mean /= ms;
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      const Instance& instance = instances_[i];
      result_.steps += instance.steps();
      result_.preemptions += instance.preemptions();
      const double idle_w = i < decoders_ ? deployment_.decode.idle_w : deployment_.prefill.idle_w;
      result_.energy_j += instance.energy_j() + idle_w * std::max(0.0, ms - instance.busy_ms()) / 1e3;
    }
  }

  const Deployment& deployment_;
  const std::vector<LoadRequest>& load_;
  std::int64_t concurrency_, in_flight_ = 0, order_ = 0, steps_ = 0;
  std::size_t next_ = 0, decoders_ = 1;
  double api_free_ms_ = 0;
  std::vector<SimulatedRequest> state_;
  std::vector<Instance> instances_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate(const Deployment& deployment, const std::vector<LoadRequest>& requests,
                          std::int64_t concurrency) {
  return Simulation(deployment, requests, concurrency).run();
}

}  // namespace forerun
