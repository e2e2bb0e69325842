#include "readers/gguf/gguf_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "readers/format.hpp"
#include "readers/gguf/gguf_config.hpp"
#include "readers/gguf/gguf_reader.hpp"
#include "readers/gguf/gguf_types.hpp"

namespace forerun {
namespace {

using testing::HasSubstr;

// Writes a GGUF file piece by piece.
class Writer {
 public:
  std::string bytes = "GGUF";
  template <typename T>
  Writer& number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    bytes.append(value);
    return *this;
  }
  Writer& start(std::uint64_t tensors, std::uint64_t entries) {
    return number<std::uint32_t>(3).number(tensors).number(entries);
  }
  Writer& entry(std::string_view key, std::string_view value) { return text(key).number<std::uint32_t>(8).text(value); }
  Writer& entry(std::string_view key, std::uint32_t value) { return text(key).number<std::uint32_t>(4).number(value); }
  Writer& tensor(std::string_view name, std::initializer_list<std::uint64_t> dims, std::uint32_t type,
                 std::uint64_t offset) {
    text(name).number<std::uint32_t>(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) number(dim);
    return number(type).number(offset);
  }
};

std::string error_of(const std::string& bytes) {
  const auto file = parse_gguf(bytes, "x");
  return file ? "" : file.error().message;
}

TEST(GgufFile, ReadsMetadataAndTensorsInPyTorchsOrder) {
  Writer writer;
  writer.start(1, 2)
      .entry("general.architecture", "llama")
      .entry("llama.block_count", 22U)
      .tensor("blk.0.ffn_down.weight", {5632, 2048}, 10, 0);
  const auto file = parse_gguf(writer.bytes, "x");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->text("general.architecture"), "llama");
  EXPECT_EQ(file->integer("llama.block_count", 0), 22);
  ASSERT_EQ(file->tensors.size(), 1U);
  EXPECT_EQ(file->tensors[0].stored.shape, (Dims{2048, 5632}));
  EXPECT_EQ(file->tensors[0].stored.bytes, 5632LL * 2048 / 256 * 84) << "Q2_K";
  EXPECT_TRUE(file->is_truncated) << "the data section is missing";
}

TEST(GgufFile, CountsLongArraysWithoutKeepingThem) {
  Writer writer;
  writer.start(0, 1)
      .text("tokenizer.ggml.tokens")
      .number<std::uint32_t>(9)
      .number<std::uint32_t>(8)
      .number<std::uint64_t>(3);
  writer.text("a").text("b").text("c");
  const auto file = parse_gguf(writer.bytes, "x");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->array_size("tokenizer.ggml.tokens"), 3);
}

TEST(GgufFile, RefusesDamage) {
  EXPECT_THAT(error_of("GGML"), HasSubstr("not a GGUF file"));
  EXPECT_THAT(error_of(Writer().number<std::uint32_t>(9).bytes), HasSubstr("version 9"));
  EXPECT_THAT(error_of(Writer().number<std::uint32_t>(3).bytes), HasSubstr("cut off"));
  EXPECT_THAT(error_of(Writer().start(~0ULL, 0).bytes), HasSubstr("more tensors"));
  EXPECT_THAT(error_of(Writer().start(1, 0).bytes), HasSubstr("tensor list"));
  EXPECT_THAT(error_of(Writer().start(1, 0).tensor("a", {256}, 99, 0).bytes), HasSubstr("type 99"));
  EXPECT_THAT(error_of(Writer().start(1, 0).tensor("a", {100}, 12, 0).bytes), HasSubstr("whole blocks"));
  EXPECT_THAT(error_of(Writer().start(1, 0).tensor("a", {1ULL << 40, 1ULL << 40}, 0, 0).bytes),
              HasSubstr("whole blocks"));
  Writer deep;
  deep.start(0, 1).text("k").number<std::uint32_t>(9);
  for (int i = 0; i < 20; ++i) deep.number<std::uint32_t>(9).number<std::uint64_t>(1);
  EXPECT_THAT(error_of(deep.bytes), HasSubstr("damaged"));
}

TEST(GgufTypes, HaveTheBlocksGgmlDefines) {
  EXPECT_EQ(find_gguf_type(2)->block_bytes, 2 + 16);              // Q4_0: scale, 32 nibbles
  EXPECT_EQ(find_gguf_type(12)->block_bytes, 2 * 2 + 12 + 128);   // Q4_K
  EXPECT_EQ(find_gguf_type(14)->block_bytes, 128 + 64 + 16 + 2);  // Q6_K
  EXPECT_EQ(find_gguf_type(39)->block_bytes, 1 + 16);             // MXFP4
  EXPECT_EQ(find_gguf_type(4), nullptr) << "removed from ggml";
}

TEST(GgufNames, TranslateFromHuggingFaces) {
  EXPECT_EQ(gguf_name("model.layers.12.self_attn.q_proj", false), "blk.12.attn_q");
  EXPECT_EQ(gguf_name("transformer.h.3.mlp.c_fc", false), "blk.3.ffn_up");
  EXPECT_EQ(gguf_name("model.layers.0.post_attention_layernorm", false), "blk.0.ffn_norm");
  EXPECT_EQ(gguf_name("model.layers.0.post_attention_layernorm", true), "blk.0.post_attention_norm");
  EXPECT_EQ(gguf_name("model.embed_tokens", false), "token_embd");
  EXPECT_EQ(gguf_name("lm_head", false), "output");
}

TEST(GgufReader, ExpandsTheNetworkWithTheFilesBytes) {
  Writer writer;
  writer.start(3, 6)
      .entry("general.architecture", "llama")
      .entry("llama.block_count", 1U)
      .entry("llama.embedding_length", 256U);
  writer.entry("llama.attention.head_count", 4U)
      .entry("llama.attention.head_count_kv", 2U)
      .entry("llama.feed_forward_length", 512U);
  writer.tensor("token_embd.weight", {256, 1000}, 8, 0).tensor("blk.0.attn_q.weight", {256, 256}, 12, 0);
  writer.tensor("blk.0.ffn_down.weight", {512, 256}, 14, 0);
  const auto network = read_gguf_source({.path = "tiny.gguf", .bytes = writer.bytes});
  ASSERT_TRUE(network.has_value()) << network.error().message;
  EXPECT_EQ((*network)->own_precision(), Precision::Fp16) << "llama.cpp's activations and cache";
  Binding binding;
  binding.precision = Precision::Fp16;
  const auto graph = (*network)->expand(binding);
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  EXPECT_EQ(graph->format, "gguf");
  std::int64_t seen = 0;
  for (const Value& value : graph->values) {
    if (value.name == "model.embed_tokens.weight") seen += bytes_of(value) == 1000 * 256 / 32 * 34;
    if (value.name == "model.layers.0.self_attn.q_proj.weight") seen += bytes_of(value) == 256 * 256 / 256 * 144;
    if (value.name == "model.layers.0.mlp.down_proj.weight") seen += bytes_of(value) == 512 * 256 / 256 * 210;
    if (value.name == "lm_head.weight") ADD_FAILURE() << "no output tensor: the head is tied";
  }
  EXPECT_EQ(seen, 3);
}

TEST(GgufReader, AVocabularyAloneIsRefusedWithTheReason) {
  Writer writer;
  writer.start(0, 1).entry("general.architecture", "falcon");
  const auto network = read_gguf_source({.path = "vocab.gguf", .bytes = writer.bytes});
  ASSERT_FALSE(network.has_value());
  EXPECT_THAT(network.error().message, HasSubstr("vocabulary"));
}

}  // namespace
}  // namespace forerun
