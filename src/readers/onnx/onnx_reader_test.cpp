#include "readers/onnx/onnx_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/mapped_file.hpp"
#include "readers/protobuf_writer.hpp"

namespace forerun {
namespace {

using protozero::pbf_writer;
using testing::Contains;
using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/" + name + ".onnx";
}

Graph read_graph(const std::string& name) {
  auto network = read_network(fixture(name));
  EXPECT_TRUE(network) << (network ? "" : network.error().message);
  Graph nothing;
  nothing.blocks.resize(1);
  return network ? *(*network)->expand({}) : nothing;
}

const Value* find_value(const Graph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.values.begin(), graph.values.end(), [&](const Value& value) { return value.name == name; });
  return found == graph.values.end() ? nullptr : &*found;
}

std::string node_bytes(const std::string& op_type, const std::string& input, const std::string& output) {
  std::string bytes;
  pbf_writer node(bytes);
  if (!input.empty()) node.add_string(1, input);
  if (!output.empty()) node.add_string(2, output);
  node.add_string(4, op_type);
  return bytes;
}

std::string model_bytes(const std::string& graph) {
  std::string bytes;
  pbf_writer model(bytes);
  model.add_int64(1, 8);
  model.add_message(7, graph);
  model.add_message(8, std::string("\x10\x11", 2));
  return bytes;
}

TEST(ReadOnnx, KeepsNamesTypesAndFreeDimensions) {
  const Graph graph = read_graph("bert_base");
  EXPECT_EQ(graph.name, "bert_base");
  EXPECT_EQ(graph.format, "onnx");
  EXPECT_EQ(graph.opset, 14);
  EXPECT_EQ(graph.origin.exporter, "make_onnx.py");
  ASSERT_EQ(graph.main().inputs.size(), 3U);
  const Value& ids = graph.values[std::size_t(graph.main().inputs[0])];
  EXPECT_EQ(ids.name, "input_ids");
  EXPECT_EQ(ids.dtype, DType::Int64);
  EXPECT_EQ(ids.dims, (Dims{kUnknownDim, kUnknownDim}));
  EXPECT_EQ(ids.dim_names, (std::vector<std::string>{"batch", "sequence"}));
}

TEST(ReadOnnx, InitialisersAreNotInputsEvenWhenTheFileListsThem) {
  const Graph graph = read_graph("reductions_old");
  EXPECT_EQ(graph.main().inputs.size(), 2U);
  EXPECT_EQ(graph.opset, 7);
}

TEST(ReadOnnx, BodiesSeeTheValuesAroundThem) {
  const Graph graph = read_graph("nested_shadow");
  ASSERT_EQ(graph.blocks.size(), 4U);
  const Node& loop = graph.main().nodes.back();
  EXPECT_EQ(loop.blocks.size(), 1U);
  const Block& body = graph.blocks[std::size_t(loop.blocks[0].second)];
  EXPECT_EQ(body.inputs.size(), 3U);
  const Node& choice = body.nodes.back();
  ASSERT_EQ(choice.blocks.size(), 2U);
  const Node& product = graph.blocks[std::size_t(choice.blocks[0].second)].nodes[0];
  EXPECT_EQ(product.inputs[0], body.inputs[2]);
  EXPECT_EQ(graph.values[std::size_t(product.inputs[1])].name, "outer_weight");
}

TEST(ReadOnnx, InlinesFunctionsWithTheirAttributes) {
  const Graph graph = read_graph("functions");
  std::vector<std::string> kinds;
  for (const Node& node : graph.main().nodes) kinds.push_back(node.op_type);
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"MatMul", "Add", "LeakyRelu", "MatMul", "Add", "LeakyRelu", "Concat", "Concat"}));
  EXPECT_NEAR(real_attribute(graph.main().nodes[2], "alpha", 0), 0.1, 1e-6);
  EXPECT_EQ(int_attribute(graph.main().nodes[6], "axis", -9), 1) << "the function's default";
  EXPECT_EQ(int_attribute(graph.main().nodes[7], "axis", -9), 0) << "the call's own";
  EXPECT_EQ(graph.main().nodes[0].outputs[0], graph.main().nodes[1].inputs[0]);
}

TEST(ReadOnnx, ReadsSequenceAndOptionalTypes) {
  const Graph graph = read_graph("sequences");
  EXPECT_EQ(find_value(graph, "list")->form, ValueForm::Sequence);
  EXPECT_EQ(find_value(graph, "maybe")->form, ValueForm::Optional);
  EXPECT_EQ(find_value(graph, "maybe")->dims, (Dims{3, 3}));
}

TEST(ReadOnnx, ReadsSmallConstantsFromExternalFiles) {
  const Graph graph = read_graph("external");
  const Value& shape = *find_value(graph, "shape");
  ASSERT_TRUE(shape.literal);
  EXPECT_EQ(shape.literal->ints, (std::vector<std::int64_t>{2, 3, 8}));
}

TEST(ReadOnnx, AnUploadWithoutItsExternalFilesIsWeightFree) {
  auto file = MappedFile::open(fixture("bad_external_missing"));
  ASSERT_TRUE(file);
  const auto network = read_onnx(file->bytes(), "upload.onnx", {});
  ASSERT_TRUE(network);
  const Graph graph = *(*network)->expand({});
  EXPECT_FALSE(find_value(graph, "shape")->literal);
  EXPECT_THAT(graph.warnings, Contains(HasSubstr("outside the file")));
}

TEST(ReadOnnx, SparseInitialisersHaveDenseDimensionsAndTheirStoredBytes) {
  const Graph graph = read_graph("sparse_weight");
  const Value& weight = *find_value(graph, "sparse_w");
  EXPECT_TRUE(is_stored(weight));
  EXPECT_EQ(weight.dims, (Dims{10, 6}));
  EXPECT_EQ(weight.stored_bytes, 12);
}

TEST(ReadOnnx, ConstantsCarryTheirContents) {
  const Graph graph = read_graph("bert_base");
  const auto constant = std::find_if(graph.main().nodes.begin(), graph.main().nodes.end(),
                                     [](const Node& node) { return node.kind == OpKind::Constant; });
  ASSERT_NE(constant, graph.main().nodes.end());
  const Value& value = graph.values[std::size_t(constant->outputs[0])];
  EXPECT_TRUE(value.has_shape);
  EXPECT_TRUE(value.literal);
  EXPECT_EQ(value.dtype, DType::Int64);
}

TEST(ReadOnnx, WeightsThatAreNodesHaveTheRoleOfWeights) {
  const Graph graph = read_graph("constant_weights");
  std::multiset<std::int64_t> weights, others;
  for (const Node& node : graph.main().nodes) {
    if (node.kind != OpKind::Constant) continue;
    const Value& value = graph.values[std::size_t(node.outputs[0])];
    (is_weight(value) ? weights : others).insert(elements_of(value));
  }
  EXPECT_EQ(weights, (std::multiset<std::int64_t>{4, 4 * 3 * 9}));
  EXPECT_EQ(others, (std::multiset<std::int64_t>{1, 4})) << "a scalar and the scales of a Resize";
}

TEST(ReadOnnx, AConstantOfAPyTorchExportIsCode) {
  auto file = MappedFile::open(fixture("constant_weights"));
  ASSERT_TRUE(file);
  std::string bytes(file->bytes());
  const std::size_t at = bytes.find("make_onnx.py");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 12, "pytorch     ");
  const auto network = read_onnx(bytes, "export.onnx", {});
  ASSERT_TRUE(network) << network.error().message;
  const Graph graph = *(*network)->expand({});
  EXPECT_TRUE(std::none_of(graph.values.begin(), graph.values.end(), is_weight));
}

std::int64_t folded_norms(const Graph& graph) {
  return std::count_if(graph.values.begin(), graph.values.end(), [](const Value& v) { return v.has_folded_norm; });
}

TEST(ReadOnnx, MarksNormalisationsThatDynamoFolded) {
  const Graph folded = read_graph("../parity/cnn.dynamo");
  EXPECT_EQ(folded_norms(folded), 9);  // one for each convolution
  EXPECT_TRUE(folded.warnings.empty());
  const Graph none = read_graph("../parity/vit.dynamo");  // its convolution has a bias of its own
  EXPECT_EQ(folded_norms(none), 0);
}

// x -> Conv -> Conv -> y, with the weights and biases named.
std::string two_convolutions(const std::string& second_bias) {
  std::string graph;
  pbf_writer writer(graph);
  for (const auto& [name, x, y, bias] :
       {std::tuple<std::string, std::string, std::string, std::string>{"a", "x", "m", "a.b"},
        {"b", "m", "y", second_bias}}) {
    std::string node;
    pbf_writer fields(node);
    for (const std::string& input : {x, name + ".weight", bias}) fields.add_string(1, input);
    fields.add_string(2, y);
    fields.add_string(3, "node_Conv_" + name);
    fields.add_string(4, "Conv");
    writer.add_message(1, node);
    for (const std::string& stored : {name + ".weight", bias}) {
      std::string tensor;
      pbf_writer initializer(tensor);
      for (const std::int64_t size :
           stored == bias ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{4, 4, 1, 1})
        initializer.add_int64(1, size);
      initializer.add_int32(2, 1);
      initializer.add_string(8, stored);
      writer.add_message(5, tensor);
    }
  }
  for (const auto& [field, name] : {std::pair<std::uint32_t, const char*>{11, "x"}, {12, "y"}}) {
    std::string info;
    pbf_writer(info).add_string(1, name);
    writer.add_message(field, info);
  }
  std::string bytes = model_bytes(graph);
  pbf_writer(bytes).add_string(2, "pytorch");
  return bytes;
}

TEST(ReadOnnx, WithoutTheExportersNotesABiasNamedByItsWeightTellsOfANorm) {
  const auto named = *read_onnx(two_convolutions("b.weight_bias"), "named", {});
  const Graph graph = *named->expand({});
  EXPECT_TRUE(find_value(graph, "b.weight")->has_folded_norm);
  EXPECT_FALSE(find_value(graph, "a.weight")->has_folded_norm);
  EXPECT_TRUE(graph.warnings.empty());
  const auto open = *read_onnx(two_convolutions("b.b"), "open", {});
  const Graph unknown = *open->expand({});
  EXPECT_EQ(folded_norms(unknown), 0);
  EXPECT_THAT(unknown.warnings, Contains(HasSubstr("may have folded into 2 convolutions")));
}

TEST(ReadOnnx, AnOutputKeepsTheRoleOfTheValueItNames) {
  const Graph graph = read_graph("constant_weights");
  for (const ValueId id : graph.main().outputs) EXPECT_EQ(graph.values[std::size_t(id)].role, ValueRole::Computed);
}

TEST(ReadOnnx, TensorAttributesBecomeContentsTypeAndDimensions) {
  const Graph graph = read_graph("shape_chain");
  const auto node = std::find_if(graph.main().nodes.begin(), graph.main().nodes.end(),
                                 [](const Node& n) { return n.kind == OpKind::ConstantOfShape; });
  ASSERT_NE(node, graph.main().nodes.end());
  EXPECT_EQ(int_attribute(*node, "value", -9), 1);
  EXPECT_EQ(int_attribute(*node, "value_dtype", -9), static_cast<std::int64_t>(DType::Int64));
}

TEST(ReadOnnx, SortsNodesIntoExecutionOrder) {
  const Graph graph = read_graph("unsorted");
  EXPECT_EQ(graph.main().nodes.front().op_type, "Relu");
  EXPECT_EQ(graph.main().nodes.back().op_type, "Tanh");
}

TEST(ReadOnnx, AModelCutAnywhereIsRefusedOrRead) {
  auto file = MappedFile::open(fixture("nested_shadow"));
  ASSERT_TRUE(file);
  for (std::size_t size = 0; size < file->bytes().size(); ++size) {
    const std::string cut(file->bytes().substr(0, size));  // its own allocation, so that a read past it is seen
    const auto network = read_onnx(cut, "cut.onnx", {});
    if (!network) {
      EXPECT_EQ(network.error().kind, ErrorKind::BadInput) << network.error().message;
      EXPECT_EQ(network.error().message.find("cut.onnx: "), 0U);
    }
  }
}

TEST(ReadOnnx, AMillionNestedGraphsAreRefused) {
  // Lengths grow from the inside out; the layers are written back to front in one pass.
  std::string reversed;
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7) bytes.push_back(char((value & 127) | 128));
    bytes.push_back(char(value));
    return bytes;
  };
  const auto prepend = [&](const std::string& text) { reversed.append(text.rbegin(), text.rend()); };
  for (int level = 0; level < 1'000'000; ++level) {
    for (const char tag : {'\x32', '\x2a', '\x0a'}) {  // attribute.g, node.attribute, graph.node
      prepend(varint(reversed.size()));
      prepend(std::string(1, tag));
      if (tag == '\x2a') prepend("\x22\x02If");
    }
  }
  const std::string graph(reversed.rbegin(), reversed.rend());
  const auto network = read_onnx(model_bytes(graph), "deep.onnx", {});
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message, HasSubstr("nested more than 64 deep"));
  EXPECT_LT(network.error().message.size(), 200U) << "only the innermost node is named";
}

TEST(ReadOnnx, AMillionNestedTypesAreRefused) {
  std::string reversed;
  const auto varint = [](std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7) bytes.push_back(char((value & 127) | 128));
    bytes.push_back(char(value));
    return bytes;
  };
  for (int level = 0; level < 1'000'000; ++level) {
    for (const char tag : {'\x0a', '\x22'}) {  // sequence.elem_type, type.sequence_type
      const std::string size = varint(reversed.size());
      reversed.append(size.rbegin(), size.rend());
      reversed.push_back(tag);
    }
  }
  std::string graph;
  {
    std::string input;
    pbf_writer info(input);
    info.add_string(1, "x");
    info.add_message(2, std::string(reversed.rbegin(), reversed.rend()));
    pbf_writer(graph).add_message(11, input);
  }
  const auto network = read_onnx(model_bytes(graph), "deep.onnx", {});
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message, HasSubstr("value 'x'"));
}

TEST(ReadOnnx, NamesAreMadePrintable) {
  std::string graph;
  pbf_writer(graph).add_message(1, node_bytes("Re\xff\nlu", "", "y\xc3"));
  const auto network = read_onnx(model_bytes(graph), "odd.onnx", {});
  ASSERT_TRUE(network) << network.error().message;
  const Graph read = *(*network)->expand({});
  EXPECT_EQ(read.main().nodes[0].op_type, "Re??lu");
  EXPECT_EQ(read.values[0].name, "y?");
}

TEST(ReadOnnx, FieldsOfAnotherWireTypeAreSkipped) {
  std::string graph;
  {
    pbf_writer writer(graph);
    writer.add_int64(1, 7);    // node as a number
    writer.add_fixed32(5, 7);  // initializer as a number
    writer.add_message(1, node_bytes("Relu", "", "y"));
  }
  const auto network = read_onnx(model_bytes(graph), "odd.onnx", {});
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ((*network)->expand({})->main().nodes.size(), 1U);
}

TEST(ReadOnnx, AStateMayReuseTheNameOfAnOuterValue) {
  // The body's Neg makes "x" from the outer "x".
  std::string body;
  {
    std::string output;
    pbf_writer(output).add_string(1, "x");
    pbf_writer writer(body);
    writer.add_message(1, node_bytes("Neg", "x", "x"));
    writer.add_message(12, output);
  }
  std::string attribute;
  {
    pbf_writer writer(attribute);
    writer.add_string(1, "then_branch");
    writer.add_message(6, body);
    writer.add_int32(20, 5);
  }
  std::string choice = node_bytes("If", "x", "y");
  pbf_writer(choice).add_message(5, attribute);
  std::string graph;
  {
    std::string input;
    pbf_writer(input).add_string(1, "x");
    pbf_writer writer(graph);
    writer.add_message(1, choice);
    writer.add_message(11, input);
  }
  const auto network = read_onnx(model_bytes(graph), "shadow.onnx", {});
  ASSERT_TRUE(network) << network.error().message;
  const Graph read = *(*network)->expand({});
  const Node& neg = read.blocks[1].nodes[0];
  EXPECT_EQ(neg.inputs[0], read.main().inputs[0]);
  EXPECT_NE(neg.outputs[0], neg.inputs[0]);
}

TEST(ReadNetwork, NamesTheFileItDoesNotKnow) {
  const auto missing = read_network("/no/such/file.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  const auto source = read_network(std::string(FORERUN_SOURCE_DIR) + "/CMakeLists.txt");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, ErrorKind::BadInput);
  EXPECT_THAT(source.error().message, HasSubstr("CMakeLists.txt: not a format Forerun reads ("));
}

}  // namespace
}  // namespace forerun
