#include "base/cancel_token.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace forerun {
namespace {

using Clock = CancelToken::Clock;

TEST(CancelToken, ADefaultTokenNeverStops) {
  const CancelToken token;
  token.cancel();
  EXPECT_FALSE(token.stopped());
  EXPECT_TRUE(token.check().has_value());
}

TEST(CancelToken, StopsAtItsDeadlineAndStaysStopped) {
  const CancelToken token = CancelToken::until(Clock::now() + std::chrono::milliseconds(20));
  EXPECT_TRUE(token.check().has_value());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(token.check().error().kind, ErrorKind::Deadline);
  token.cancel(StopReason::Interrupted);
  EXPECT_EQ(token.reason(), StopReason::Deadline) << "the first reason stays";
}

TEST(CancelToken, CopiesShareTheirState) {
  const CancelToken token = CancelToken::until(Clock::time_point::max());
  const CancelToken copy = token;
  std::thread([copy] { copy.cancel(); }).join();
  EXPECT_EQ(token.check().error().kind, ErrorKind::Interrupted);
}

TEST(CancelToken, PollsInItsOwnThreadAloneAndNotAtEveryQuestion) {
  int polls = 0;
  const CancelToken token = CancelToken::polling([&] {
    ++polls;
    return polls == 2;
  });
  std::thread([&] { EXPECT_FALSE(token.stopped()); }).join();
  EXPECT_EQ(polls, 0);
  for (int i = 0; i < 1000; ++i) (void)token.stopped();
  const int at_once = polls;
  EXPECT_GE(at_once, 1);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(5);
  while (!token.stopped() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(token.reason(), StopReason::Interrupted);
  EXPECT_EQ(polls, 2);
}

TEST(CancelToken, APacedStopAsksEveryThousandthTime) {
  const CancelToken token = CancelToken::until(Clock::now());
  PacedStop stop(token);
  int calls = 0;
  while (!stop()) ++calls;
  EXPECT_EQ(calls, 1023);
}

}  // namespace
}  // namespace forerun
