#include "readers/paddle/paddle_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "readers/protobuf_writer.hpp"
#include "readers/reader.hpp"

namespace forerun {
namespace {

using protozero::pbf_writer;
using testing::HasSubstr;

std::string fixture(const std::string& name) { return std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/" + name; }

Graph read_graph(const std::string& path) {
  auto network = read_network(path);
  EXPECT_TRUE(network) << (network ? "" : network.error().message);
  Graph nothing;
  nothing.blocks.resize(1);
  return network ? *(*network)->expand({}) : nothing;
}

std::int64_t count(const Graph& graph, OpKind kind) {
  const auto& nodes = graph.main().nodes;
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.kind == kind; });
}

// One variable: name, dimensions of float32, persistable.
std::string variable(const std::string& name, const std::vector<std::int64_t>& dims, bool stored = false) {
  std::string tensor, lod, type, var;
  pbf_writer tensor_writer(tensor);
  tensor_writer.add_int32(1, 5);
  for (const std::int64_t dim : dims) tensor_writer.add_int64(2, dim);
  pbf_writer(lod).add_message(1, tensor);
  pbf_writer type_writer(type);
  type_writer.add_int32(1, 7);
  type_writer.add_message(3, lod);
  pbf_writer var_writer(var);
  var_writer.add_string(1, name);
  var_writer.add_message(2, type);
  if (stored) var_writer.add_bool(3, true);
  return var;
}

std::string slot(const std::string& parameter, const std::string& argument) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(1, parameter);
  writer.add_string(2, argument);
  return bytes;
}

std::string operation(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
                      std::int32_t sub_block = 0) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& input : inputs) writer.add_message(1, input);
  if (!output.empty()) writer.add_message(2, slot("Out", output));
  writer.add_string(3, type);
  if (sub_block != 0) {
    std::string attribute;
    pbf_writer attribute_writer(attribute);
    attribute_writer.add_string(1, "sub_block");
    attribute_writer.add_int32(2, 8);
    attribute_writer.add_int32(12, sub_block);
    writer.add_message(4, attribute);
  }
  return bytes;
}

std::string program(const std::vector<std::string>& vars, const std::vector<std::string>& ops) {
  std::string block, bytes;
  pbf_writer block_writer(block);
  block_writer.add_int32(1, 0);
  block_writer.add_int32(2, -1);
  for (const std::string& var : vars) block_writer.add_message(3, var);
  for (const std::string& op : ops) block_writer.add_message(4, op);
  pbf_writer(bytes).add_message(1, block);
  return bytes;
}

TEST(ReadPaddle, StatesTheOriginAndTheRolesOfValues) {
  for (const std::string name : {"parity/cnn.pdmodel", "parity/cnn.paddle.json"}) {
    const Graph graph = read_graph(fixture(name));
    EXPECT_EQ(graph.origin.framework, Framework::PaddlePaddle);
    EXPECT_EQ(graph.format, "paddle");
    ASSERT_EQ(graph.main().inputs.size(), 1U) << name;
    EXPECT_EQ(graph.values[std::size_t(graph.main().inputs[0])].name, "x");
    EXPECT_EQ(graph.values[std::size_t(graph.main().inputs[0])].role, ValueRole::Input);
    EXPECT_TRUE(std::any_of(graph.values.begin(), graph.values.end(),
                            [](const Value& v) { return v.role == ValueRole::Weight; }));
  }
  EXPECT_EQ(read_graph(fixture("parity/cnn.pdmodel")).origin.exporter, "PaddlePaddle 2.6.2");
}

TEST(ReadPaddle, KeepsThePathOfModules) {
  const Graph graph = read_graph(fixture("parity/vit.paddle.json"));
  const auto& nodes = graph.main().nodes;
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(),
                          [&](const Node& n) { return module_of(graph, n) == "Sequential_2/Encoder/LayerNorm"; }));
}

TEST(ReadPaddle, JoinsAConvolutionWithItsBias) {
  for (const std::string name : {"parity/detector.pdmodel", "parity/detector.paddle.json"}) {
    const Graph graph = read_graph(fixture(name));
    EXPECT_EQ(count(graph, OpKind::Add), 1) << name;  // the lateral connection
    const auto biased = std::count_if(graph.main().nodes.begin(), graph.main().nodes.end(),
                                      [](const Node& n) { return n.kind == OpKind::Conv && n.inputs.size() == 3; });
    EXPECT_EQ(biased, 8) << name;
  }
}

TEST(ReadPaddle, NamesFreeDimensions) {
  const Graph graph = read_graph(fixture("paddle/pooling.pdmodel"));
  const Value& x = graph.values[std::size_t(graph.main().inputs[0])];
  ASSERT_EQ(x.dims, (Dims{kUnknownDim, 8, 12, 12}));
  EXPECT_EQ(x.dim_names[0], "batch");
}

TEST(ReadPaddle, ReadsAFolderWithItsProgram) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "paddle_folder";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(fixture("parity/lstm.paddle.json"), folder / "inference.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "inference.pdiparams") << "weights";
  EXPECT_EQ(read_graph(folder.string()).name, "inference");
  const auto weights = read_network((folder / "inference.pdiparams").string());
  ASSERT_FALSE(weights);
  EXPECT_THAT(weights.error().message, HasSubstr("without their program"));
  std::filesystem::copy_file(fixture("parity/gru.pdmodel"), folder / "other.pdmodel",
                             std::filesystem::copy_options::overwrite_existing);
  const auto two = read_network(folder.string());
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message, HasSubstr("name one of them"));
  std::filesystem::remove_all(folder);
}

TEST(ReadPaddle, GivesEachWritingOfAVariableAValueOfItsOwn) {
  const std::string bytes =
      program({variable("x", {2, 3})},
              {operation("feed", {slot("X", "feed")}, "x"), operation("relu", {slot("X", "x")}, "x"),
               operation("tanh", {slot("X", "x")}, "x"), operation("fetch", {slot("X", "x")}, "fetch")});
  const auto network = read_paddle(bytes, "x.pdmodel", false);
  ASSERT_TRUE(network) << network.error().message;
  const Graph graph = *(*network)->expand({});
  ASSERT_EQ(graph.main().nodes.size(), 2U);
  EXPECT_EQ(graph.main().nodes[1].inputs[0], graph.main().nodes[0].outputs[0]);
  EXPECT_EQ(graph.main().outputs[0], graph.main().nodes[1].outputs[0]);
}

TEST(ReadPaddle, KeepsAnUnknownOperator) {
  const std::string bytes =
      program({variable("x", {2, 3}), variable("y", {2, 3})},
              {operation("feed", {slot("X", "feed")}, "x"), operation("my_op", {slot("X", "x")}, "y")});
  const auto network = read_paddle(bytes, "x.pdmodel", false);
  ASSERT_TRUE(network) << network.error().message;
  const Graph graph = *(*network)->expand({});
  ASSERT_EQ(graph.main().nodes.size(), 1U);
  EXPECT_EQ(graph.main().nodes[0].kind, OpKind::Unknown);
  EXPECT_EQ(graph.main().nodes[0].op_type, "my_op");
}

TEST(ReadPaddle, RefusesABlockThatIsItsOwnBody) {
  const std::string bytes = program({variable("x", {2})}, {operation("while", {slot("Condition", "x")}, "x", 7)});
  const auto missing = read_paddle(bytes, "x.pdmodel", false);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("block 7"));
}

TEST(ReadPaddle, RefusesAProgramWithoutOperators) {
  const auto network = read_paddle(program({variable("x", {2})}, {}), "x.pdmodel", false);
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message, HasSubstr("paddle.jit.save"));
}

}  // namespace
}  // namespace forerun
