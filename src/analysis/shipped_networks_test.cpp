// The shipped networks by name: parameters of the recorded graphs, ids of Hugging Face.
#include <gtest/gtest.h>

#include <map>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/networks.hpp"

namespace forerun {
namespace {

TEST(Networks, ClassicsHaveTheirPublishedParameters) {
  // torchvision's documentation, num_params of the weights' tables.
  const std::map<std::string, std::int64_t> published = {
      {"alexnet", 61100840},          {"resnet18", 11689512},     {"resnet152", 60192808}, {"vgg16", 138357544},
      {"mobilenet_v2", 3504872},      {"densenet121", 7978856},   {"googlenet", 6624904},  {"efficientnet_b0", 5288548},
      {"convnext_tiny", 28589128},    {"regnet_y_8gf", 39381472}, {"mnasnet1_0", 4383312}, {"squeezenet1_1", 1235496},
      {"shufflenet_v2_x1_0", 2278604}};
  for (const auto& [name, parameters] : published) {
    const auto network = find_network(name);
    ASSERT_TRUE(network) << name;
    const auto graph = analyze(**network, {});
    ASSERT_TRUE(graph) << name << ": " << graph.error().message;
    const Totals totals = sum_totals(*graph);
    EXPECT_EQ(totals.parameters, parameters) << name;
    EXPECT_EQ(totals.coverage, 1) << name;
  }
}

TEST(Networks, HuggingFaceIdsFindTheShippedConfiguration) {
  for (const char* id : {"meta-llama/Llama-3.1-8B", "meta-llama/Meta-Llama-3-8B-Instruct", "microsoft/deberta-v3-large",
                         "bert-base-cased", "google-bert/bert-base-cased", "Qwen/Qwen3-4B-Instruct-2507",
                         "Llama-3.1-8B-Instruct", "mistralai/Mistral-7B-Instruct-v0.3"})
    EXPECT_TRUE(is_shipped_network(id)) << id;
  for (const char* id :
       {"nobody/Llama-3.1-8B", "models/resnet50", "meta-llama/", "", "mistralai/Mistral-7B-Instruct-v9"})
    EXPECT_FALSE(is_shipped_network(id)) << id;
  EXPECT_EQ((*find_network("meta-llama/Llama-3.1-8B"))->own_precision(), Precision::Bf16);
}

TEST(Networks, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_NE(find_network("resnet5").error().message.find("'resnet50'"), std::string::npos);
  EXPECT_NE(find_network("nobody/Nothing").error().message.find("config.json"), std::string::npos);
}

}  // namespace
}  // namespace forerun
