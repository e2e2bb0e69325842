#include <gtest/gtest.h>

#include "readers/networks.hpp"
#include "readers/reader.hpp"

namespace forerun {
namespace {

Result<Graph> expand(const char* name, const Shard& shard, Phase phase = Phase::Forward) {
  const auto network = find_network(name);
  if (!network) return network.error();
  Binding binding;
  binding.batch = 4;
  binding.seq = 256;
  binding.phase = phase;
  binding.shard = shard;
  return (*network)->expand(binding);
}

double parameters(const Graph& graph) {
  double sum = 0;
  for (const Value& value : graph.values) {
    if (is_weight(value)) sum += double(elements_of(value));
  }
  return sum;
}
double cache_bytes(const Graph& graph) {
  double sum = 0;
  for (const Value& value : graph.values) {
    if (value.role == ValueRole::Cache) sum += double(bytes_of(value));
  }
  return sum;
}
double messages(const Graph& graph, Collective collective) {
  double count = 0;
  for (const RankMessage& message : graph.messages) count += message.collective == collective ? message.count : 0;
  return count;
}
std::string refusal(const char* name, const Shard& shard) {
  const auto graph = expand(name, shard);
  return graph ? "" : graph.error().message;
}

TEST(Shard, DegreesOfOneChangeNothing) {
  const auto whole = expand("llama-3-8b", {}), same = expand("llama-3-8b", {.first_layer = 0, .layers = 32});
  ASSERT_TRUE(whole && same);
  EXPECT_TRUE(whole->messages.empty());
  EXPECT_EQ(whole->main().nodes.size(), same->main().nodes.size());
  EXPECT_EQ(parameters(*whole), parameters(*same));
}
TEST(Shard, RanksTogetherHoldTheNetworkAndLittleMore) {
  for (const char* name : {"llama-3-8b", "mixtral-8x7b", "gpt2-xl", "bert-large-uncased", "qwen3-8b", "t5-large"}) {
    const auto whole = expand(name, {});
    ASSERT_TRUE(whole) << name;
    const std::int64_t ranks = std::string(name) == "gpt2-xl" ? 5 : 4;
    const auto rank = expand(name, {.tensor = ranks});
    ASSERT_TRUE(rank) << name << ": " << rank.error().message;
    EXPECT_GE(double(ranks) * parameters(*rank), parameters(*whole)) << name;
    EXPECT_LT(double(ranks) * parameters(*rank), 1.05 * parameters(*whole)) << name;
  }
}
TEST(Shard, CachesAreDividedByKeyHeads) {
  const auto whole = expand("llama-3-8b", {}, Phase::Decode), rank = expand("llama-3-8b", {.tensor = 8}, Phase::Decode),
             more = expand("llama-3-8b", {.tensor = 16}, Phase::Decode);
  ASSERT_TRUE(whole && rank && more);
  EXPECT_DOUBLE_EQ(8 * cache_bytes(*rank), cache_bytes(*whole));
  EXPECT_DOUBLE_EQ(cache_bytes(*more), cache_bytes(*rank));  // 8 key heads: two ranks have the same
}
TEST(Shard, ALayerHasTwoAllReducesOfItsActivations) {
  const auto rank = expand("llama-3-8b", {.tensor = 4});
  ASSERT_TRUE(rank);
  EXPECT_EQ(messages(*rank, Collective::AllReduce), 2 * 32 + 1);  // and the embedding's
  EXPECT_EQ(messages(*rank, Collective::AllGather), 1);           // of the logits
  EXPECT_DOUBLE_EQ(rank->messages.front().bytes, 4.0 * 256 * 4096 * 4);
}
TEST(Shard, ExpertsSendTheirTokensOutAndBack) {
  const auto whole = expand("mixtral-8x7b", {}), rank = expand("mixtral-8x7b", {.expert = 8});
  ASSERT_TRUE(whole && rank);
  EXPECT_EQ(messages(*rank, Collective::AllToAll), 2 * 32);
  EXPECT_LT(parameters(*rank), 0.2 * parameters(*whole));
}
TEST(Shard, StagesHoldEveryWeightOnce) {
  const auto whole = expand("llama-3-8b", {});
  ASSERT_TRUE(whole);
  double sum = 0;
  for (std::int64_t first = 0; first < 32; first += 8) {
    const auto stage = expand("llama-3-8b", {.first_layer = first, .layers = 8});
    ASSERT_TRUE(stage);
    sum += parameters(*stage);
  }
  EXPECT_DOUBLE_EQ(sum, parameters(*whole));
}
TEST(Shard, PartsOfASequenceGatherKeysAndValues) {
  const auto rank = expand("llama-3-8b", {.context = 4});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->main().outputs.size(), 1U);
  EXPECT_EQ(rank->values[std::size_t(rank->main().outputs[0])].dims[1], 64);
  EXPECT_EQ(messages(*rank, Collective::AllGather), 2 * 32);
}
TEST(Shard, RefusesWhatDoesNotDivideWithTheDivisors) {
  EXPECT_NE(refusal("llama-3-8b", {.tensor = 7}).find("1, 2, 4, 8, 16, 32"), std::string::npos);
  EXPECT_NE(refusal("gpt2-xl", {.tensor = 2}).find("1, 5, 25"), std::string::npos);
  EXPECT_NE(refusal("mixtral-8x7b", {.expert = 3}).find("experts"), std::string::npos);
  EXPECT_NE(refusal("llama-3-8b", {.expert = 2}).find("no experts"), std::string::npos);
  EXPECT_NE(refusal("llama-3-8b", {.context = 3}), "");
  EXPECT_NE(refusal("t5-large", {.first_layer = 0, .layers = 4}).find("stages"), std::string::npos);
}
TEST(Shard, SaysWhatIsPaddedAndWhatEveryRankHolds) {
  const auto padded = expand("gpt2-xl", {.tensor = 5}), shared = expand("deepseek-v2-lite", {.tensor = 4});
  ASSERT_TRUE(padded && shared);
  const auto says = [](const Graph& graph, const char* what) {
    for (const std::string& warning : graph.warnings) {
      if (warning.find(what) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(says(*padded, "padded"));
  EXPECT_TRUE(says(*shared, "latent key-value cache is whole"));
}

}  // namespace
}  // namespace forerun
