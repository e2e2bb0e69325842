// Signals while the command line computes, and what `forerun serve` refuses or warns of at its start.
#include "cli/interrupt.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/cli.hpp"

namespace forerun {
namespace {

using Clock = std::chrono::steady_clock;

struct Outcome {
  int status = 0;
  std::string out, err;
  double seconds = 0;
};

Outcome run(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const Clock::time_point start = Clock::now();
  const int status = run_cli(arguments, in, out, err);
  return {status, out.str(), err.str(), std::chrono::duration<double>(Clock::now() - start).count()};
}

bool is_caught(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler != SIG_DFL;
}

// Sends the signal `delay_ms` after the program began to catch it; never before, which would end the test.
std::thread send_when_caught(int signal, int delay_ms) {
  return std::thread([=] {
    const Clock::time_point patience = Clock::now() + std::chrono::seconds(60);
    while (!is_caught(signal) && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    if (is_caught(signal)) ::kill(::getpid(), signal);
  });
}

// Seconds of work on every device.
std::string large_config() {
  return R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 2048, "num_attention_heads": 64,
      "num_key_value_heads": 8, "vocab_size": 128001, "intermediate_size": 28672})";
}

TEST(Interrupt, EndsARequestWithAMessageAndStatus130) {
  const std::string path = testing::TempDir() + "/interrupt_config.json";
  std::ofstream(path) << large_config();
  std::thread sender = send_when_caught(SIGINT, 100);
  const Outcome outcome = run({"predict", path, "--device", "all", "--input-tokens", "1000", "--memory-budget", "1e8"});
  sender.join();
  std::remove(path.c_str());
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_EQ(outcome.err, "forerun: interrupted: the answer was given up\n");
  EXPECT_LT(outcome.seconds, 5);
  EXPECT_FALSE(is_caught(SIGINT)) << "afterwards Ctrl-C does what it did before";
}

TEST(Interrupt, EndsRequestsLineByLine) {
  std::string config = large_config();
  std::replace(config.begin(), config.end(), '\n', ' ');
  const std::string line =
      R"({"device": "all", "input_tokens": 1000, "memory_budget": 1e8, "config": )" + config + "}\n";
  std::thread sender = send_when_caught(SIGINT, 100);
  const Outcome outcome = run({"predict", "-"}, line + line + line);
  sender.join();
  EXPECT_EQ(outcome.status, 130);
  EXPECT_NE(outcome.out.find("interrupted"), std::string::npos) << outcome.out.substr(0, 200);
  EXPECT_LT(outcome.seconds, 5);
}

TEST(Serve, RefusesAnEmptyToken) {
  ::setenv("FORERUN_TOKEN", "", 1);
  const Outcome outcome = run({"serve", "--port", "0"});
  ::unsetenv("FORERUN_TOKEN");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("FORERUN_TOKEN is set but empty"), std::string::npos) << outcome.err;
  const std::string path = testing::TempDir() + "/empty_token";
  std::ofstream(path) << "\r\nsecond line\n";
  EXPECT_EQ(run({"serve", "--port", "0", "--token-file", path}).status, 2);
  std::remove(path.c_str());
}

TEST(Serve, WarnsOfAPublicAddressWithoutAToken) {
  const auto words_of = [](const std::vector<std::string>& more) {
    std::thread sender = send_when_caught(SIGTERM, 50);
    std::vector<std::string> arguments = {"serve", "--port", "0", "--access-log", "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    sender.join();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(words_of({"--host", "0.0.0.0"}).find("warning: 0.0.0.0 can be reached from other machines"),
            std::string::npos);
  EXPECT_EQ(words_of({"--host", "127.0.0.1"}).find("warning"), std::string::npos);
  ::setenv("FORERUN_TOKEN", "secret", 1);
  EXPECT_EQ(words_of({"--host", "0.0.0.0"}).find("warning"), std::string::npos);
  ::unsetenv("FORERUN_TOKEN");
}

}  // namespace
}  // namespace forerun
