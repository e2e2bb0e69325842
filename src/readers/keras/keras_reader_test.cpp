#include "readers/keras/keras_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "readers/json_text.hpp"

namespace forerun {
namespace {

using testing::Contains;
using testing::HasSubstr;

Result<Graph> read_json(const std::string& text) {
  Source source;
  source.path = "network.json";
  source.bytes = text;
  FORERUN_TRY(const auto network, read_keras_json_source(source));
  return network->expand({});
}

Json layer(const std::string& type, const std::string& name, Json settings = Json::object()) {
  settings["name"] = name;
  settings["trainable"] = true;
  return {{"class_name", type}, {"config", settings}};
}

Json sequential(std::vector<Json> layers) {
  return {{"class_name", "Sequential"}, {"config", {{"name", "net"}, {"layers", layers}}}};
}

Json input(std::vector<int> shape) {
  Json dims = Json::array({nullptr});
  for (const int size : shape) dims.push_back(size);
  return layer("InputLayer", "x", {{"batch_shape", dims}, {"dtype", "float32"}});
}

std::int64_t count(const Graph& graph, OpKind kind) {
  return std::count_if(graph.main().nodes.begin(), graph.main().nodes.end(),
                       [&](const Node& node) { return node.kind == kind; });
}

const Node& only(const Graph& graph, OpKind kind) {
  EXPECT_EQ(count(graph, kind), 1);
  return *std::find_if(graph.main().nodes.begin(), graph.main().nodes.end(),
                       [&](const Node& node) { return node.kind == kind; });
}

Json conv(const std::string& name, int kernel, int stride, const std::string& padding) {
  return layer(
      "Conv2D", name,
      {{"filters", 4}, {"kernel_size", {kernel, kernel}}, {"strides", {stride, stride}}, {"padding", padding}});
}

TEST(ReadKeras, StatesTheOrigin) {
  const auto graph = read_json(sequential({input({8}), layer("Dense", "d", {{"units", 2}})}).dump());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->origin.framework, Framework::TensorFlow);
  EXPECT_EQ(graph->origin.form, GraphForm::Recorded);
  EXPECT_EQ(graph->name, "net");
  EXPECT_EQ(graph->format, "keras");
  EXPECT_EQ(graph->values[std::size_t(graph->main().inputs[0])].role, ValueRole::Input);
}

TEST(ReadKeras, GivesImagesChannelsSecondWithoutATranspose) {
  const auto graph = read_json(
      sequential({input({9, 7, 3}), layer("Rescaling", "r", {{"scale", 0.5}}), conv("c", 3, 1, "same"),
                  layer("BatchNormalization", "b"), layer("Flatten", "f"), layer("Dense", "d", {{"units", 2}})})
          .dump());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(count(*graph, OpKind::Transpose), 0);
  EXPECT_EQ(graph->values[std::size_t(graph->main().inputs[0])].dims, (Dims{kUnknownDim, 3, 9, 7}));
}

TEST(ReadKeras, TransposesWhereALayerNeedsTheOtherOrder) {
  // As in ConvNeXt: the layer normalisation and the dense layer run over channels that come last.
  const auto graph = read_json(sequential({input({8, 8, 3}), conv("c", 3, 1, "same"), layer("LayerNormalization", "n"),
                                           layer("Dense", "d", {{"units", 4}}), conv("e", 3, 1, "same")})
                                   .dump());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(count(*graph, OpKind::Transpose), 2);
}

TEST(ReadKeras, PadsUnevenlyWhereSameAsksForIt) {
  const auto graph = read_json(sequential({input({8, 9, 3}), conv("c", 3, 2, "same")}).dump());
  ASSERT_TRUE(graph) << graph.error().message;
  const auto pads = ints_attribute(only(*graph, OpKind::Conv), "pads");
  // 8 needs one row at the end, 9 one column on each side.
  EXPECT_EQ(std::vector<std::int64_t>(pads.begin(), pads.end()), (std::vector<std::int64_t>{0, 1, 1, 1}));
}

TEST(ReadKeras, KeepsAnUnknownLayerAndSaysSo) {
  const auto graph = read_json(sequential({input({8}), layer("MyLayer", "mine"), layer("ReLU", "r")}).dump());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(only(*graph, OpKind::Unknown).op_type, "MyLayer");
  EXPECT_THAT(graph->warnings, Contains(HasSubstr("'mine' (MyLayer)")));
}

TEST(ReadKeras, RefusesASubclassedNetworkWithWhatToDo) {
  const auto graph = read_json(R"({"class_name": "MyModel", "config": {"name": "my"}})");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::BadInput);
  EXPECT_THAT(graph.error().message, HasSubstr("SavedModel"));
}

TEST(ReadKeras, RefusesLayersThatWaitForEachOther) {
  const Json one = {{"class_name", "ReLU"},
                    {"name", "a"},
                    {"config", {{"name", "a"}}},
                    {"inbound_nodes", {{{"b", 0, 0, Json::object()}}}}};
  const Json other = {{"class_name", "ReLU"},
                      {"name", "b"},
                      {"config", {{"name", "b"}}},
                      {"inbound_nodes", {{{"a", 0, 0, Json::object()}}}}};
  const Json model = {
      {"class_name", "Functional"},
      {"config",
       {{"name", "net"}, {"layers", {one, other}}, {"input_layers", Json::array()}, {"output_layers", {{"a", 0, 0}}}}}};
  const auto graph = read_json(model.dump());
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("circle"));
}

// A network whose only layer is called 300 times.
Json calling(const Json& layer, const std::string& name) {
  Json inner = layer;
  inner["name"] = "inner";
  const Json history = Json::array({"x", 0, 0});
  inner["inbound_nodes"] = Json(300, Json::array({history}));
  Json given = input({4});
  given["name"] = "x";
  given["inbound_nodes"] = Json::array();
  return {{"class_name", "Functional"},
          {"config",
           {{"name", name},
            {"layers", {given, inner}},
            {"input_layers", {{"x", 0, 0}}},
            {"output_layers", {{"inner", 299, 0}}}}}};
}

TEST(ReadKeras, BoundsTheCallsOfNestedNetworks) {
  const Json twice = calling(calling(layer("Dropout", "inner"), "inner"), "net");
  const auto small = read_json(twice.dump());
  ASSERT_TRUE(small) << small.error().message;
  const auto graph = read_json(calling(twice, "outer").dump());  // 300^3 calls
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().kind, ErrorKind::TooLarge);
}

TEST(ReadKeras, NamesTheLayerWhoseSettingsAreWrong) {
  const auto graph = read_json(
      sequential({input({8, 8, 3}), layer("Conv2D", "bad", {{"filters", 0}, {"kernel_size", {3, 3}}})}).dump());
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("layer 'bad' (Conv2D)"));
}

}  // namespace
}  // namespace forerun
