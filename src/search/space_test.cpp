#include "search/space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "search/space_text.hpp"

namespace forerun {
namespace {

using testing::HasSubstr;

std::set<std::string> all_questions(const QuestionSpace& space) {
  std::set<std::string> all;
  for (std::int64_t i = 0; i < space.size(); ++i) all.insert(space.question(i));
  return all;
}

TEST(SpaceText, YamlAndJsonSayTheSame) {
  const auto yaml = parse_space_text(R"(# a comment
question:
  model: [resnet50, "bert-base-uncased"]   # two
  batch:
  - 1
  - 8
  region: 'DEU'
variants:
  - gpus: 2
    tensor_parallel: 2
  - {gpus: 4, pipeline_parallel: 4}
sample: 10
)",
                                     "a.yaml");
  ASSERT_TRUE(yaml) << yaml.error().message;
  EXPECT_EQ(yaml->dump(),
            R"({"question":{"model":["resnet50","bert-base-uncased"],"batch":[1,8],"region":"DEU"},)"
            R"("variants":[{"gpus":2,"tensor_parallel":2},{"gpus":4,"pipeline_parallel":4}],"sample":10})");
  EXPECT_EQ(*parse_space_text(yaml->dump(), "a.json"), *yaml);
}

TEST(SpaceText, WhatIsNotReadIsRefusedWithItsLine) {
  const auto message = [](const char* text) { return parse_space_text(text, "a.yaml").error().message; };
  EXPECT_THAT(message("a: &x 1\n"), HasSubstr("a.yaml: line 1 begins a value with '&'"));
  EXPECT_THAT(message("a: 1\nb: [1, 2\n"), HasSubstr("line 2 opens a bracket"));
  EXPECT_THAT(message("a: 1\n   b: 2\n"), HasSubstr("line 2 is indented more"));
  EXPECT_THAT(message("a: 1\na: 2\n"), HasSubstr("line 2 gives 'a' a second time"));
  EXPECT_THAT(message("a\n"), HasSubstr("line 1 has no 'key: value'"));
  EXPECT_THAT(message("a:\n\tb: 1\n"), HasSubstr("by spaces"));
  EXPECT_THAT(message("{\"a\": "), HasSubstr("not JSON"));
  EXPECT_THAT(message(""), HasSubstr("empty"));
}

TEST(QuestionSpace, EnumeratesTheProductWithTheDeviceFastest) {
  const auto space = QuestionSpace::read(R"(
question: {device: [l4, t4], model: resnet50, batch: [1, 8]}
variants: [{}, {precision: fp32, runtime: graph}]
)",
                                         "test");
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->size(), 8);
  EXPECT_EQ(space->question(0), R"({"model":"resnet50","batch":1,"device":"l4"})");
  EXPECT_EQ(space->question(1), R"({"model":"resnet50","batch":1,"device":"t4"})");
  EXPECT_EQ(space->question(7), R"({"model":"resnet50","precision":"fp32","runtime":"graph","batch":8,"device":"t4"})");
  EXPECT_EQ(all_questions(*space).size(), 8U);
}

TEST(QuestionSpace, NasBench201HasItsPublishedSize) {
  const auto space = QuestionSpace::read("architecture: {model_type: nasbench201}\nquestion: {device: l4}\n", "test");
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->size(), 15'625);
  EXPECT_EQ(space->question(0),
            R"({"config":{"model_type":"nasbench201","operations":["none","none","none","none","none","none"]},)"
            R"("device":"l4"})");
}

TEST(QuestionSpace, SamplesAreDifferentAndEachIsAskedAboutEveryDevice) {
  const auto space = QuestionSpace::read(
      "architecture: {model_type: nasbench201, channels: [16, 32], sample: 500}\nquestion: {device: [l4, t4]}\n",
      "test");
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->size(), 1000);
  EXPECT_EQ(all_questions(*space).size(), 1000U);
  const auto large = QuestionSpace::read("architecture: {model_type: once-for-all, sample: 500}\n", "test");
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(all_questions(*large).size(), 500U);
}

TEST(QuestionSpace, HuggingFaceArchitecturesVaryByTheirFields) {
  const auto space = QuestionSpace::read(
      "architecture: {model_type: bert, hidden_size: [256, 512], num_hidden_layers: [4, 8]}\nquestion: {device: l4}\n",
      "test");
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->question(3),
            R"({"config":{"model_type":"bert","hidden_size":512,"num_hidden_layers":8},"device":"l4"})");
}

TEST(QuestionSpace, WrongSpacesSayWhatIsWrong) {
  const auto message = [](const char* text) { return QuestionSpace::read(text, "s").error().message; };
  EXPECT_THAT(message("questions: {}\n"), HasSubstr("unknown key 'questions'"));
  EXPECT_THAT(message("question: {batch: []}\n"), HasSubstr("'batch' has no choices"));
  EXPECT_THAT(message("architecture: {model_type: nasbench201, operation: [none]}\n"), HasSubstr("has no field"));
  EXPECT_THAT(message("architecture: {model_type: once-for-all}\n"), HasSubstr("take a sample"));
  EXPECT_THAT(message("sample: 0\n"), HasSubstr("'sample' must be 1 or more"));
}

TEST(Shuffled, IsAPermutation) {
  for (const std::uint64_t total : {1, 2, 7, 1000}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < total; ++i) seen.insert(shuffled(i, total, 5));
    EXPECT_EQ(seen.size(), total);
    EXPECT_LT(*seen.rbegin(), total);
  }
}

}  // namespace
}  // namespace forerun
