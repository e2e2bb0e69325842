#include "readers/tensorflow/tensorflow_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "readers/protobuf_writer.hpp"
#include "readers/tensorflow/operator_table.hpp"

namespace forerun {
namespace {

using protozero::pbf_writer;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

const std::string kFixtures = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/";

std::string bytes_of_file(const std::string& name) {
  std::ifstream file(kFixtures + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string shape_of(const std::vector<std::int64_t>& dims) {
  std::string shape;
  pbf_writer writer(shape);
  for (const std::int64_t dim : dims) {
    std::string one;
    pbf_writer(one).add_int64(1, dim);
    writer.add_message(2, one);
  }
  return shape;
}

struct TestNode {
  std::string name, op;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, std::string>> attributes;  // AttrValues
};

std::string attribute(protozero::pbf_tag_type field, const std::string& message) {
  std::string value;
  pbf_writer(value).add_message(field, message);
  return value;
}
std::string shape_attribute(const std::vector<std::int64_t>& dims) { return attribute(7, shape_of(dims)); }
std::string type_attribute(int type) {
  std::string value;
  pbf_writer(value).add_enum(6, type);
  return value;
}
std::string function_attribute(const std::string& name) {
  std::string reference;
  pbf_writer(reference).add_string(1, name);
  return attribute(10, reference);
}
std::string constant(const std::vector<std::int64_t>& dims, int type) {
  std::string tensor;
  pbf_writer writer(tensor);
  writer.add_enum(1, type);
  writer.add_message(2, shape_of(dims));
  return attribute(8, tensor);
}

std::string encode(const TestNode& node) {
  std::string message;
  pbf_writer writer(message);
  writer.add_string(1, node.name);
  writer.add_string(2, node.op);
  for (const std::string& input : node.inputs) writer.add_string(3, input);
  for (const auto& [name, value] : node.attributes) {
    std::string entry;
    pbf_writer pair(entry);
    pair.add_string(1, name);
    pair.add_message(2, value);
    writer.add_message(5, entry);
  }
  return message;
}

struct TestFunction {
  std::string name;
  std::vector<TestNode> nodes;
  std::string result;
};

std::string graph_def(const std::vector<TestNode>& nodes, const std::vector<TestFunction>& functions = {}) {
  std::string graph;
  pbf_writer writer(graph);
  for (const TestNode& node : nodes) writer.add_message(1, encode(node));
  std::string library;
  for (const TestFunction& function : functions) {
    std::string argument, result, signature, returned, definition;
    pbf_writer(argument).add_string(1, "x");
    pbf_writer(result).add_string(1, "y");
    pbf_writer s(signature);
    s.add_string(1, function.name);
    s.add_message(2, argument);
    s.add_message(3, result);
    pbf_writer r(returned);
    r.add_string(1, "y");
    r.add_string(2, function.result);
    pbf_writer d(definition);
    d.add_message(1, signature);
    for (const TestNode& node : function.nodes) d.add_message(3, encode(node));
    d.add_message(4, returned);
    pbf_writer(library).add_message(1, definition);
  }
  if (!library.empty()) writer.add_message(2, library);
  return graph;
}

const TestNode kInput{"x", "Placeholder", {}, {{"dtype", type_attribute(1)}, {"shape", shape_attribute({2, 3})}}};

Result<Graph> read(const std::string& bytes, tensorflow::Limits limits = {}) {
  FORERUN_TRY(const auto network, read_graph_def(bytes, "test.pb", limits));
  return network->expand({});
}

TEST(GraphDefReader, KeepsAnUnknownOperatorAndItsOperands) {
  const Result<Graph> graph = read(graph_def({kInput, {"odd", "Frobnicate", {"x"}, {}}, {"y", "Relu", {"odd"}, {}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->main().nodes.size(), 2U);
  EXPECT_EQ(graph->main().nodes[0].kind, OpKind::Unknown);
  EXPECT_EQ(graph->main().nodes[0].op_type, "Frobnicate");
  EXPECT_EQ(graph->main().nodes[1].kind, OpKind::Relu);
}

TEST(GraphDefReader, LeavesOutWhatNoResultNeeds) {
  const TestNode save{"save", "SaveV2", {"x"}, {}};
  const TestNode text{"text", "Const", {}, {{"value", constant({}, 7)}}};
  const Result<Graph> graph = read(graph_def({kInput, text, save, {"y", "Relu", {"x", "^text"}, {}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->main().nodes.size(), 1U);
}

TEST(GraphDefReader, PermutesKernelsWithoutANode) {
  TestNode image{"x", "Placeholder", {}, {{"dtype", type_attribute(1)}, {"shape", shape_attribute({-1, 8, 9, 3})}}};
  std::string same, strides, list;
  pbf_writer(same).add_string(2, "SAME");
  const std::vector<std::int64_t> steps = {1, 2, 2, 1};
  pbf_writer(list).add_packed_int64(3, steps.begin(), steps.end());
  pbf_writer(strides).add_message(1, list);
  const TestNode kernel{"k", "Const", {}, {{"value", constant({3, 3, 3, 16}, 1)}}};
  const TestNode conv{"conv", "Conv2D", {"x", "k"}, {{"padding", same}, {"strides", strides}}};
  const Result<Graph> graph = read(graph_def({image, kernel, conv}));
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->main().nodes.size(), 1U);
  const Node& node = graph->main().nodes[0];
  EXPECT_EQ(graph->values[std::size_t(node.inputs[0])].dims, (Dims{kUnknownDim, 3, 8, 9}));
  EXPECT_EQ(graph->values[std::size_t(node.inputs[1])].dims, (Dims{16, 3, 3, 3}));
  EXPECT_EQ(graph->values[std::size_t(node.inputs[0])].dim_names[0], "batch");
  const auto pads = ints_attribute(node, "pads");  // 8 rows need one more below, 9 columns one on either side
  EXPECT_EQ(std::vector<std::int64_t>(pads.begin(), pads.end()), (std::vector<std::int64_t>{0, 1, 1, 1}));
}

TEST(GraphDefReader, RefusesAFunctionThatCallsItself) {
  const TestNode call{"c", "PartitionedCall", {"x"}, {{"f", function_attribute("f")}}};
  const Result<Graph> graph = read(graph_def({kInput, call}, {{"f", {call}, "c:output:0"}}));
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("test.pb: function 'f' calls itself"));
}

TEST(GraphDefReader, RefusesCallsThatExpandWithoutEnd) {
  std::vector<TestFunction> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    if (i == 39) {
      functions.push_back({"f39", {{"r", "Relu", {"x"}, {}}}, "r:activations:0"});
      break;
    }
    functions.push_back({"f" + std::to_string(i),
                         {{"a", "PartitionedCall", {"x"}, {{"f", function_attribute(next)}}},
                          {"b", "PartitionedCall", {"a:output:0"}, {{"f", function_attribute(next)}}}},
                         "b:output:0"});
  }
  const TestNode call{"c", "PartitionedCall", {"x"}, {{"f", function_attribute("f0")}}};
  const Result<Graph> graph = read(graph_def({kInput, call}, functions), {.nodes = 100'000});
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::TooLarge);
  EXPECT_THAT(graph.error().message, HasSubstr("more than 100000 nodes"));
}

TEST(GraphDefReader, RefusesAbsurdConstants) {
  const std::int64_t huge = std::int64_t{1} << 39;
  const TestNode big{"k", "Const", {}, {{"value", constant({huge, huge}, 1)}}};
  const Result<Graph> graph = read(graph_def({big, {"y", "Relu", {"k"}, {}}}));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::BadInput);
  EXPECT_THAT(graph.error().message, HasSubstr("its size overflows"));
}

TEST(GraphDefReader, NamesAMissingNodeAndACycle) {
  EXPECT_THAT(read(graph_def({{"y", "Relu", {"nowhere"}, {}}})).error().message,
              HasSubstr("no node is called 'nowhere'"));
  const Result<Graph> cycle =
      read(graph_def({{"a", "Relu", {"b"}, {}}, {"b", "Relu", {"a"}, {}}, {"y", "Relu", {"b"}, {}}}));
  ASSERT_FALSE(cycle);
  EXPECT_THAT(cycle.error().message, HasSubstr("the graph has a cycle through node 'a'"));
}

TEST(GraphDefReader, TakesTheLiveBranchOfASwitch) {
  std::string off;
  pbf_writer(off).add_enum(1, 10);  // a boolean without contents is false
  const TestNode training{"t", "Const", {}, {{"value", attribute(8, off)}}};
  const Result<Graph> graph = read(graph_def({kInput,
                                              training,
                                              {"s", "Switch", {"x", "t"}, {}},
                                              {"no", "Tanh", {"s"}, {}},
                                              {"yes", "Relu", {"s:1"}, {}},
                                              {"m", "Merge", {"no", "yes"}, {}}}));
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->main().nodes.size(), 1U);
  EXPECT_EQ(graph->main().nodes[0].kind, OpKind::Tanh);
}

// Every prefix and many damaged copies: an answer or an error that is the file's, never a crash.
void damage(const std::string& name,
            Result<std::unique_ptr<Network>> (*read)(std::string_view, const std::string&, tensorflow::Limits)) {
  const std::string whole = bytes_of_file(name);
  ASSERT_FALSE(whole.empty()) << name;
  const tensorflow::Limits limits{.operations = 20'000, .nodes = 20'000, .bytes = std::int64_t{64} << 20, .depth = 32};
  const auto check = [&](const std::string& bytes) {
    const auto network = read(bytes, name, limits);
    if (network) return;
    EXPECT_THAT(network.error().kind, AnyOf(ErrorKind::BadInput, ErrorKind::TooLarge));
  };
  for (std::size_t i = 0; i < 200; ++i) check(whole.substr(0, whole.size() * i / 200));
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string copy = whole;
    for (int n = 0; n < 4; ++n) copy[random() % copy.size()] = char(random());
    check(copy);
  }
}

TEST(TensorFlowReader, SurvivesDamagedFiles) {
  damage("tensorflow/quantised.tflite", read_tflite);
  damage("tensorflow/images.tflite", read_tflite);
  damage("tensorflow/control.savedmodel.pb", read_saved_model);
  damage("parity/lstm.graphdef.pb", read_graph_def);
}

// What the fuzzers found.
TEST(TensorFlowReader, SurvivesWhatFuzzersFound) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures + "tensorflow/regressions")) {
    ++files;
    const auto network = read_network(entry.path().string());
    if (network) continue;
    EXPECT_THAT(network.error().kind, AnyOf(ErrorKind::BadInput, ErrorKind::TooLarge)) << entry.path();
  }
  EXPECT_GT(files, 0U);
}

TEST(TfliteReader, SaysWhereAFileIsCutShort) {
  const std::string whole = bytes_of_file("tensorflow/quantised.tflite");
  const auto network = read_tflite(std::string_view(whole).substr(0, 200), "cut.tflite");
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message, HasSubstr("cut.tflite: not a valid TensorFlow Lite file: cut short or damaged"));
}

TEST(TfjsReader, SaysThatWeightFilesAreMissing) {
  const std::string model = R"({"modelTopology": {"node": [
      {"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"},
       "shape": {"shape": {"dim": [{"size": "2"}, {"size": "6"}]}}}},
      {"name": "s", "op": "Const", "attr": {"value": {"tensor": {"dtype": "DT_INT32"}}}},
      {"name": "y", "op": "Reshape", "input": ["x", "s"]}]},
    "weightsManifest": [{"paths": ["a.bin"], "weights": [{"name": "s", "shape": [1], "dtype": "int32"}]}]})";
  const auto network = read_tfjs_graph(model, "model.json", {});
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_THAT((*network)->expand({})->warnings, Contains(HasSubstr("the weight file 'a.bin' cannot be read")));
}

TEST(TfjsReader, RefusesWeightFilesOutsideTheFolder) {
  const std::string model = R"({"modelTopology": {"node": [
      {"name": "s", "op": "Const", "attr": {}}, {"name": "y", "op": "Relu", "input": ["s"]}]},
    "weightsManifest": [{"paths": ["../../etc/passwd"], "weights": [{"name": "s", "shape": [1], "dtype": "int32"}]}]})";
  const auto network = read_tfjs_graph(model, "model.json", Folder(kFixtures));
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_THAT((*network)->expand({})->warnings, Contains(HasSubstr("lies outside the model's folder")));
}

TEST(OperatorTable, KnowsBothSpellings) {
  using tensorflow::OperatorSet;
  EXPECT_NE(tensorflow::find_operator(OperatorSet::TensorFlow, "Conv2D"), nullptr);
  EXPECT_NE(tensorflow::find_operator(OperatorSet::TensorFlowLite, "CONV_2D"), nullptr);
  EXPECT_EQ(tensorflow::find_operator(OperatorSet::TensorFlow, "CONV_2D"), nullptr);
}

}  // namespace
}  // namespace forerun
