// What a request may say and how much work it may cause.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "service/lru_map.hpp"
#include "service/options.hpp"
#include "service/service.hpp"
#include "service/work.hpp"

namespace forerun {
namespace {

using Clock = CancelToken::Clock;

const Service& service() {
  static const std::unique_ptr<Service> kService = std::move(Service::create()).value();
  return *kService;
}

std::string problem_of(const std::string& fields) {
  const auto request = parse_request(R"({"model": "resnet50", "device": "t4", )" + fields + "}");
  return request ? "" : request.error().message;
}

TEST(RequestBounds, RefuseNumbersThatAreNone) {
  for (const char* value : {"NaN", "Infinity", "-Infinity"}) {
    for (const char* key : {"batch", "pue", "max_latency_ms"}) {
      EXPECT_EQ(problem_of("\"" + std::string(key) + "\": " + value),
                "'" + std::string(key) + "': NaN and Infinity are not numbers of a request");
    }
    EXPECT_NE(problem_of(std::string(R"("dims": {"n": )") + value + "}"), "") << value;
  }
  EXPECT_EQ(problem_of(R"("predictor": "NaN \" Infinity")"), "");
}

TEST(RequestBounds, TakeThemInsideAConfigurationAsItsProgramsMeanThem) {
  const char* text = R"({"device": "t4", "config": {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1,
      "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128, "time_step_limit": [0.0, Infinity]}})";
  const auto request = parse_request(text);
  EXPECT_TRUE(request) << request.error().message;
}

TEST(RequestBounds, RefuseAKeyThatStandsTwice) {
  EXPECT_EQ(problem_of(R"("batch": 1, "batch": 2)"), "the key 'batch' stands twice");
  EXPECT_EQ(problem_of(R"("devices": ["l4"])"), "'devices': the option --device is given twice");
  EXPECT_EQ(problem_of(R"("dims": {"a": 1}, "dim": {"b": 1})"), "'dims': the option --dim is given twice");
}

TEST(RequestBounds, HoldEveryNumberToTheRangeOfItsOption) {
  int numbers = 0;
  for (const Option& option : all_options()) {
    if (option.kind != OptionKind::Integer && option.kind != OptionKind::Real) continue;
    ++numbers;
    const OptionRange range = option.range;
    EXPECT_LT(range.least, range.most) << option.name;
    const bool is_whole = option.kind == OptionKind::Integer;
    const auto text = [&](double value) {
      return is_whole ? std::to_string(std::int64_t(value)) : std::to_string(value);
    };
    Request request;
    EXPECT_TRUE(option.apply(request, text(is_whole || range.least >= 1e-3 ? range.least : 1e-3))) << option.name;
    EXPECT_TRUE(option.apply(request, text(range.most))) << option.name;
    for (const std::string& wrong :
         {text(range.most * 2), std::string("0"), std::string("-1"), std::string("1e300"), std::string("nan"),
          std::string("inf"), std::string("99999999999999999999999"), std::string(""), std::string("1 ")}) {
      EXPECT_FALSE(option.apply(request, wrong)) << option.name << " " << wrong;
    }
  }
  EXPECT_GE(numbers, 12);
  EXPECT_EQ(problem_of(R"("pue": 0.0001)"), "--pue: '0.0001' must lie in 1 … 10");
  EXPECT_EQ(problem_of(R"("pue": 1e300)"), "--pue: '1e+300' must lie in 1 … 10");
  EXPECT_NE(problem_of(R"("batch": 18446744073709551615)"), "");
  EXPECT_NE(problem_of(R"("batch": -9223372036854775808)"), "");
  EXPECT_EQ(problem_of(R"("pue": 1.2)"), "");
}

TEST(RequestBounds, QuoteNoMoreOfARequestThanNeeded) {
  const std::string most(4'000'000, 'x');
  EXPECT_LT(problem_of("\"batch\": \"" + most + "\"").size(), 400U);
  EXPECT_LT(problem_of("\"" + most + "\": 1").size(), 400U);
  EXPECT_LT(parse_request("{\"model\": \"" + most + "\"}", /*allow_paths=*/false).error().message.size(), 400U);
}

Request large_request(int layers) {
  auto request = parse_request(R"({"device": "all", "input_tokens": 1000, "output_tokens": 1000, "config": {
      "model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 1000,
      "intermediate_size": 1024, "num_hidden_layers": )" +
                               std::to_string(layers) + "}}");
  EXPECT_TRUE(request) << request.error().message;
  request->is_transient = true;
  return *request;
}

TEST(Work, IsKernelsTimesDevicesTimesPasses) {
  Workspace workspace(1, 4);
  Request request = large_request(2);
  const auto plan = workspace.plan_of(request);
  ASSERT_TRUE(plan) << plan.error().message;
  const Work work = work_of(**plan, request, 10);
  EXPECT_EQ(work.kernels, double((*plan)->kernels.size()));
  EXPECT_EQ(work.passes, 1);
  EXPECT_GT(work.plans, 20) << "a table of passes";
  EXPECT_GT(work.timings(), work.kernels * 100);
  request.input_tokens = request.output_tokens = std::nullopt;
  EXPECT_EQ(work_of(**plan, request, 10).plans, 1);
  EXPECT_EQ(work_of(**plan, request, 10, 100).plans, 100);
  request.memory_budget_mb = 1000;
  EXPECT_GT(work_of(**plan, request, 10).passes, 50);
}

TEST(Work, BeyondTheLimitIsRefusedWithItsFigures) {
  Request request = large_request(64);
  request.most_work = 1e5;
  const auto report = service().predict(request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::TooCostly);
  EXPECT_NE(report.error().message.find("devices x 1 passes"), std::string::npos) << report.error().message;
  request.most_work = 1e12;
  request.devices = {"t4"};
  EXPECT_TRUE(service().predict(request));
}

TEST(Cancel, EndsEveryQuestionSoonAfterItsDeadline) {
  Request request = large_request(2000);
  const auto ask = [&](auto question) {
    request.cancel = CancelToken::until(Clock::now() + std::chrono::milliseconds(50));
    const Clock::time_point start = Clock::now();
    const auto report = (service().*question)(request);
    EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(1000));
    return report ? ErrorKind::Internal : report.error().kind;
  };
  EXPECT_EQ(ask(&Service::predict), ErrorKind::Deadline);
  request.memory_budget_mb = 1e6;  // the search for a batch must not take the stop for a batch that does not fit
  EXPECT_EQ(ask(&Service::predict), ErrorKind::Deadline);
}

TEST(Cancel, FromAnotherThreadEndsARequest) {
  Request request = large_request(2000);
  request.cancel = CancelToken::until(Clock::time_point::max());
  std::thread other([token = request.cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    token.cancel();
  });
  const auto report = service().predict(request);
  other.join();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::Interrupted);
}

TEST(Transient, PlansAreMadeOncePerRequestNotPerDevice) {
  const Request request = large_request(10);
  Workspace workspace(1, 8);
  const auto first = workspace.plan_of(request);
  const auto second = workspace.plan_of(request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second) << "a plan of a network asked about once is kept for its request";
}

TEST(LruMap, KeepsNoMoreThanItsWeight) {
  LruMap<int, int> map(100, 10);
  EXPECT_TRUE(map.insert(1, 1, 4).empty());
  EXPECT_TRUE(map.insert(2, 2, 4).empty());
  EXPECT_EQ(map.insert(3, 3, 4), std::vector<int>{1});
  EXPECT_EQ(map.insert(4, 4, 50), (std::vector<int>{2, 3})) << "the value itself stays";
  EXPECT_NE(map.find(4), nullptr);
  EXPECT_EQ(map.insert(5, 5, 1), std::vector<int>{4});
  EXPECT_EQ(map.size(), 1U);
}

// A folder of its own while it lives.
class InFolder {
 public:
  InFolder() : before_(std::filesystem::current_path()) {
    path_ = testing::TempDir() + "/bounds_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(path_);
    std::filesystem::current_path(path_);
  }
  ~InFolder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(path_);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
  std::string path_;
};

TEST(Shadowing, AFileNamedLikeAShippedNetworkIsToldOf) {
  const InFolder folder;
  std::filesystem::copy_file(std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/resnet50.onnx", "resnet50");
  Request request;
  request.model = "resnet50";
  request.devices = {"t4"};
  const auto report = service().predict(request);
  ASSERT_TRUE(report) << report.error().message;
  const std::vector<std::string>& warnings = report->results.front().warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("'resnet50' is a file of this folder") != std::string::npos;
  }));
}

TEST(Shadowing, ADeviceFileWithAShippedIdIsToldOf) {
  const InFolder folder;
  std::string text(*shipped_device_json("t4"));
  std::ofstream("t4.json") << text;
  Request request;
  request.model = "resnet50";
  request.devices = {"t4"};
  request.device_file = "t4.json";
  const auto report = service().predict(request);
  ASSERT_TRUE(report) << report.error().message;
  const std::vector<std::string>& warnings = report->results.front().warnings;
  EXPECT_TRUE(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("stands in for the shipped one") != std::string::npos;
  }));
}

}  // namespace
}  // namespace forerun
