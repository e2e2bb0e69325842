// A new format is a folder (layer_list/) and a row like the one here, which the program would have in reader.cpp.
#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "layer_list/layer_list_reader.hpp"

namespace forerun {
namespace {

constexpr Format kLayerList = {
    .name = "layer list", .extension = ".layers", .matches = is_layer_list, .read = read_layer_list_source};

Result<Graph> analyze_text(std::string_view text, std::int64_t batch) {
  const Source source = {.path = "mlp.layers", .bytes = text};
  EXPECT_TRUE(kLayerList.matches(source));
  FORERUN_TRY(const auto network, kLayerList.read(source));
  Binding binding;
  binding.batch = batch;
  return analyze(*network, binding);
}

TEST(ExampleReader, AnalysisCountsTheLayersOfAFile) {
  const auto graph = analyze_text("layers 1\ninput 1000\nlinear 512\nrelu\nlinear 10\n", 8);
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.parameters, 1000 * 512 + 512 * 10);
  EXPECT_EQ(totals.macs, 8 * (1000 * 512 + 512 * 10));
  EXPECT_EQ(totals.coverage, 1);
  EXPECT_EQ(graph->values[std::size_t(graph->main().outputs[0])].dims, (Dims{8, 10}));
}

TEST(ExampleReader, NamesTheLineThatIsWrong) {
  for (const char* bad :
       {"layers 1\nrelu\n", "layers 1\ninput 8\nlinear -1\n", "layers 1\ninput 8\nlinear 9999999999\n",
        "layers 1\ninput 8\nlinear\n", "layers 1\ninput 8\nconv 3\n", "layers 1\ninput 8\ninput 8\n"}) {
    const auto graph = analyze_text(bad, 1);
    ASSERT_FALSE(graph) << bad;
    EXPECT_NE(graph.error().message.find("mlp.layers: line "), std::string::npos) << graph.error().message;
  }
  EXPECT_FALSE(analyze_text("layers 1\ninput 8\n", 1));
  EXPECT_FALSE(kLayerList.matches({.path = "other.layers", .bytes = "layers 2\n"}));
}

}  // namespace
}  // namespace forerun
