// The command line end to end, in process: exit statuses, streams, formats.
#include "cli/cli.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

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

TEST(Cli, InspectsAsTableTextAndJson) {
  const Outcome table = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "2"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("25.56 M parameters"), std::string::npos);
  const Outcome text = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "1", "--text"});
  EXPECT_NE(text.out.find("25.557 million parameters"), std::string::npos) << text.out;
  const Outcome json = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "1", "--json"});
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_EQ(parsed["parameters"], 25557032);
  EXPECT_NEAR(parsed["macs"].get<double>(), 4.09e9, 0.01e9);
  EXPECT_EQ(parsed["coverage"], 1.0);
}

TEST(Cli, GivesTheOnlyInputAShapeWithoutItsName) {
  const std::string traced = fixture("../torch/cnn_traced.pt");
  const Outcome named = forerun_run({"inspect", traced, "--input", "x=2x3x64x64", "--json"});
  ASSERT_EQ(named.status, 0) << named.err;
  EXPECT_EQ(forerun_run({"inspect", traced, "--input", "2x3x64x64", "--json"}).out, named.out);
  const Outcome pair = forerun_run({"inspect", fixture("../onnx/resnet50.onnx"), "--input", "1x4", "--json"});
  EXPECT_NE(pair.err.find("the file states the shape"), std::string::npos) << pair.err;
  for (const char* text : {"x", "=", "x=", "wide"}) {
    const Outcome wrong = forerun_run({"inspect", traced, "--input", text});
    EXPECT_EQ(wrong.status, 2) << text;
    EXPECT_NE(wrong.err.find("not NAME=SHAPE"), std::string::npos) << text << ": " << wrong.err;
  }
}

TEST(Cli, ShowsEveryNodeAsTableCsvAndJson) {
  const Outcome whole = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "1", "--json"});
  const auto totals = nlohmann::json::parse(whole.out);
  const Outcome json = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "1", "--nodes", "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const auto nodes = nlohmann::json::parse(json.out)["nodes"];
  ASSERT_EQ(nodes.size(), totals["nodes"].get<std::size_t>());
  for (const char* key : {"macs", "flops", "bytes_moved", "parameters"}) {
    std::int64_t sum = 0;
    for (const auto& node : nodes) sum += node[key].get<std::int64_t>();
    EXPECT_EQ(sum, totals[key].get<std::int64_t>()) << key;
  }
  const auto& conv = nodes[0];
  EXPECT_EQ(conv["operator"], "Conv");
  EXPECT_EQ(conv["inputs"][0]["shape"], nlohmann::json({1, 3, 224, 224}));
  EXPECT_EQ(conv["outputs"][0]["dtype"], "float32");
  EXPECT_EQ(conv["attributes"]["strides"], nlohmann::json({2, 2}));
  const Outcome csv = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "1", "--nodes", "--csv"});
  EXPECT_EQ(std::size_t(std::count(csv.out.begin(), csv.out.end(), '\n')), nodes.size() + 1);
  EXPECT_EQ(csv.out.substr(0, 14), "name,operator,");
  const Outcome table = forerun_run({"inspect", fixture("resnet50.onnx"), "--batch", "1", "--nodes"});
  EXPECT_NE(table.out.find("[1, 64, 112, 112]"), std::string::npos);
  EXPECT_EQ(forerun_run({"inspect", fixture("resnet50.onnx"), "--csv"}).status, 2);
}

TEST(Cli, AnswersWrongRequestsWithStatusTwoAndOneLine) {
  const std::vector<std::vector<std::string>> wrong = {
      {"inspect", "no-such-file.onnx"},
      {"predict", fixture("resnet50.onnx")},
      {"predict", fixture("resnet50.onnx"), "--device", "nope"},
      {"predict", fixture("resnet50.onnx"), "--device", "A100"},
      {"predict", fixture("resnet50.onnx"), "--device", "h200-sxm", "--batch", "0"},
      {"inspect", fixture("resnet50.onnx"), "--dim", "nothing=3"},
      {"frobnicate"},
      {}};
  for (const auto& arguments : wrong) {
    const Outcome run = forerun_run(arguments);
    EXPECT_EQ(run.status, 2) << testing::PrintToString(arguments);
    EXPECT_TRUE(run.out.empty()) << run.out;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

TEST(Cli, PredictsLineByLineAndGoesOnAfterAnError) {
  const std::string model = fixture("resnet50.onnx");
  const Outcome run =
      forerun_run({"predict", "-"}, R"({"model": ")" + model + R"(", "device": "h200-sxm", "batch": 1})" + "\n" +
                                        R"({"model": "nope", "device": "h200-sxm"})" + "\n" + R"({"model": ")" + model +
                                        R"(", "device": "t4", "batch": 1})" + "\n");
  EXPECT_EQ(run.status, 0);
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(nlohmann::json::parse(line).contains("results"));
  std::getline(lines, line);
  EXPECT_FALSE(nlohmann::json::parse(line)["error"]["message"].get<std::string>().empty());
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line)["results"][0]["device"], "t4");
}

TEST(Cli, ManyRequestsAreAnsweredInOrder) {
  std::string requests;
  for (int batch = 1; batch <= 40; ++batch)
    requests += R"({"model": "resnet50", "device": "h200-sxm", "batch": )" + std::to_string(batch) + "}\n\n";
  std::istringstream lines(forerun_run({"predict", "-"}, requests).out);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) EXPECT_EQ(nlohmann::json::parse(line)["workload"]["batch"], ++count);
  EXPECT_EQ(count, 40);
}

TEST(Cli, RanksAllDevicesAndShowsRooflineAndMig) {
  EXPECT_EQ(forerun_run({"predict", fixture("resnet50.onnx"), "--device", "all"}).status, 0);
  const Outcome roofline = forerun_run({"roofline", fixture("resnet50.onnx"), "--device", "h200-sxm", "--batch", "8"});
  EXPECT_EQ(roofline.status, 0);
  EXPECT_NE(roofline.out.find("bounds it"), std::string::npos);
  const Outcome mig = forerun_run({"mig", fixture("resnet50.onnx"), "--device", "a100-sxm-40gb"});
  EXPECT_EQ(mig.status, 0);
  EXPECT_NE(mig.out.find("1g.5gb"), std::string::npos);
  EXPECT_EQ(forerun_run({"mig", fixture("resnet50.onnx"), "--device", "t4"}).status, 2);
}

TEST(Cli, ListsDevicesAndNetworks) {
  EXPECT_NE(forerun_run({"devices"}).out.find("h200-sxm"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(forerun_run({"devices", "t4", "--json"}).out)["id"], "t4");
  EXPECT_GE(nlohmann::json::parse(forerun_run({"devices", "--json"}).out)["devices"].size(), 45u);
  EXPECT_GE(nlohmann::json::parse(forerun_run({"networks", "--json"}).out)["networks"].size(), 60u);
}

}  // namespace
}  // namespace forerun
