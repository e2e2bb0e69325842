#include "commands/row_hashes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "commands/plan.hpp"
#include "store/workload_hash.hpp"

namespace forerun {
namespace {

using ::testing::HasSubstr;
const std::string kNetworks = FORERUN_SOURCE_DIR "/data/networks";

Result<std::string> hash_of(RowHashes& hashes, const std::string& text) {
  const auto request = nlohmann::ordered_json::parse(text);
  return hashes.hash_of(request, row_of_request(request));
}

std::string config_row(const std::string& more) {
  return R"({"id": "b.1", "mode": "llm", "model": "tiny", "precision": "fp16", "batch": 2, "network": {"config": {"model_type": "bert",
    "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 100}}, )" +
         more + "}";
}

TEST(RowHashes, AFilesHashIsTheOneThatPredictLooksFor) {
  RowHashes hashes("");
  const std::string file = kNetworks + "/resnet50.onnx";
  const auto hash =
      hash_of(hashes, R"({"id": "1", "mode": "inference", "batch": 8, "precision": "fp16", "network": {"onnx": ")" +
                          file + "\"}}");
  ASSERT_TRUE(hash) << hash.error().message;
  Workload workload;
  workload.binding.batch = 8;
  workload.precision = workload.binding.precision = Precision::Fp16;
  const auto network = read_network(file);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(*hash, workload_hash(analyze(**network, workload.binding).value(), workload));
}

TEST(RowHashes, AGeneratedNetworkIsKnownByItsGraph) {
  RowHashes hashes(kNetworks);
  const auto row = [&](const char* graph, const char* mode) {
    return hash_of(hashes, std::string(R"({"id": "p1.b8", "mode": ")") + mode +
                               R"(", "batch": 8, "precision": "fp16", "optimizer": "adam",
        "network": {"family": "resnet"}, "graph": ")" +
                               graph + "\"}");
  };
  ASSERT_TRUE(row("resnet50.onnx", "inference"));
  EXPECT_EQ(row("resnet50.onnx", "inference")->size(), 32U);
  EXPECT_NE(*row("resnet50.onnx", "inference"), *row("resnet50.onnx", "training"));
  EXPECT_THAT(row("no-such.onnx", "inference").error().message, HasSubstr("no-such.onnx"));
  RowHashes none("");
  EXPECT_EQ(
      *hash_of(none, R"({"id": "p1", "mode": "inference", "network": {"family": "resnet"}, "graph": "resnet50.onnx"})"),
      "");
}

TEST(RowHashes, PhasePrecisionAndAttentionTellRowsOfAConfigurationApart) {
  RowHashes hashes("");
  const auto base = hash_of(hashes, config_row(R"("phase": "forward", "sequence": 32)"));
  ASSERT_TRUE(base) << base.error().message;
  EXPECT_EQ(*base,
            *hash_of(hashes, config_row(R"("phase": "forward", "sequence": 32, "settings": {"iterations": 5})")));
  EXPECT_NE(*base, *hash_of(hashes, config_row(R"("phase": "forward", "sequence": 64)")));
  EXPECT_THAT(hash_of(hashes, config_row(R"("phase": "sleep", "sequence": 64)")).error().message, HasSubstr("phase"));
  std::string eager = config_row(R"("phase": "forward", "sequence": 32)");
  eager.replace(eager.find("\"model_type\""), 0, R"("attn_implementation": "eager", )");
  EXPECT_NE(*base, *hash_of(hashes, eager));
}

TEST(RowHashes, AnOperatorHasNone) {
  RowHashes hashes("");
  EXPECT_EQ(
      *hash_of(hashes, R"({"id": "o", "mode": "operator", "operator": {"op": "linear", "m": 8}, "precision": "fp16"})"),
      "");
}

}  // namespace
}  // namespace forerun
