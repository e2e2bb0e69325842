// Every file of tests/fixtures/onnx against expected.json, whose shapes come from ONNX's own inference and whose counts
// from tests/fixtures/onnx_net.py; and the totals everybody knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

const std::string kFolder = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/";

const json& expected() {
  static const json facts = json::parse(std::ifstream(kFolder + "expected.json"));
  return facts;
}

Result<Graph> inspect(const std::string& name, const Binding& binding) {
  FORERUN_TRY(const auto network, read_network(kFolder + name + ".onnx"));
  return analyze(*network, binding);
}

Binding binding_of(const json& facts) {
  Binding binding;
  if (!facts.contains("dims")) return binding;
  for (const auto& [name, size] : facts["dims"].items()) binding.dims[name] = size;
  return binding;
}

class GoldenOnnx : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOnnx, AgreesWithTheIndependentSource) {
  const json& facts = expected().at(GetParam());
  const Result<Graph> graph = inspect(GetParam(), binding_of(facts));
  if (facts.contains("error")) {
    ASSERT_FALSE(graph);
    EXPECT_THAT(graph.error().kind, AnyOf(ErrorKind::BadInput, ErrorKind::TooLarge));
    EXPECT_THAT(graph.error().message, HasSubstr(facts["error"].get<std::string>()));
    EXPECT_EQ(graph.error().message.find(kFolder + GetParam() + ".onnx: "), 0U) << graph.error().message;
    EXPECT_EQ(graph.error().message.find('\n'), std::string::npos);
    return;
  }
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.parameters, facts["parameters"].get<std::int64_t>());
  if (facts.contains("warning")) {
    EXPECT_THAT(graph->warnings, Contains(HasSubstr(facts["warning"].get<std::string>())));
    return;
  }
  EXPECT_EQ(totals.macs, facts["macs"].get<std::int64_t>());
  EXPECT_EQ(totals.coverage, 1.0) << json(totals.unknown_operators);
  std::map<std::string, const Value*> values;
  for (const Value& value : graph->values) values.emplace(value.name, &value);
  for (const auto& [name, shape] : facts["shapes"].items()) {
    const auto found = values.find(name);
    if (found == values.end() && GetParam() != "functions") ADD_FAILURE() << "no value " << name;
    if (found == values.end()) continue;
    EXPECT_TRUE(found->second->has_shape) << name;
    EXPECT_EQ(found->second->dims, shape.get<Dims>()) << name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, facts] : expected().items()) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, GoldenOnnx, testing::ValuesIn(names()), [](const auto& info) { return info.param; });

struct Known {
  std::string name;
  double giga_macs;
  std::int64_t parameters;
};

// Published totals at 224 x 224 (torchvision) and of BERT-base with its pooler.
class KnownNetwork : public testing::TestWithParam<Known> {};

TEST_P(KnownNetwork, HasThePublishedTotals) {
  Binding binding;
  binding.batch = 1;
  if (GetParam().name == "bert_base") binding.seq = 128;
  const Result<Graph> graph = inspect(GetParam().name, binding);
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_NEAR(double(totals.macs) / 1e9, GetParam().giga_macs, 0.005);
  EXPECT_EQ(totals.parameters, GetParam().parameters);
  binding.batch = 8;
  const Result<Graph> eight = inspect(GetParam().name, binding);
  ASSERT_TRUE(eight);
  EXPECT_EQ(sum_totals(*eight).macs, 8 * totals.macs);
  EXPECT_EQ(sum_totals(*eight).parameters, totals.parameters);
}

INSTANTIATE_TEST_SUITE_P(Networks, KnownNetwork,
                         testing::Values(Known{"resnet50", 4.09, 25'557'032}, Known{"vgg16", 15.47, 138'357'544},
                                         Known{"mobilenet_v2", 0.30, 3'504'874},  // 3,504,872 and Clip's two bounds
                                         Known{"bert_base", 11.174, 109'482'240}),
                         [](const auto& info) { return info.param.name; });

TEST(GrowthWithTheSequence, AttentionIsQuadraticTheRestLinear) {
  const auto macs_at = [](std::int64_t length) {
    Binding binding;
    binding.seq = length;
    const Result<Graph> graph = inspect("bert_base", binding);
    EXPECT_TRUE(graph);
    return graph ? sum_totals(*graph).macs : 0;
  };
  const std::int64_t pooler = 768 * 768;
  const auto attention = [](std::int64_t length) { return 12 * 2 * length * length * 768; };
  const auto rest = [](std::int64_t length) { return 12 * length * (4 * 768 * 768 + 2 * 768 * 3072); };
  for (const std::int64_t length : {16, 128, 384, 512}) {
    EXPECT_EQ(macs_at(length), attention(length) + rest(length) + pooler) << length;
  }
}

}  // namespace
}  // namespace forerun
