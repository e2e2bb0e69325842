#include "search/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/text_file.hpp"
#include "service/json.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const Service& service() {
  static const auto kService = std::move(*Service::create());
  return *kService;
}

class Sweep : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    options_.out = folder_.string();
    options_.partition = 4;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::map<std::string, std::string> parts() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_))
      all[entry.path().filename().string()] = *read_text_file(entry.path().string());
    return all;
  }

  QuestionSpace space_ = *QuestionSpace::read(
      "architecture: {model_type: nasbench201, sample: 3}\nquestion: {batch: [1, 8], device: [l4, nothing]}\n", "test");
  fs::path folder_;
  SweepOptions options_;
};

TEST_F(Sweep, AnswersEveryQuestionOnceAndBadOnesWithTheirError) {
  const auto report = run_sweep(service(), space_, options_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->rows, 12);
  EXPECT_EQ(report->errors, 6);
  std::int64_t question = 0;
  for (const auto& [name, text] : parts()) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line); ++question) {
      EXPECT_THAT(line, testing::StartsWith("{\"question\":" + std::to_string(question) + ",\"asked\":{\"config\""));
      EXPECT_THAT(line, HasSubstr(question % 2 == 1 ? "\"error\":\"" : "\"latency_ms\":"));
    }
  }
  EXPECT_EQ(question, 12);
}

TEST_F(Sweep, GoesOnWhereItEnded) {
  ASSERT_TRUE(run_sweep(service(), space_, options_));
  const auto whole = parts();
  fs::remove(folder_ / whole.begin()->first);
  const auto report = run_sweep(service(), space_, options_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->found, 8);
  EXPECT_EQ(report->rows, 4);
  EXPECT_EQ(parts(), whole);
}

TEST_F(Sweep, RefusesAFolderWithOtherAnswers) {
  ASSERT_TRUE(run_sweep(service(), space_, options_));
  const auto other = QuestionSpace::read("question: {model: resnet50, device: [l4, t4]}\n", "test");
  EXPECT_THAT(run_sweep(service(), *other, options_).error().message, HasSubstr("answers other questions"));
}

TEST_F(Sweep, AFolderThatIsNoneIsRefused) {
  options_.out = "/dev/null/answers";
  EXPECT_THAT(run_sweep(service(), space_, options_).error().message, HasSubstr("cannot make the folder"));
}

TEST_F(Sweep, ADiskThatIsFullCostsItsPartsAndSaysSo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  options_.write = [](const std::string& path, const std::string& text) -> Status {
    return path.find("part-000001") == std::string::npos ? write_text_file(path, text)
                                                         : write_text_file("/dev/full/" + path, text);
  };
  const auto report = run_sweep(service(), space_, options_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->unwritten, 4);
  EXPECT_FALSE(report->write_error.empty());
  EXPECT_EQ(parts().size(), 2U);
}

TEST(Answers, AreThoseOfSingleQuestions) {
  const std::vector<std::string> questions = {
      R"({"config":{"model_type":"bert","num_hidden_layers":2},"device":"l4","batch":4})",
      R"({"config":{"model_type":"bert","num_hidden_layers":2},"device":"h200-sxm","batch":4,"precision":"fp16"})",
      R"({"model":"resnet50","device":"t4","batch":4})", "{\"config\":{\"model_type\":\"bert\"", "not JSON"};
  const std::vector<AnswerRow> rows = answer_questions(service(), questions);
  ASSERT_EQ(rows.size(), 5U);
  const std::size_t latency = *find_answer_column("latency_ms"), memory = *find_answer_column("memory_mb");
  for (std::size_t i = 0; i < 3; ++i) {
    const auto alone = service().predict(*parse_request(questions[i]));
    ASSERT_TRUE(alone) << alone.error().message;
    EXPECT_EQ(rows[i].question, std::int64_t(i));
    EXPECT_EQ(rows[i].device, alone->results[0].device);
    EXPECT_EQ(rows[i].numbers[latency], alone->results[0].estimates.at(Metric::Latency).value);
    EXPECT_EQ(rows[i].numbers[memory], alone->results[0].estimates.at(Metric::Memory).value);
  }
  EXPECT_FALSE(rows[3].error.empty());
  EXPECT_FALSE(rows[4].error.empty());
}

}  // namespace
}  // namespace forerun
