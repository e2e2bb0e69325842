// Language models against what was measured: parameters of the campaigns' configurations, and how costs grow.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/csv.hpp"
#include "readers/networks.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// The campaign's own copy, and the data folder beside the project where there is one.
std::vector<fs::path> campaigns() {
  const fs::path root(FORERUN_SOURCE_DIR);
  std::vector<fs::path> found;
  for (const fs::path& path :
       {root / "data/measurements/h200-2026-11-first", root / "data/measurements/h200-2026-11-second",
        root / "data/measurements/h200-2026-11-third", root.parent_path() / "shared/data/h200"}) {
    std::error_code none;
    if (fs::exists(path / "llm_inference.csv", none) && fs::exists(path / "configs", none)) found.push_back(path);
  }
  return found;
}

Totals totals_of(const Network& network, Phase phase, std::int64_t batch, std::int64_t seq) {
  Binding binding;
  binding.batch = batch;
  binding.seq = seq;
  binding.phase = phase;
  binding.precision = Precision::Bf16;
  const auto graph = analyze(network, binding);
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph.has_value() ? sum_totals(*graph) : Totals{};
}

TEST(LlmParameters, EqualTheMeasuredNetworks) {
  ASSERT_FALSE(campaigns().empty());
  for (const fs::path& campaign : campaigns()) {
    auto csv = CsvReader::open((campaign / "llm_inference.csv").string());
    ASSERT_TRUE(csv.has_value()) << csv.error().message;
    std::map<std::string, std::int64_t> measured;
    while (true) {
      const auto row = csv->next();
      ASSERT_TRUE(row.has_value()) << row.error().message;
      if (!*row) break;
      // T5 rows hold three separate copies of the embedding, which tied weights have once.
      if (csv->field("family") == "t5" || csv->field("parameters").empty()) continue;
      measured[std::string(csv->field("config"))] = static_cast<std::int64_t>(*csv->number("parameters"));
    }
    EXPECT_GE(measured.size(), 1U) << campaign;
    for (const auto& [config, parameters] : measured) {
      fs::path file = campaign / "configs" / config;
      if (!fs::exists(file)) file = campaign / config;
      const auto network = read_network(file.string());
      ASSERT_TRUE(network.has_value()) << network.error().message;
      Binding binding;
      binding.batch = 1;
      binding.seq = 16;
      const auto graph = analyze(**network, binding);
      ASSERT_TRUE(graph.has_value()) << file << ": " << graph.error().message;
      EXPECT_EQ(sum_totals(*graph).parameters, parameters) << file;
    }
  }
}

TEST(LlmCosts, AttentionIsQuadraticInPrefillAndLinearInDecode) {
  const auto network = find_network("llama-3-8b");
  ASSERT_TRUE(network.has_value());
  const auto attention = [&](Phase phase, std::int64_t seq) {
    return totals_of(**network, phase, 1, seq).operators.at("Attention").macs;
  };
  // Scores and values: heads x tokens x keys x (128 + 128), 32 layers.
  EXPECT_EQ(attention(Phase::Prefill, 1000), 32LL * 32 * 1000 * 1000 * 256);
  EXPECT_EQ(attention(Phase::Prefill, 2000), 4 * attention(Phase::Prefill, 1000));
  EXPECT_EQ(attention(Phase::Decode, 1999), 32LL * 32 * 2000 * 256);
  EXPECT_EQ(attention(Phase::Decode, 1999), 2 * attention(Phase::Decode, 999));
}

TEST(LlmCosts, ASlidingWindowBoundsAttention) {
  const auto network = find_network("mistral-7b");
  ASSERT_TRUE(network.has_value());
  const auto attention = [&](Phase phase, std::int64_t seq) {
    return totals_of(**network, phase, 1, seq).operators.at("Attention").macs;
  };
  EXPECT_EQ(attention(Phase::Decode, 20000), attention(Phase::Decode, 40000));
  EXPECT_EQ(attention(Phase::Prefill, 16384), 2 * attention(Phase::Prefill, 8192));
}

TEST(LlmCosts, EveryShippedNetworkIsFullyCovered) {
  for (const ShippedNetwork& row : list_networks()) {
    if (row.architecture == "onnx") continue;
    const auto network = find_network(row.name);
    ASSERT_TRUE(network.has_value()) << network.error().message;
    const bool is_causal = row.task == "causal";
    for (const Phase phase : {Phase::Forward, Phase::Prefill, Phase::Decode}) {
      if (!is_causal && phase != Phase::Forward) continue;
      const Totals totals = totals_of(**network, phase, 1, 64);
      EXPECT_EQ(totals.coverage, 1.0) << row.name << " " << name_of(phase);
      EXPECT_GT(totals.macs, 0) << row.name;
    }
  }
}

TEST(LlmCosts, DecodeReadsEachWeightOnceForTwoOperationsPerParameter) {
  const auto network = find_network("llama-2-7b");
  ASSERT_TRUE(network.has_value());
  const Totals totals = totals_of(**network, Phase::Decode, 1, 1);
  // All parameters but the embedding table and the norms multiply one token once.
  const std::int64_t matrices = totals.parameters - 32000LL * 4096 - (2 * 32 + 1) * 4096LL;
  EXPECT_NEAR(double(totals.macs), double(matrices), 0.001 * double(matrices));
}

// Files of the data folder beside the project are read or refused with a reason, never a crash.
TEST(SharedConfigurations, AreReadOrRefusedWithAReason) {
  const fs::path shared = fs::path(FORERUN_SOURCE_DIR).parent_path() / "shared";
  int files = 0, read = 0;
  for (const fs::path& folder : {shared / "fixtures/hf_config", shared / "fixtures/gguf",
                                 shared / "fixtures/safetensors", shared / "data/public/reference/hf_configs"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      ++files;
      const auto network = read_network(entry.path().string());
      if (!network) {
        EXPECT_GT(network.error().message.size(), 20U) << entry.path();
        continue;
      }
      for (const Phase phase : {Phase::Forward, Phase::Prefill, Phase::Decode}) {
        Binding binding;
        binding.phase = phase;
        binding.precision = Precision::Bf16;
        const auto graph = analyze(**network, binding);
        EXPECT_TRUE(graph.has_value() || phase != Phase::Forward) << entry.path() << ": " << graph.error().message;
      }
      ++read;
    }
  }
  if (files == 0) GTEST_SKIP() << "no data folder beside the project";
  EXPECT_GT(read, files * 3 / 4);
}

}  // namespace
}  // namespace forerun
