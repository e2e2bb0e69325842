// Every file of tests/fixtures/torch and tests/fixtures/parity against what PyTorch itself counts, and damaged copies
// of them, which must be refused or read, never crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/zip.hpp"

namespace forerun {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const std::string kFixtures = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/";

// By path below the fixtures.
const std::map<std::string, json>& expected() {
  static const auto facts = [] {
    std::map<std::string, json> all;
    const json files = json::parse(std::ifstream(kFixtures + "torch/expected.json"));
    for (const auto& [file, entry] : files.items()) all["torch/" + file] = entry;
    const json counts = json::parse(std::ifstream(kFixtures + "parity/counts_pytorch.json"));
    for (const auto& [name, entry] : counts.items()) {
      for (const char* ending : {".pt2", ".onnx"}) all["parity/" + name + ending] = entry;
    }
    return all;
  }();
  return facts;
}

Binding binding_of(const json& facts) {
  Binding binding;
  if (!facts.contains("binding")) return binding;
  for (const auto& [name, shape] : facts["binding"].items())
    binding.inputs[name] = shape.get<std::vector<std::int64_t>>();
  return binding;
}

Result<Graph> inspect(const std::string& path, const Binding& binding) {
  FORERUN_TRY(const auto network, read_network(path));
  return analyze(*network, binding);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class GoldenTorch : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTorch, CountsWhatPyTorchCounts) {
  const json& facts = expected().at(GetParam());
  const Result<Graph> graph = inspect(kFixtures + GetParam(), binding_of(facts));
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.coverage, 1.0) << json(totals.unknown_operators);
  // Exporters fold batch normalisations into ONNX files' convolutions.
  if (!GetParam().ends_with(".onnx")) {
    EXPECT_EQ(totals.parameters, facts["parameters"].get<std::int64_t>());
  }
  // A layer whose first state is a stored zero multiplies nothing in the first step of a decomposed cell.
  const bool decomposed_cell = GetParam() == "torch/lstm.torch-2.3.pt2";
  const double macs = facts["macs"].get<double>();
  EXPECT_NEAR(double(totals.macs), macs, decomposed_cell ? 0.04 * macs : 0);
  std::vector<Dims> outputs;
  for (const ValueId id : graph->main().outputs) outputs.push_back(graph->values[std::size_t(id)].dims);
  EXPECT_EQ(outputs, facts["outputs"].get<std::vector<Dims>>());
  for (const Block& block : graph->blocks) {
    for (const Node& node : block.nodes) {
      for (const ValueId id : node.outputs)
        EXPECT_TRUE(graph->values[std::size_t(id)].has_shape) << node.op_type << " " << node.name;
    }
  }
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& [name, facts] : expected()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTorch, testing::ValuesIn(files()), [](const auto& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(TorchFiles, EveryFixtureIsExpected) {
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures + "torch")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "expected.json" || expected().contains("torch/" + name)) << name;
  }
}

TEST(TorchFiles, BatchAndNamedDimensionsBindAnExportedProgram) {
  Binding binding;
  binding.batch = 5;
  binding.dims["s2"] = 1;  // not a dimension of this network
  const std::string path = kFixtures + "torch/free_cnn.torch-2.15.pt2";
  const auto refused = inspect(path, binding);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no free dimension of that name"));
  binding.dims.clear();
  const auto graph = inspect(path, binding);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->values[std::size_t(graph->main().inputs[0])].dims, (Dims{5, 3, 224, 64}));
  EXPECT_THAT(graph->warnings, Contains(HasSubstr("image side not given: 224")));
}

TEST(TorchFiles, ASizeThatAProgramExcludesIsRefused) {
  Binding binding;
  binding.inputs["x"] = {2, 3, 65, 64};  // the program takes multiples of 4
  const auto graph = inspect(kFixtures + "torch/free_cnn.torch-2.15.pt2", binding);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("cannot have a dimension of 65"));
}

TEST(TorchFiles, ScriptsSayWhichInputsTheyNeed) {
  const auto graph = inspect(kFixtures + "torch/cnn_traced.pt", {});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("--input x=1x3x224x224 (its first convolution takes 3 channels)"));
  const auto tokens = inspect(kFixtures + "torch/bert_scripted.pt", {});
  ASSERT_FALSE(tokens);
  EXPECT_THAT(tokens.error().message, HasSubstr("--input tokens=1x128 (it holds indices of an embedding)"));
  Binding binding;
  binding.inputs["y"] = {1};
  const auto wrong = inspect(kFixtures + "torch/cnn_traced.pt", binding);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("the network's inputs are x"));
}

TEST(TorchFiles, TheGraphSaysWhereItComesFrom) {
  const auto graph = inspect(kFixtures + "parity/bert.pt2", {});
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->origin.framework, Framework::PyTorch);
  EXPECT_EQ(graph->origin.form, GraphForm::Recorded);
  EXPECT_THAT(graph->origin.exporter, HasSubstr("torch.export 2."));
  EXPECT_TRUE(graph->origin.has_call_paths);
  EXPECT_THAT(graph->modules, Contains("blocks/0/attention/q"));
}

// Bytes cut off or flipped: an error that names the file, or a graph; in both cases without a crash.
TEST(TorchFiles, DamagedCopiesAreRefusedOrRead) {
  const std::string path = testing::TempDir() + "/damaged.pt2";
  for (const char* name : {"torch/decoder.torch-2.15.pt2", "torch/lstm.torch-2.6.pt2", "torch/gru_scripted.pt"}) {
    const std::string whole = text_of(kFixtures + name);
    std::uint32_t random = 1;
    for (int copy = 0; copy < 200; ++copy) {
      std::string damaged = whole;
      for (int flips = copy % 4; flips >= 0; --flips) {
        random = random * 1664525 + 1013904223;
        damaged[(random >> 4) % damaged.size()] ^= char(1 << (random % 8));
      }
      if (copy % 2 == 0) damaged.resize(random % damaged.size());
      std::ofstream(path, std::ios::binary) << damaged;
      Binding binding;
      if (std::string(name).ends_with(".pt")) binding.inputs["x"] = {2, 16, 32};
      const auto graph = inspect(path, binding);
      EXPECT_TRUE(graph || graph.error().message.find('\n') == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace forerun
