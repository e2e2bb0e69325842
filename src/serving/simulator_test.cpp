#include "serving/simulator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>

namespace forerun {
namespace {

// Steps of `fixed_ms`, and `token_ms` more for each token of a prompt.
StepTimes constant_steps(double fixed_ms, double token_ms = 0) {
  return StepTimes({{1, 1, fixed_ms, 0, 100}, {1024, 1, fixed_ms, 0, 100}},
                   {{1, 1e4, fixed_ms + token_ms * 1e4, 0, 200}, {1, 2e4, fixed_ms + token_ms * 2e4, 0, 200}}, {});
}

std::vector<LoadRequest> same(std::size_t count, std::int64_t input, std::int64_t output, double gap_ms = 0) {
  std::vector<LoadRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) requests[i] = {double(i) * gap_ms, input, output};
  return requests;
}

std::int64_t output_tokens(const std::vector<LoadRequest>& requests) {
  return std::accumulate(requests.begin(), requests.end(), std::int64_t{0},
                         [](std::int64_t sum, const LoadRequest& r) { return sum + r.output_tokens; });
}

double mean_ttft(const SimulationResult& result) {
  double sum = 0;
  for (const RequestTimes& r : result.requests) sum += r.first_token_ms - r.sent_ms;
  return sum / double(result.requests.size());
}

TEST(Simulator, OneRequestTakesItsPromptAndItsDecodeSteps) {
  const StepTimes times = constant_steps(10);
  const SimulationResult r = simulate({.decode = {.times = &times}}, same(1, 100, 5));
  EXPECT_DOUBLE_EQ(r.requests[0].first_token_ms, 10);
  EXPECT_DOUBLE_EQ(r.requests[0].done_ms, 50);
  EXPECT_EQ(r.steps, 5);
  EXPECT_EQ(r.generated_tokens, 5);
  EXPECT_EQ(r.gaps.size(), 4u);
}

TEST(Simulator, ARequestThatArrivesDuringAStepWaitsForTheNextOne) {
  const StepTimes times = constant_steps(10);
  // Steps: 0-10 prompt of A; 10-20 A's second token and B's prompt; 20-30 A's third, B's second.
  const SimulationResult r = simulate({.decode = {.times = &times}}, {{0, 8, 3}, {4, 8, 2}});
  EXPECT_DOUBLE_EQ(r.requests[1].first_token_ms, 20);
  EXPECT_DOUBLE_EQ(r.requests[0].done_ms, 30);
  EXPECT_DOUBLE_EQ(r.requests[1].done_ms, 30);
}

TEST(Simulator, LongPromptsAreChunkedWhileOthersDecode) {
  const StepTimes times = constant_steps(10);
  Deployment d{.decode = {.times = &times}};
  d.decode.limits.step_tokens = 101;
  // A: prompt 0-10. B's 250 tokens beside A's one token a step: 100 (10-20), 100 (20-30), 50 (30-40).
  const SimulationResult r = simulate(d, {{0, 50, 10}, {1, 250, 1}});
  EXPECT_DOUBLE_EQ(r.requests[1].first_token_ms, 40);
  EXPECT_DOUBLE_EQ(r.requests[0].done_ms, 100);
}

TEST(Simulator, PromptsGoFirstWhereAnEngineDoesNotMixThem) {
  const StepTimes times = constant_steps(10);
  Deployment d{.decode = {.times = &times}};
  d.decode.limits.mixes_phases = false;
  // 0-10 A's prompt, 10-20 B's prompt (A waits), then both decode.
  const SimulationResult r = simulate(d, {{0, 50, 3}, {1, 50, 2}});
  EXPECT_DOUBLE_EQ(r.requests[1].first_token_ms, 20);
  EXPECT_DOUBLE_EQ(r.requests[0].done_ms, 40);
  ASSERT_EQ(r.gaps.size(), 3u);
  EXPECT_DOUBLE_EQ(r.gaps[0].ms, 20);  // A's second token came 20 ms after its first
  EXPECT_DOUBLE_EQ(r.gaps[1].ms, 10);
}

TEST(Simulator, RequestsQueueWhenTheBatchIsFull) {
  const StepTimes times = constant_steps(10);
  Deployment d{.decode = {.times = &times}};
  d.decode.limits.max_batch = 1;
  const SimulationResult r = simulate(d, same(3, 10, 2));
  EXPECT_DOUBLE_EQ(r.requests[0].first_token_ms, 10);
  EXPECT_DOUBLE_EQ(r.requests[1].first_token_ms, 30);
  EXPECT_DOUBLE_EQ(r.requests[2].first_token_ms, 50);
}

// Two prompts of 16 tokens fill 2 of 3 blocks; each needs a second one for its second token. The later one is preempted
// in the step that needs both, and runs again once the first is done.
TEST(Simulator, TheLastRequestIsPreemptedWhenBlocksRunOut) {
  const StepTimes times = constant_steps(10);
  Deployment d{.decode = {.times = &times}};
  d.decode.limits.blocks = 3;
  const SimulationResult r = simulate(d, {{0, 15, 4}, {0, 15, 4}});
  EXPECT_EQ(r.preemptions, 1);
  // 0-10 both prompts; 10-20 both decode (16 tokens each: one block); 20-30 two more blocks are needed, one is free.
  EXPECT_DOUBLE_EQ(r.requests[0].done_ms, 40);
  EXPECT_DOUBLE_EQ(r.requests[1].first_token_ms, 10);
  // 40-50 recomputes 17 tokens, which gives the third; 50-60 the fourth.
  EXPECT_DOUBLE_EQ(r.requests[1].done_ms, 60);
  EXPECT_EQ(r.generated_tokens, 8);
}

TEST(Simulator, AnEngineThatReservesOutputsNeverPreempts) {
  const StepTimes times = constant_steps(10);
  Deployment d{.decode = {.times = &times}};
  d.decode.limits.blocks = 3;
  d.decode.limits.output_reserve = 1;
  const SimulationResult r = simulate(d, {{0, 16, 4}, {0, 16, 4}});
  EXPECT_EQ(r.preemptions, 0);
  EXPECT_DOUBLE_EQ(r.requests[1].first_token_ms, 50);
}

TEST(Simulator, ARequestThatCanNeverFitIsNotServed) {
  const StepTimes times = constant_steps(10);
  Deployment d{.decode = {.times = &times}};
  d.decode.limits.blocks = 4;
  const SimulationResult r = simulate(d, {{0, 1000, 4}, {0, 16, 4}});
  EXPECT_FALSE(r.requests[0].served);
  EXPECT_TRUE(r.requests[1].served);
}

TEST(Simulator, PrefillMachinesHandCachesOver) {
  const StepTimes prefill = constant_steps(50), decode = constant_steps(10);
  Deployment d{.decode = {.times = &decode}, .prefill = {.times = &prefill}, .transfer_ms = 5};
  SimulationResult r = simulate(d, same(1, 100, 3));
  EXPECT_DOUBLE_EQ(r.requests[0].first_token_ms, 50);
  EXPECT_DOUBLE_EQ(r.requests[0].done_ms, 75);  // 50 prefill, 5 transfer, two decode steps
  d.streams_from_decode = true;
  r = simulate(d, same(1, 100, 3));
  EXPECT_DOUBLE_EQ(r.requests[0].first_token_ms, 55);
}

TEST(Simulator, AClosedLoopKeepsAsManyInFlightAsThereAreClients) {
  const StepTimes times = constant_steps(10);
  const SimulationResult r = simulate({.decode = {.times = &times}}, same(40, 10, 20), 4);
  EXPECT_NEAR(r.mean_batch + r.mean_queue, 4, 1e-9);
  EXPECT_DOUBLE_EQ(r.end_ms, 10 * 20 * 10.0);  // ten rounds of twenty steps
}

// M/D/1: Poisson arrivals, one server, a fixed service time: the mean wait is rho s / (2 (1 - rho)).
TEST(Simulator, WaitsLikeAnMD1Queue) {
  for (const double rho : {0.3, 0.6, 0.8}) {
    const StepTimes times = constant_steps(10);
    Deployment d{.decode = {.times = &times}};
    d.decode.limits.max_batch = 1;
    const Load load{.requests_per_s = rho * 100, .input = {10, 0}, .output = {1, 0}, .requests = 400000, .seed = 7};
    const double wait = mean_ttft(simulate(d, draw_requests(load))) - 10;
    EXPECT_NEAR(wait, rho * 10 / (2 * (1 - rho)), 0.03 * wait + 0.05) << rho;
  }
}

TEST(Simulator, LittlesLawHolds) {
  const StepTimes times = constant_steps(5, 0.01);
  Deployment d{.decode = {.times = &times, .count = 3}};
  d.decode.limits.max_batch = 8;
  const Load load{.requests_per_s = 60, .input = {200, 0.5}, .output = {30, 0.7}, .requests = 5000};
  const SimulationResult r = simulate(d, draw_requests(load));
  double stay_ms = 0;
  for (const RequestTimes& q : r.requests) stay_ms += q.done_ms - q.sent_ms;
  EXPECT_NEAR(r.mean_queue + r.mean_batch * 3, stay_ms / r.end_ms, 1e-6 * stay_ms / r.end_ms);
}

TEST(Simulator, NoRequestAndNoTokenIsLostWhenBlocksAreShort) {
  const StepTimes times = constant_steps(5, 0.01);
  for (const bool mixes : {true, false}) {
    Deployment d{.decode = {.times = &times, .count = 2}};
    d.decode.limits = {.max_batch = 64, .step_tokens = 512, .blocks = 120, .mixes_phases = mixes};
    const auto load = draw_requests({.concurrency = 40, .input = {200, 0.5}, .output = {150, 0.7}, .requests = 400});
    const SimulationResult r = simulate(d, load, 40);
    EXPECT_GT(r.preemptions, 0);
    EXPECT_EQ(r.generated_tokens, output_tokens(load));
    std::int64_t gaps = 0;
    for (const TokenGap& gap : r.gaps) gaps += gap.tokens;
    EXPECT_LE(gaps, r.generated_tokens - 400);  // first tokens, and those that a recomputation gives, have none
    EXPECT_LE(r.peak_kv_use, 1.0 + 1e-9);
    for (const RequestTimes& q : r.requests) {
      EXPECT_TRUE(q.served);
      EXPECT_GE(q.first_token_ms, q.sent_ms);
      EXPECT_GE(q.done_ms, q.first_token_ms);
    }
  }
}

TEST(Simulator, GivesTheSameAnswerForTheSameSeed) {
  const StepTimes times = constant_steps(5, 0.01);
  Load load{.requests_per_s = 50, .burstiness = 0.5, .input = {300, 1}, .output = {100, 1}, .requests = 500, .seed = 3};
  const SimulationResult a = simulate({.decode = {.times = &times}}, draw_requests(load));
  const SimulationResult b = simulate({.decode = {.times = &times}}, draw_requests(load));
  EXPECT_EQ(a.end_ms, b.end_ms);
  load.seed = 4;
  EXPECT_NE(simulate({.decode = {.times = &times}}, draw_requests(load)).end_ms, a.end_ms);
}

TEST(Simulator, TenThousandRequestsOnEightReplicasTakeLessThanTwoSeconds) {
  const StepTimes times = constant_steps(5, 0.01);
  const Load load{.requests_per_s = 100, .input = {1000, 0.5}, .output = {500, 0.5}, .requests = 10000};
  const auto requests = draw_requests(load);
  const auto start = std::chrono::steady_clock::now();
  const SimulationResult r = simulate({.decode = {.times = &times, .count = 8}}, requests);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(r.steps, 100000);
  EXPECT_LT(seconds, 2);
  RecordProperty("steps_per_s", std::to_string(double(r.steps) / seconds));
}

TEST(Load, LengthsHaveTheMeanAndTheSpreadAskedFor) {
  const auto requests = draw_requests({.concurrency = 1, .input = {1000, 0.5}, .output = {100, 0}, .requests = 20000});
  double sum = 0, squares = 0;
  for (const LoadRequest& r : requests) {
    sum += double(r.input_tokens);
    squares += double(r.input_tokens) * double(r.input_tokens);
    EXPECT_EQ(r.output_tokens, 100);
  }
  const double mean = sum / 20000;
  EXPECT_NEAR(mean, 1000, 15);
  EXPECT_NEAR(std::sqrt(squares / 20000 - mean * mean) / mean, 0.5, 0.03);
}

TEST(Load, ArrivalsHaveTheRateAndTheBurstinessAskedFor) {
  for (const double burstiness : {0.3, 1.0, 4.0}) {
    const auto requests = draw_requests({.requests_per_s = 20, .burstiness = burstiness, .requests = 20000, .seed = 2});
    double squares = 0;
    for (std::size_t i = 1; i < requests.size(); ++i) squares += std::pow(requests[i].at_ms - requests[i - 1].at_ms, 2);
    const double mean = requests.back().at_ms / 20000;
    EXPECT_NEAR(mean, 50, 3);
    EXPECT_NEAR(squares / 20000 / mean / mean - 1, 1 / burstiness, 0.2 / burstiness);
  }
}

}  // namespace
}  // namespace forerun
