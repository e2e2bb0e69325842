// Running graph networks: stored cases of each layer kind, and invalid programs.
#include "predictors/gnn/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "predictors/gnn/gnn_predictor.hpp"

namespace forerun {
namespace {

template <typename T>
std::vector<T> numbers_in(const Bundle& bundle, const char* name) {
  const auto bytes = bundle.section(name);
  EXPECT_TRUE(bytes) << name;
  std::vector<T> numbers(bytes->size() / sizeof(T));
  std::memcpy(numbers.data(), bytes->data(), numbers.size() * sizeof(T));
  return numbers;
}

class StoredCase : public testing::TestWithParam<const char*> {};

// The files hold a small network, a graph and LibTorch's answer; training's tests write them (FORERUN_WRITE_CASES).
TEST_P(StoredCase, GivesTheAnswerOfLibTorch) {
  const auto bundle = Bundle::open(std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/gnn/" + GetParam() + ".bundle");
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto engine = GnnEngine::load(*bundle);
  ASSERT_TRUE(engine) << engine.error().message;
  GraphTensors graph;
  graph.node_width = engine->program().node_width;
  graph.node_features = numbers_in<float>(*bundle, "case.nodes");
  graph.nodes = static_cast<std::int32_t>(graph.node_features.size()) / graph.node_width;
  graph.globals = numbers_in<float>(*bundle, "case.globals");
  graph.sources.offsets = numbers_in<std::int32_t>(*bundle, "case.offsets");
  graph.sources.columns = numbers_in<std::int32_t>(*bundle, "case.columns");
  const auto outputs = engine->run(graph, numbers_in<float>(*bundle, "case.weights"));
  ASSERT_TRUE(outputs) << outputs.error().message;
  for (std::size_t k = 0; k < outputs->size(); ++k) {
    const std::vector<float> expected = numbers_in<float>(*bundle, ("case.output" + std::to_string(k)).c_str());
    ASSERT_EQ(static_cast<std::size_t>((*outputs)[k].size()), expected.size());
    float scale = 0;
    for (const float value : expected) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR((*outputs)[k].data()[i], expected[i], 1e-4F * scale) << k << ", " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoredCase, testing::Values("sage", "gcn", "gat", "gin", "encoder"),
                         [](const auto& info) { return std::string(info.param); });

GnnProgram small_program() {
  GnnProgram program;
  program.node_width = 3;
  program.global_width = 2;
  program.tensors = {{"w", 4, 3, true}, {"b", 1, 4, true}};
  program.steps = {{StepKind::Linear, {0}, {0, 1}}, {StepKind::SumPool, {2}, {}}, {StepKind::Concat, {3, 1}, {}}};
  program.outputs = {4};
  return program;
}

std::string problem_of(const GnnProgram& program) {
  const auto checked = check_program(program);
  return checked ? "" : checked.error().message;
}

TEST(GnnProgram, IsTheSameAfterJson) {
  const GnnProgram program = small_program();
  ASSERT_EQ(problem_of(program), "");
  const auto again = program_from_json(program_to_json(program));
  ASSERT_TRUE(again);
  EXPECT_EQ(program_to_json(*again), program_to_json(program));
  const auto shapes = check_program(*again);
  EXPECT_EQ(shapes->back().width, 6);
  EXPECT_FALSE(shapes->back().per_node);
  EXPECT_FALSE(program_from_json("{}"));
  EXPECT_FALSE(program_from_json(R"({"node_width":1e18,"global_width":1,"tensors":[],"steps":[],"outputs":[]})"));
  EXPECT_FALSE(program_from_json(R"({"node_width":1,"global_width":-1,"tensors":[],"steps":[],"outputs":[]})"));
  EXPECT_FALSE(program_from_json("nonsense"));
}

TEST(GnnProgram, IsRefusedWhenInvalid) {
  const auto broken = [](auto change) {
    GnnProgram program = small_program();
    change(program);
    return problem_of(program);
  };
  EXPECT_NE(broken([](GnnProgram& p) { p.steps[0].inputs = {9}; }).find("register"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.steps[0].inputs = {2}; }).find("register"), std::string::npos);  // itself
  EXPECT_NE(broken([](GnnProgram& p) { p.steps[0].tensors = {0, 7}; }).find("tensor"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.steps[0].tensors = {0}; }).find("number"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.tensors[0].columns = 2; }).find("fit"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.tensors[0].rows = -4; }).find("shape"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.steps[1].inputs = {1}; }).find("nodes"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.steps[2].inputs = {2, 1}; }).find("rows"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) { p.outputs = {12}; }).find("output"), std::string::npos);
  EXPECT_NE(broken([](GnnProgram& p) {
              p.steps.push_back({StepKind::Linear, {0}, {0, 1}});
            }).find("another step"),
            std::string::npos);
}

TEST(GnnEngine, RefusesASectionOfAnotherSize) {
  BundleManifest manifest{.name = "x", .kind = "gnn"};
  manifest.parts["program"] = program_to_json(small_program());
  BundleWriter writer(manifest);
  ASSERT_TRUE(writer.add_section("w", pack_half(std::vector<float>(11))));
  ASSERT_TRUE(writer.add_section("b", pack_half(std::vector<float>(4))));
  const auto bytes = writer.bytes();
  const auto bundle = Bundle::from_bytes(*bytes, "x.bundle");
  const auto engine = GnnEngine::load(*bundle);
  ASSERT_FALSE(engine);
  EXPECT_NE(engine.error().message.find("'w'"), std::string::npos);
}

TEST(GnnPredictor, ShippedBundleHasTheHashesOfThisBuild) {
  const auto predictor = GnnPredictor::load(Bundle::open(FORERUN_SOURCE_DIR "/bundles/gnn-kernels.bundle").value());
  EXPECT_TRUE(predictor) << predictor.error().message;
}

TEST(GnnPredictor, RefusesABundleForOtherFeatures) {
  BundleManifest manifest{.name = "x", .kind = "gnn"};
  manifest.schema = {"gnn-kernels", 0, 1};
  const auto bytes = BundleWriter(manifest).bytes();
  const auto predictor = GnnPredictor::load(*Bundle::from_bytes(*bytes, "x.bundle"));
  ASSERT_FALSE(predictor);
  EXPECT_NE(predictor.error().message.find("train it anew"), std::string::npos);
}

TEST(PackHalf, KeepsElevenBitsOfPrecision) {
  const std::string bytes = pack_half({1.0F, -2.5F, 0.1F});
  ASSERT_EQ(bytes.size(), 6u);
  EXPECT_EQ(static_cast<unsigned char>(bytes[1]), 0x3C);  // 1.0 is 0x3C00
  EXPECT_EQ(static_cast<unsigned char>(bytes[3]), 0xC1);  // -2.5 is 0xC100
}

}  // namespace
}  // namespace forerun
