#include "readers/spaces/spaces_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forerun {
namespace {

using testing::HasSubstr;

Result<Graph> graph_of(const Json& description) {
  auto network = make_candidate(description, "test");
  if (!network) return network.error();
  return (*network)->expand({});
}

// As the authors count: running means and variances of batch norms are none.
std::int64_t parameters_of(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Node& node : graph.main().nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = graph.values[std::size_t(node.inputs[i])];
      if (is_weight(value) && !(node.kind == OpKind::BatchNormalization && i >= 3)) sum += elements_of(value);
    }
  }
  return sum;
}

Json repeated(const char* word, std::size_t count) { return Json(std::vector<std::string>(count, word)); }

TEST(Spaces, NasBench201HasThePublishedParameters) {
  const auto graph = graph_of({{"model_type", "nasbench201"}, {"operations", repeated("nor_conv_3x3", 6)}});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(parameters_of(*graph), 1'531'546);  // Dong and Yang's API, CIFAR-10
}

TEST(Spaces, ACellMayBeWrittenAsItsAuthorsDo) {
  const auto graph = graph_of({{"model_type", "nasbench201"},
                               {"cell",
                                "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|"
                                "nor_conv_3x3~1|nor_conv_3x3~2|"}});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(parameters_of(*graph), 1'531'546);
}

TEST(Spaces, ResNetsAreTorchvisions) {
  const auto graph = [](const char* block, std::vector<int> depths) {
    return graph_of({{"model_type", "resnet-like"}, {"block", block}, {"depths", std::move(depths)}});
  };
  EXPECT_EQ(parameters_of(*graph("basic", {2, 2, 2, 2})), 11'689'512);       // resnet18
  EXPECT_EQ(parameters_of(*graph("bottleneck", {3, 4, 6, 3})), 25'557'032);  // resnet50
}

TEST(Spaces, TheBatchIsFreeAndNothingElse) {
  auto network = make_candidate({{"model_type", "fbnet"}, {"blocks", repeated("k3_e1", 22)}}, "test");
  ASSERT_TRUE(network);
  Binding binding;
  binding.inputs["image"] = {64, 3, 32, 32};
  const auto graph = (*network)->expand(binding);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->values[std::size_t(graph->main().inputs[0])].dims.front(), 64);
  binding.inputs["image"] = {64, 3, 64, 64};
  EXPECT_THAT((*network)->expand(binding).error().message, HasSubstr("only its batch is free"));
}

TEST(Spaces, WrongDescriptionsSayWhatIsWrong) {
  const auto message = [](const Json& description) { return graph_of(description).error().message; };
  EXPECT_THAT(message({{"model_type", "nasbench201"}}), HasSubstr("'operations' is missing"));
  EXPECT_THAT(message({{"model_type", "nasbench201"}, {"operations", repeated("skip_connect", 5)}}),
              HasSubstr("expected a list of 6"));
  EXPECT_THAT(message({{"model_type", "nasbench201"}, {"operations", repeated("conv", 6)}}),
              HasSubstr("\"conv\" is none of none, skip_connect"));
  EXPECT_THAT(
      message({{"model_type", "nasbench201"}, {"operations", repeated("none", 6)}, {"cells", std::int64_t{1} << 40}}),
      HasSubstr("not a whole number from 1 to 64"));
  EXPECT_THAT(message({{"model_type", "nasbench201"}, {"operations", repeated("none", 6)}, {"widht", 3}}),
              HasSubstr("has no field"));
}

}  // namespace
}  // namespace forerun
