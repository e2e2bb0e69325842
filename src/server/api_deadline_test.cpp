// Work that takes longer than its deadline, and what else the server answers meanwhile.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "server/api_fixture.hpp"

namespace forerun::server {
namespace {

using Milliseconds = std::chrono::milliseconds;

#ifndef __has_feature  // g++ has macros instead
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// 2,048 layers on every device, with the passes of a serving engine: minutes of work from 284 bytes. `salt` keeps one
// answer from being another's in the cache.
std::string starvation(int salt) {
  return R"({"device":"all","config":{"model_type":"llama","hidden_size":8192,"num_hidden_layers":2048,)"
         R"("num_attention_heads":64,"num_key_value_heads":8,"vocab_size":)" +
         std::to_string(128001 + salt) +
         R"(,"intermediate_size":28672},"input_tokens":100000,"output_tokens":100000,"concurrency":4096,"gpus":8})";
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Reply {
  int status = 0;
  double seconds = 0;
};

class StarvationTest : public ApiTest {
 protected:
  // Sends `count` requests at once; asks /healthz until all are answered. The slowest /healthz is left in
  // worst_health_s.
  std::vector<Reply> attack(int count, const std::string& headers, const std::function<std::string(int)>& body) {
    std::vector<Reply> replies(std::size_t(count), Reply{});
    std::atomic<int> left = count;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        const Clock::time_point start = Clock::now();
        replies[std::size_t(i)].status = client().post("/v1/predict", body(i), headers).status;
        replies[std::size_t(i)].seconds = seconds_since(start);
        --left;
      });
    }
    worst_health_s = slowest_answer([&] { return left > 0; });
    for (std::thread& thread : threads) thread.join();
    return replies;
  }

  // The slowest of the answers that need no computation, while `goes_on`.
  double slowest_answer(const std::function<bool()>& goes_on) {
    double worst_s = 0;
    while (goes_on()) {
      for (const char* path : {"/healthz", "/metrics", "/v1/devices"}) {
        const Clock::time_point start = Clock::now();
        EXPECT_EQ(client().get(path).status, 200);
        worst_s = std::max(worst_s, seconds_since(start));
      }
      const Clock::time_point start = Clock::now();
      EXPECT_EQ(predict(kCached).status, 200);
      worst_s = std::max(worst_s, seconds_since(start));
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return worst_s;
  }

  // What the machine itself takes with nothing to do here: other programs may keep its cores busy.
  double health_limit_s() {
    const Clock::time_point end = Clock::now() + Milliseconds(1000);
    return (kIsSanitized ? 0.5 : 0.05) + 3 * slowest_answer([end] { return Clock::now() < end; });
  }

  void expect_idle() {
    std::this_thread::sleep_for(Milliseconds(500));
    const double before = cpu_seconds();
    std::this_thread::sleep_for(Milliseconds(1000));
    EXPECT_LT(cpu_seconds() - before, 0.1);
  }

  const std::string kCached = R"({"model":"resnet50","device":"t4"})";
  const std::string kJsonType = "Content-Type: application/json\r\n";
  double worst_health_s = 0;
};

TEST_F(StarvationTest, RefusesMoreWorkThanOneRequestMayCause) {
  start();
  ASSERT_EQ(predict(kCached).status, 200);
  const double health_limit = health_limit_s();
  const auto [status, detail] = refused(predict(starvation(0)));
  EXPECT_EQ(status, 422);
  for (const char* figure : {"kernels", "devices x 1 passes", "million kernel timings", "ask for fewer devices"})
    EXPECT_NE(detail.find(figure), std::string::npos) << detail;
  const std::vector<Reply> replies = attack(12, kJsonType, starvation);
  for (const Reply& reply : replies) EXPECT_EQ(reply.status, 422);
  EXPECT_LT(worst_health_s, health_limit);
  expect_idle();
}

TEST_F(StarvationTest, GivesUpWorkAtItsDeadline) {
  ListenOptions listen;
  listen.limits.handle_timeout = Milliseconds(1000);
  start({.most_work = 1e12}, listen);
  ASSERT_EQ(predict(kCached).status, 200);
  const double health_limit = health_limit_s();
  for (const int count : {2, 12}) {
    const std::vector<Reply> replies = attack(count, kJsonType, [count](int i) { return starvation(100 * count + i); });
    for (const Reply& reply : replies) {
      EXPECT_EQ(reply.status, 504);
      EXPECT_LT(reply.seconds, 2.0);
    }
    EXPECT_LT(worst_health_s, health_limit) << count << " requests";
    expect_idle();
  }
}

TEST_F(StarvationTest, RefusesFormsOfOtherSitesBeforeReadingThem) {
  start({.most_work = 1e12});
  ASSERT_EQ(predict(kCached).status, 200);
  const double before = cpu_seconds();
  const std::vector<Reply> replies = attack(12, kMultipart + "Origin: http://evil.example\r\n", [](int i) {
    return "--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + starvation(i) + "\r\n--edge--\r\n";
  });
  for (const Reply& reply : replies) EXPECT_EQ(reply.status, 403);
  EXPECT_LT(cpu_seconds() - before, 1.0);
}

TEST_F(StarvationTest, StopsWorkWhoseClientIsGone) {
  start({.most_work = 1e12});
  ASSERT_EQ(predict(kCached).status, 200);
  {
    std::vector<TestClient> gone;
    for (int i = 0; i < 4; ++i) {
      gone.push_back(client());
      const std::string body = starvation(5000 + i);
      gone.back().send("POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n" + kJsonType +
                       "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    const Clock::time_point patience = Clock::now() + std::chrono::seconds(10);
    while (server_->waiting_requests() < 4 && Clock::now() < patience) std::this_thread::sleep_for(Milliseconds(1));
    ASSERT_EQ(server_->waiting_requests(), 4U);
  }
  const Clock::time_point start = Clock::now();
  while (server_->waiting_requests() > 0 && seconds_since(start) < 10) std::this_thread::sleep_for(Milliseconds(5));
  EXPECT_LT(seconds_since(start), 3);
  expect_idle();
}

TEST_F(StarvationTest, StopsWithinItsTimeWhateverRuns) {
  ListenOptions listen;
  listen.limits.stop_timeout = Milliseconds(2000);
  start({.most_work = 1e12}, listen);
  std::vector<std::thread> clients;
  std::atomic<int> unavailable = 0;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&, i] { unavailable += predict(starvation(7000 + i)).status == 503 ? 1 : 0; });
  const Clock::time_point patience = Clock::now() + std::chrono::seconds(10);
  while (server_->waiting_requests() < 4 && Clock::now() < patience) std::this_thread::sleep_for(Milliseconds(1));
  const Clock::time_point start = Clock::now();
  server_->stop();
  thread_.join();
  EXPECT_LT(seconds_since(start), 2.5);
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(unavailable, 4) << "each client is told that the server stops";
}

}  // namespace
}  // namespace forerun::server
