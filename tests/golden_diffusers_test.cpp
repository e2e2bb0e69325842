// Diffusion pipelines against the counts that the diffusers library gives for each of their networks.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/mapped_file.hpp"
#include "readers/json_text.hpp"
#include "readers/reader.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(FORERUN_SOURCE_DIR) / "tests" / "fixtures" / "diffusers";

Result<Graph> read(const fs::path& path, const Binding& binding = {}) {
  FORERUN_TRY(const auto network, read_network(path.string()));
  return analyze(*network, binding);
}

std::string why(const fs::path& path, const Binding& binding = {}) {
  const auto graph = read(path, binding);
  return graph ? "" : graph.error().message;
}

struct Count {
  std::int64_t parameters = 0, macs = 0;  // of one call
};

std::map<std::string, Count> counts_by_network(const Graph& graph) {
  std::map<std::string, Count> counts;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      const std::string module(module_of(graph, node));
      Count& count = counts[module.substr(0, module.find('/'))];
      count.parameters += node.cost.parameters;
      count.macs += node.cost.macs;
    }
  }
  return counts;
}

TEST(DiffusionPipelines, CountWhatTheLibraryCounts) {
  const auto file = MappedFile::open((kFolder / "counts.json").string());
  ASSERT_TRUE(file) << file.error().message;
  const auto expected = parse_json_text(file->bytes(), "counts.json");
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->size(), 3U);
  for (const auto& [name, networks] : expected->items()) {
    const auto graph = read(kFolder / name);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(sum_totals(*graph).coverage, 1.0);
    const auto counts = counts_by_network(*graph);
    for (const auto& [part, wanted] : networks.items()) {
      ASSERT_TRUE(counts.contains(part)) << name << " " << part;
      EXPECT_EQ(counts.at(part).parameters, wanted["parameters"].get<std::int64_t>()) << name << " " << part;
      const auto macs = wanted["macs"].get<double>();
      EXPECT_NEAR(double(counts.at(part).macs), macs, 1e-3 * macs) << name << " " << part;
    }
  }
}

TEST(DiffusionPipelines, RunTheDenoiserOnceAStep) {
  const auto macs = [](const Binding& binding) {
    const auto graph = read(kFolder / "sd15", binding);
    EXPECT_TRUE(graph) << graph.error().message;
    return graph ? double(sum_totals(*graph).macs) : 0;
  };
  Binding two{.dims = {{"steps", 2}}}, four{.dims = {{"steps", 4}}}, alone{.dims = {{"steps", 2}, {"guidance", 1}}};
  const double step = (macs(four) - macs(two)) / 2;
  EXPECT_NEAR(step, 803273441280.0, 1e9);                  // of the batch of two that guidance needs
  EXPECT_NEAR(macs({}) - macs(two), 48 * step, 1e9);       // 50 steps are the scheduler's
  EXPECT_NEAR(macs(two) - macs(alone), 1.5 * step, 3e10);  // PNDM calls it three times; and half the text encoder's
}

TEST(DiffusionPipelines, StateWhatWasAssumed) {
  const auto graph = read(kFolder / "sd15");
  ASSERT_TRUE(graph);
  std::string warnings;
  for (const std::string& warning : graph->warnings) warnings += warning + "\n";
  EXPECT_NE(warnings.find("steps not given: 50 (PNDMScheduler), 51 calls of the denoiser"), std::string::npos);
  EXPECT_NE(warnings.find("guidance doubles the denoiser's batch"), std::string::npos);
  EXPECT_NE(warnings.find("the encoder of the same autoencoder is not"), std::string::npos);
}

TEST(DiffusionPipelines, TakeTheSizeOfTheImage) {
  const auto graph = read(kFolder / "sdxl", {.batch = 3, .dims = {{"height", 512}, {"width", 768}}});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->values[std::size_t(graph->main().outputs[0])].dims, (Dims{3, 3, 512, 768}));
  EXPECT_NE(why(kFolder / "sdxl", {.dims = {{"height", 500}}}).find("a multiple of 8"), std::string::npos);
  EXPECT_NE(why(kFolder / "sdxl", {.dims = {{"depth", 500}}}).find("no free dimension"), std::string::npos);
}

TEST(DiffusionPipelines, OneNetworkIsOneCall) {
  const auto graph = read(kFolder / "sdxl" / "unet", {.batch = 2});
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_NEAR(double(sum_totals(*graph).macs), 6761236398080.0, 7e9);
}

TEST(DiffusionPipelines, RefuseByTheNameOfTheNetwork) {
  const fs::path folder = fs::path(::testing::TempDir()) / "golden_diffusers";
  fs::remove_all(folder);
  fs::copy(kFolder / "sd15", folder, fs::copy_options::recursive);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("model_index.json",
        R"({"_class_name":"FluxPipeline","transformer":["diffusers","FluxTransformer2DModel"],"scheduler":["x","Y"]})");
  EXPECT_NE(
      why(folder).find("component 'transformer' (FluxTransformer2DModel) is not a network that Forerun writes out"),
      std::string::npos)
      << why(folder);
  write("model_index.json", R"({"unet":["diffusers","UNet2DConditionModel"],"vae2":["diffusers","AutoencoderKL"]})");
  EXPECT_NE(why(folder).find("component 'vae2' has no vae2/config.json"), std::string::npos) << why(folder);
  write("model_index.json", R"({"vae":["diffusers","AutoencoderKL"]})");
  EXPECT_NE(why(folder).find("names 0 denoisers"), std::string::npos) << why(folder);
  write("model_index.json", R"({"unet":["diffusers","UNet2DConditionModel"]})");
  EXPECT_EQ(why(folder), "");
  EXPECT_NE(why(folder, {.training = true}).find("not trained as one"), std::string::npos);
  for (const char* odd : {R"({"block_out_channels":[0]})", R"({"layers_per_block":100000})", R"({"in_channels":-1})",
                          "[]", R"({"down_block_types":["X"],"up_block_types":["X"],"block_out_channels":[32]})",
                          R"({"class_embed_type":"timestep"})", "{"}) {
    write("unet/config.json", odd);
    EXPECT_NE(why(folder), "") << odd;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace forerun
