// What a person sees: width, columns, help, misspelled words, defaults, lines of requests, assertions, comparisons.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli.hpp"
#include "cli/text_table.hpp"
#include "cli/view.hpp"

namespace forerun {
namespace {

struct Outcome {
  int status;
  std::string out, err;
};

Outcome forerun_run(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int status = run_cli(arguments, in, out, err);
  return {status, out.str(), err.str()};
}

std::string fixture(const std::string& name) {
  return std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/" + name;
}

TEST(View, WrapsAtSpacesAndKeepsTheIndentation) {
  View view;
  view.width = 20;
  EXPECT_EQ(wrapped(view, "  one two three four five\nsix"), "  one two three four\n    five\nsix");
  EXPECT_EQ(width_of("\x1b[32myes\x1b[0m – …"), 7u);
}

TEST(TextTable, LeavesOutTheLeastImportantColumnsFirst) {
  TextTable table({{"device", "device", 0, true}, {"ms", "milliseconds", 2}, {"price", "price", 1}});
  table.add({"l4", "3.5", "0.7"});
  View view;
  EXPECT_NE(table.render(view).find("milliseconds"), std::string::npos);
  view.width = 18;
  const std::string narrow = table.render(view);
  EXPECT_EQ(narrow.find("milliseconds"), std::string::npos);
  EXPECT_NE(narrow.find("price"), std::string::npos);
  EXPECT_NE(narrow.find("no room for ms"), std::string::npos);
  EXPECT_FALSE(table.check({"speed"}));
}

TEST(Answers, AMisspelledCommandOrOptionNamesTheNearest) {
  EXPECT_NE(forerun_run({"preditc"}).err.find("did you mean 'predict'"), std::string::npos);
  const Outcome option = forerun_run({"predict", "resnet50", "--btach", "8", "--device", "l4"});
  EXPECT_EQ(option.status, 2);
  EXPECT_NE(option.err.find("did you mean '--batch'"), std::string::npos) << option.err;
  EXPECT_NE(forerun_run({"predict", "resnet5", "--device", "l4"}).err.find("'resnet50'"), std::string::npos);
  const Outcome precision = forerun_run({"predict", "resnet50", "--device", "l4", "--precision", "half"});
  EXPECT_NE(precision.err.find("fp16"), std::string::npos) << precision.err;
}

TEST(Answers, HelpIsGroupedAndHasExamples) {
  const Outcome help = forerun_run({"help", "predict"});
  EXPECT_EQ(help.status, 0);
  for (const char* text : {"What runs:", "Limits and what is shown:", "Serving a language model:", "Examples:"})
    EXPECT_NE(help.out.find(text), std::string::npos) << text;
  EXPECT_NE(forerun_run({"help"}).out.find("compare"), std::string::npos);
  EXPECT_EQ(forerun_run({"help", "nothing"}).status, 2);
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_NE(forerun_run({"completion", shell}).out.find("max-latency-ms"), std::string::npos) << shell;
  EXPECT_NE(forerun_run({"man"}).out.find(".TH FORERUN 1"), std::string::npos);
}

TEST(Answers, OptionsOfNoGroupAreFew) {
  const std::string help = forerun_run({"help", "predict"}).out;
  EXPECT_EQ(help.find("\nOptions:\n  --"), std::string::npos) << help;
}

TEST(Answers, ALanguageModelIsAskedAsAServingQuestionAndAFileAsAPass) {
  const Outcome chat = forerun_run({"predict", "meta-llama/Llama-3.1-8B", "--device", "h100-sxm,l4"});
  ASSERT_EQ(chat.status, 0) << chat.err;
  EXPECT_NE(chat.out.find("TTFT"), std::string::npos);
  EXPECT_NE(chat.out.find("bf16"), std::string::npos);
  const Outcome pass = forerun_run({"predict", "llama-3.1-8b", "--device", "l4", "--phase", "prefill"});
  EXPECT_EQ(pass.out.find("TTFT"), std::string::npos);
  const auto json =
      nlohmann::json::parse(forerun_run({"predict", "llama-3.1-8b", "--device", "h100-sxm", "--json"}).out);
  EXPECT_FALSE(json["results"][0].contains("serving")) << "scripts ask about a pass";
  EXPECT_EQ(json["workload"]["precision"], "bf16");
}

TEST(Answers, CsvHasARowPerDeviceAndTheColumnsAskedFor) {
  const Outcome csv = forerun_run(
      {"predict", "resnet50", "--device", "l4,t4", "--csv", "--columns", "device,latency_ms,latency_ms.trust"});
  ASSERT_EQ(csv.status, 0) << csv.err;
  EXPECT_EQ(csv.out.substr(0, csv.out.find('\n')), "device,latency_ms,latency_ms.trust");
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3);
  EXPECT_EQ(forerun_run({"predict", "resnet50", "--device", "l4", "--csv", "--columns", "beauty"}).status, 2);
  const Outcome table = forerun_run({"predict", "resnet50", "--device", "l4,t4", "--columns", "device,power_w"});
  EXPECT_EQ(table.out.find("samples/s"), std::string::npos);
}

TEST(Answers, LinesEchoTheirIdAndSayWhereAndWhyTheyFailed) {
  const std::string input = R"({"id": "a", "model": "resnet50", "device": "t4"})"
                            "\n\nnonsense\n"
                            R"({"id": 7, "model": "nope", "device": "t4"})"
                            "\n";
  const Outcome run = forerun_run({"predict", "-"}, input);
  EXPECT_EQ(run.status, 0);
  std::istringstream lines(run.out);
  std::vector<nlohmann::json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]["id"], "a");
  EXPECT_EQ(answers[1]["error"]["line"], 3);
  EXPECT_EQ(answers[1]["error"]["kind"], "bad_input");
  EXPECT_EQ(answers[2]["id"], 7);
  EXPECT_EQ(answers[2]["error"]["kind"], "not_found");
  EXPECT_EQ(forerun_run({"predict", "-", "--strict"}, input).status, 2);
}

TEST(Answers, DefaultsComeFromTheUsersFileAndGiveWayToOptions) {
  const auto folder = std::filesystem::temp_directory_path() / "forerun_defaults_test";
  std::filesystem::create_directories(folder / "forerun");
  std::ofstream(folder / "forerun/config.json") << R"({"device": "l4", "precision": "fp16", "batch": 4})";
  const char* before = std::getenv("XDG_CONFIG_HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  const Outcome own = forerun_run({"predict", "resnet50", "--batch", "2", "--json"});
  const Outcome without = forerun_run({"predict", "resnet50", "--no-config"});
  std::ofstream(folder / "forerun/config.json") << R"({"colour": "red"})";
  const Outcome wrong = forerun_run({"predict", "resnet50"});
  before == nullptr ? ::unsetenv("XDG_CONFIG_HOME") : ::setenv("XDG_CONFIG_HOME", kept.c_str(), 1);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(own.status, 0) << own.err;
  const auto json = nlohmann::json::parse(own.out);
  EXPECT_EQ(json["workload"]["precision"], "fp16");
  EXPECT_EQ(json["workload"]["batch"], 2);
  EXPECT_EQ(without.status, 2);
  EXPECT_NE(wrong.err.find("'colour'"), std::string::npos) << wrong.err;
}

TEST(Answers, AFailedAssertionIsStatusThree) {
  const std::vector<std::string> question = {"predict", "resnet50", "--device", "l4", "--assert"};
  auto with = [&](const std::string& assertion) {
    auto arguments = question;
    arguments.push_back(assertion);
    return forerun_run(arguments);
  };
  EXPECT_EQ(with("latency_ms<1000").status, 0);
  const Outcome failed = with("latency_ms<0.001");
  EXPECT_EQ(failed.status, 3);
  EXPECT_NE(failed.err.find("does not hold"), std::string::npos);
  EXPECT_EQ(with("speed>3").status, 2);
}

TEST(Answers, TwoNetworksAreComparedByWhatTheyCost) {
  const Outcome json = forerun_run(
      {"compare", fixture("resnet50.onnx"), fixture("vgg16.onnx"), "--device", "l4", "--batch", "1", "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  const auto& on = report["devices"][0];
  double sum = 0;
  for (const auto& row : on["kernels"]) sum += row["difference_ms"].get<double>();
  const double difference = on["latency_ms"]["b"].get<double>() - on["latency_ms"]["a"].get<double>();
  EXPECT_NEAR(sum, difference, 1e-3 * std::abs(difference));
  const Outcome same = forerun_run({"compare", "resnet50", "resnet50", "--device", "l4"});
  EXPECT_NE(same.out.find("The same operators and sizes."), std::string::npos);
  EXPECT_NE(same.out.find("equally fast"), std::string::npos);
}

}  // namespace
}  // namespace forerun
