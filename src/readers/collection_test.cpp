#include "readers/collection.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/mapped_file.hpp"
#include "readers/json_text.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(FORERUN_SOURCE_DIR) / "tests" / "fixtures";

// "Conv 3, Relu 2 …; 1234 bytes": what a graph computes and stores.
std::string summary(const std::string& path) {
  const auto network = read_network(path);
  if (!network) return network.error().message;
  const auto graph = (*network)->expand({});
  if (!graph) return graph.error().message;
  std::string text;
  std::int64_t weights = 0;
  for (const Block& block : graph->blocks) {
    for (const Node& node : block.nodes) text += node.op_type + " ";
  }
  for (const Value& value : graph->values) weights += is_weight(value) ? elements_of(value) : 0;
  return text + std::to_string(weights);
}

std::string refusal(const std::string& path) {
  const auto network = read_network(path);
  if (network) return "accepted";
  EXPECT_NE(network.error().kind, ErrorKind::Internal) << network.error().message;
  EXPECT_EQ(network.error().message.find('\n'), std::string::npos) << network.error().message;
  return network.error().message;
}

std::string archive(const std::string& name) { return (kFixtures / "archives" / name).string(); }

class Collection : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, const fs::path& fixture) const {
    fs::create_directories((folder_ / name).parent_path());
    fs::copy_file(kFixtures / fixture, folder_ / name);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  fs::path folder_ = fs::path(::testing::TempDir()) / ("collection_test_" + std::to_string(::getpid()));
};

TEST(Archives, GiveTheNetworkOfTheFileTheyHold) {
  const auto file = MappedFile::open(archive("expected.json"));
  ASSERT_TRUE(file) << file.error().message;
  const auto expected = parse_json_text(file->bytes(), "expected.json");
  ASSERT_TRUE(expected);
  ASSERT_GE(expected->size(), 10U);
  for (const auto& [name, plain] : expected->items()) {
    const std::string wanted = summary((kFixtures / plain.get<std::string>()).string());
    EXPECT_EQ(wanted.find(".onnx:"), std::string::npos) << wanted;
    EXPECT_EQ(summary(archive(name)), wanted) << name;
  }
}

TEST(Archives, OfARepositoryStateItsCheckpointAndItsAdapters) {
  for (const char* name : {"repository.tar.gz", "repository.zip"}) {
    const auto network = read_network(archive(name));
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ((*network)->own_precision(), Precision::Bf16) << "the shards' type, not the configuration's";
    const auto graph = (*network)->expand({});
    ASSERT_TRUE(graph) << graph.error().message;
    std::string warnings;
    for (const std::string& warning : graph->warnings) warnings += warning + "\n";
    EXPECT_NE(warnings.find("adapters are not applied; the folder holds 'adapters/french'"), std::string::npos)
        << warnings;
    EXPECT_EQ(warnings.find("are not in"), std::string::npos) << warnings;
  }
}

TEST(Archives, AreRefusedForTheReasonTheyHave) {
  const std::pair<const char*, const char*> cases[] = {
      {"bad_several.zip", "holds 2 networks ('a.onnx', 'b/c.onnx'); unpack it and give one of them"},
      {"bad_outside.tar", "leads out of the archive"},
      {"bad_absolute.tar", "leads out of the archive"},
      {"bad_outside.zip", "a name outside the archive"},
      {"bad_nested.zip", "an archive in an archive"},
      {"bad_encrypted.zip", "encrypted; pack the archive without a password"},
      {"bad_bomb.zip", "more than 400 times its size"},
      {"bad_cut.tar.gz", "damaged or cut short"},
      {"bad_empty.zip", "the archive has no files"},
      {"bad_links.tar", "the archive has no files"},
      {"bad_adapter.zip", "an adapter (PEFT) without its network; give the folder of the base network, 'org/base'"},
      {"bad_nothing.zip", "no file in this folder is of a format Forerun reads"},
  };
  for (const auto& [name, reason] : cases) {
    const std::string message = refusal(archive(name));
    EXPECT_NE(message.find(reason), std::string::npos) << name << ": " << message;
    EXPECT_EQ(message.find(archive(name)), 0U) << message;
  }
}

TEST_F(Collection, AFolderWithOneNetworkIsThatNetwork) {
  put("export/net.onnx", "onnx/batch_free_residual.onnx");
  write("README.md", "x");
  write("export/weights.bin", "x");
  write(".git/config.json", "{}");
  EXPECT_EQ(summary(folder_.string()), summary((kFixtures / "onnx/batch_free_residual.onnx").string()));
}

TEST_F(Collection, AFolderWithSeveralNetworksListsThem) {
  put("a.onnx", "onnx/batch_free_residual.onnx");
  put("b/saved_model.pb", "parity/lstm.savedmodel.pb");
  put("b/assets/c.onnx", "onnx/batch_free_residual.onnx");  // belongs to the SavedModel
  EXPECT_NE(refusal(folder_.string()).find("holds 2 networks ('b', 'a.onnx'); give one of them"), std::string::npos)
      << refusal(folder_.string());
}

TEST_F(Collection, AFolderWithATensorFlowJsNetworkIsRead) {
  put("model.json", "keras/cnn.tfjs.json");
  write("group1-shard1of1.bin", "xxxx");
  EXPECT_EQ(summary(folder_.string()), summary((kFixtures / "keras/cnn.tfjs.json").string()));
}

TEST_F(Collection, AnIndexWithoutItsShardsFollowsTheConfiguration) {
  write(
      "config.json",
      R"({"model_type":"llama","hidden_size":16,"intermediate_size":32,"num_attention_heads":2,"num_hidden_layers":1,)"
      R"("vocab_size":32,"torch_dtype":"float16"})");
  write("model.safetensors.index.json", R"({"weight_map":{"lm_head.weight":"model-00001-of-00001.safetensors"}})");
  const auto network = read_network(folder_.string());
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ((*network)->own_precision(), Precision::Fp16);
  const auto graph = (*network)->expand({});
  ASSERT_TRUE(graph);
  EXPECT_NE(graph->warnings.front().find("are not beside it: sizes of weights follow the configuration"),
            std::string::npos)
      << graph->warnings.front();
}

}  // namespace
}  // namespace forerun
