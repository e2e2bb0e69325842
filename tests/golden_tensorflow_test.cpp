// TensorFlow's files of tests/fixtures against what TensorFlow itself says: shapes of concrete functions, parameters of
// Keras, multiply-accumulates from TensorFlow's shapes (make_tensorflow.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const std::string kFixtures = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/";
constexpr const char* kExtensions[] = {".savedmodel.pb", ".graphdef.pb", ".tflite"};

json read_json(const std::string& path) { return json::parse(std::ifstream(kFixtures + path)); }

Result<Graph> inspect(const std::string& file, const Binding& binding = {}) {
  FORERUN_TRY(const auto network, read_network(file));
  return analyze(*network, binding);
}

Binding binding_of(const json& facts) {
  Binding binding;
  if (!facts.contains("dims")) return binding;
  for (const auto& [name, size] : facts["dims"].items()) binding.dims[name] = size;
  return binding;
}

// TensorFlow's images are channels last, ours first.
Dims channels_first(const Dims& dims) {
  if (dims.size() < 3) return dims;
  Dims result = {dims.front(), dims.back()};
  result.insert(result.end(), dims.begin() + 1, dims.end() - 1);
  return result;
}

void expect_outputs(const Graph& graph, const json& shapes) {
  ASSERT_EQ(graph.main().outputs.size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Value& value = graph.values[std::size_t(graph.main().outputs[i])];
    const Dims stated = shapes[i].get<Dims>();
    EXPECT_TRUE(value.has_shape) << value.name;
    EXPECT_TRUE(value.dims == stated || value.dims == channels_first(stated))
        << i << " " << value.name << ": " << json(value.dims) << ", not " << shapes[i];
  }
}

std::vector<std::string> files_of(const std::string& folder, const std::string& facts) {
  std::vector<std::string> files;
  const json expected = read_json(facts);
  for (const auto& [name, unused] : expected.items()) {
    for (const char* extension : kExtensions) {
      const std::string file = folder + name + extension;
      if (std::filesystem::exists(kFixtures + file)) files.push_back(file);
    }
  }
  return files;
}

std::string stem(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name.substr(0, name.find('.'));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).filename().string();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class GoldenTensorFlow : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTensorFlow, AgreesWithTensorFlowOnShapesAndMacs) {
  const json facts = read_json("tensorflow/expected.json").at(stem(GetParam()));
  const Result<Graph> graph = inspect(kFixtures + GetParam(), binding_of(facts));
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.coverage, 1.0) << json(totals.unknown_operators);
  expect_outputs(*graph, facts["outputs"]);
  EXPECT_EQ(totals.macs, facts["macs"].get<std::int64_t>());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, GoldenTensorFlow,
                         testing::ValuesIn(files_of("tensorflow/", "tensorflow/expected.json")), test_name);

class ParityTensorFlow : public testing::TestWithParam<std::string> {};

TEST_P(ParityTensorFlow, CountsWhatKerasCounts) {
  const json facts = read_json("parity/counts_tensorflow.json").at(stem(GetParam()));
  const Result<Graph> graph = inspect(kFixtures + GetParam());
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.coverage, 1.0) << json(totals.unknown_operators);
  EXPECT_EQ(totals.macs, facts["macs"].get<std::int64_t>());
  expect_outputs(*graph, facts["outputs"]);
  // TensorFlow Lite's files hold convolutions with batch normalisation folded in.
  const double parameters = facts["parameters"];
  if (!GetParam().ends_with(".pb")) return;
  EXPECT_NEAR(double(totals.parameters), parameters, 0.005 * parameters);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ParityTensorFlow,
                         testing::ValuesIn(files_of("parity/", "parity/counts_tensorflow.json")), test_name);

TEST(TensorFlowFiles, ConvolutionChainsHaveNoTransposition) {
  for (const char* name : {"cnn.savedmodel.pb", "mobile.savedmodel.pb", "mobile.tflite", "unet.graphdef.pb"}) {
    const Result<Graph> graph = inspect(kFixtures + "parity/" + name);
    ASSERT_TRUE(graph) << graph.error().message;
    for (const Node& node : graph->main().nodes) EXPECT_NE(node.kind, OpKind::Transpose) << name << " " << node.name;
  }
}

TEST(TensorFlowFiles, FlattenedImageBeforeDenseLayerIsNotTransposed) {
  for (const char* name : {"flattened.savedmodel.pb", "flattened.tflite"}) {
    const Result<Graph> graph = inspect(kFixtures + "tensorflow/" + name);
    ASSERT_TRUE(graph) << graph.error().message;
    for (const Node& node : graph->main().nodes) EXPECT_NE(node.kind, OpKind::Transpose) << name << " " << node.name;
  }
}

TEST(TensorFlowFiles, SaveKerasNormalisationsAsOneOperator) {
  const Result<Graph> bert = inspect(kFixtures + "parity/bert.savedmodel.pb");
  ASSERT_TRUE(bert) << bert.error().message;
  const auto count = [](const Graph& graph, OpKind kind) {
    return std::count_if(graph.main().nodes.begin(), graph.main().nodes.end(),
                         [&](const Node& node) { return node.kind == kind; });
  };
  EXPECT_EQ(count(*bert, OpKind::LayerNormalization), 5);
  EXPECT_EQ(count(*bert, OpKind::Gelu), 2);
  const Result<Graph> cnn = inspect(kFixtures + "parity/cnn.graphdef.pb");
  ASSERT_TRUE(cnn) << cnn.error().message;
  EXPECT_EQ(count(*cnn, OpKind::BatchNormalization), 9);
}

std::int64_t count_of(const Graph& graph, OpKind kind) {
  std::int64_t count = 0;
  for (const Block& block : graph.blocks) {
    count += std::count_if(block.nodes.begin(), block.nodes.end(), [&](const Node& node) { return node.kind == kind; });
  }
  return count;
}

TEST(TensorFlowFiles, LoopsOverACellAreOneOperator) {
  for (const auto& [name, kind, layers] : {std::tuple{"lstm", OpKind::LSTM, 1}, std::tuple{"gru", OpKind::GRU, 2}}) {
    for (const char* suffix : {".savedmodel.pb", ".graphdef.pb"}) {
      const Result<Graph> graph = inspect(kFixtures + "parity/" + name + suffix);
      ASSERT_TRUE(graph) << graph.error().message;
      EXPECT_EQ(count_of(*graph, kind), layers) << name << suffix;
      EXPECT_EQ(count_of(*graph, OpKind::Loop), 0) << name << suffix;
      EXPECT_EQ(graph->blocks.size(), 1U) << name << suffix;
    }
  }
}

TEST(TensorFlowFiles, CellsWithStatesOrOneProductAreOperatorsAndOthersLoops) {
  const Result<Graph> graph = inspect(kFixtures + "tensorflow/recurrent.savedmodel.pb");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(count_of(*graph, OpKind::LSTM), 5);  // both directions, encoder, decoder, the cell with one product
  EXPECT_EQ(count_of(*graph, OpKind::RNN), 1);
  EXPECT_EQ(count_of(*graph, OpKind::GRU), 0);   // PyTorch's resets after the product
  EXPECT_EQ(count_of(*graph, OpKind::Loop), 2);  // that GRU, and the masked LSTM
  const auto cell = [](int gates, int inputs, int hidden) { return gates * hidden * (inputs + hidden); };
  const std::int64_t step = 2 * cell(4, 6, 8) + cell(4, 16, 7) + cell(4, 6, 7) + cell(1, 7, 4) + cell(3, 7, 5) +
                            cell(4, 6, 3) + cell(4, 6, 9);
  EXPECT_EQ(sum_totals(*graph).macs, 2 * 12 * step);
  // Decoded from the states of the encoder: inputs 5 and 6 of the operator.
  EXPECT_TRUE(std::any_of(graph->main().nodes.begin(), graph->main().nodes.end(),
                          [](const Node& node) { return node.kind == OpKind::LSTM && node.inputs.size() == 7; }));
}

TEST(TensorFlowFiles, IdiomsAreTheOperatorsThatPyTorchHas) {
  const Result<Graph> separable = inspect(kFixtures + "parity/separable.savedmodel.pb");
  ASSERT_TRUE(separable) << separable.error().message;
  EXPECT_EQ(count_of(*separable, OpKind::HardSigmoid), 1);
  EXPECT_EQ(count_of(*separable, OpKind::HardSwish), 1);
  EXPECT_EQ(count_of(*separable, OpKind::GlobalAveragePool), 2);
  const Result<Graph> detector = inspect(kFixtures + "parity/detector.savedmodel.pb");
  ASSERT_TRUE(detector) << detector.error().message;
  EXPECT_EQ(count_of(*detector, OpKind::Resize), 1);
  EXPECT_EQ(count_of(*detector, OpKind::Tile), 0);
  const Result<Graph> bert = inspect(kFixtures + "parity/bert.savedmodel.pb");
  ASSERT_TRUE(bert) << bert.error().message;
  EXPECT_EQ(count_of(*bert, OpKind::Where), 0);    // indices from the end
  EXPECT_EQ(count_of(*bert, OpKind::Reshape), 8);  // heads of attention alone
  EXPECT_EQ(count_of(*bert, OpKind::Gather), 2);   // the embedding, the first token
}

TEST(TensorFlowFiles, NameTheSignatureThatIsRead) {
  const Result<Graph> graph = inspect(kFixtures + "tensorflow/signatures.savedmodel.pb");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->warnings, Contains(HasSubstr("signature 'project' is read; the SavedModel has others: twice")));
  EXPECT_EQ(sum_totals(*graph).macs, 20);
  EXPECT_EQ(sum_totals(*graph).parameters, 20);
}

TEST(TensorFlowFiles, SayWhoseOperatorsAreTimed) {
  const Result<Graph> graph = inspect(kFixtures + "parity/cnn.savedmodel.pb");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->warnings, Contains(HasSubstr("as PyTorch would run them")));
  EXPECT_EQ(graph->origin.framework, Framework::TensorFlow);
  EXPECT_THAT(graph->origin.exporter, HasSubstr("TensorFlow 2."));
}

TEST(TensorFlowFiles, QuantisedOperatorsStayQuantised) {
  const Result<Graph> graph = inspect(kFixtures + "tensorflow/quantised.tflite");
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.coverage, 1.0);
  EXPECT_EQ(totals.parameters, 349);  // Keras' count_params
  EXPECT_EQ(totals.operators.at("QLinearConv").count, 2);
  // 8 x 8 places x (3 x 3 x 3 x 8 + 3 x 3 x 8), and the dense layer
  EXPECT_EQ(totals.macs, 64 * (216 + 72) + 40);
}

TEST(TensorFlowFiles, BatchIsFreeInTensorFlowLite) {
  Binding binding;
  binding.batch = 6;
  const Result<Graph> graph = inspect(kFixtures + "tensorflow/flattened.tflite", binding);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->values[std::size_t(graph->main().outputs[0])].dims, (Dims{6, 10}));
}

}  // namespace
}  // namespace forerun
