#include "readers/safetensors/safetensors_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "readers/reader.hpp"

namespace forerun {
namespace {

using testing::HasSubstr;

std::string file_of(const std::string& header, std::size_t data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + std::string(data, '\0');
}

const std::string kTwo =
    R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
    R"("b":{"dtype":"F32","shape":[],"data_offsets":[12,16]}})";

std::string error_of(const std::string& bytes) {
  std::vector<std::string> warnings;
  const auto tensors = read_safetensors_header(bytes, "x", warnings);
  return tensors ? "" : tensors.error().message;
}

TEST(Safetensors, ReadsNamesTypesShapesAndBytes) {
  std::vector<std::string> warnings;
  const auto tensors = read_safetensors_header(file_of(kTwo, 16), "x", warnings);
  ASSERT_TRUE(tensors.has_value()) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 2U);
  EXPECT_EQ((*tensors)[0].name, "a.weight");
  EXPECT_EQ((*tensors)[0].dtype, DType::BFloat16);
  EXPECT_EQ((*tensors)[0].shape, (Dims{2, 3}));
  EXPECT_EQ((*tensors)[0].bytes, 12);
  EXPECT_TRUE(warnings.empty());
}

TEST(Safetensors, ATruncatedFileIsReadWithAWarning) {
  std::vector<std::string> warnings;
  EXPECT_TRUE(read_safetensors_header(file_of(kTwo, 3), "x", warnings).has_value());
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("13 bytes")));
}

TEST(Safetensors, RefusesDamagedHeaders) {
  EXPECT_THAT(error_of(""), HasSubstr("too short"));
  EXPECT_THAT(error_of(file_of(kTwo, 21)), HasSubstr("5 bytes follow"));
  EXPECT_THAT(error_of(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), HasSubstr("over the limit"));
  EXPECT_THAT(error_of(std::string("\x10\0\0\0\0\0\0\0{}", 10)), HasSubstr("cut off"));
  EXPECT_THAT(error_of(file_of("[]", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(error_of(file_of("{\"a\"", 0)), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(file_of(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,8]}})", 8)),
              HasSubstr("does not fill"));
  EXPECT_THAT(error_of(file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,8]}})", 8)),
              HasSubstr("does not fill"));
  EXPECT_THAT(error_of(file_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8)),
              HasSubstr("whole number"));
  EXPECT_THAT(error_of(file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8)), HasSubstr("gap"));
  EXPECT_THAT(error_of(file_of(std::string(200, '['), 0)), HasSubstr("nested deeper"));
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path = std::filesystem::temp_directory_path() / ("forerun-safetensors-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
  }
  void TearDown() override { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
  }
  std::filesystem::path path;
};

TEST_F(Folder, WeightsAloneAreInspectable) {
  write("model.safetensors", file_of(kTwo, 16));
  const auto network = read_network((path / "model.safetensors").string());
  ASSERT_TRUE(network.has_value()) << network.error().message;
  const auto graph = (*network)->expand({});
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->main().nodes.size(), 2U);
  EXPECT_THAT(graph->warnings, testing::Contains(HasSubstr("weights only")));
}

TEST_F(Folder, AnIndexWithoutItsShardsIsRefusedWithTheReason) {
  write("model.safetensors.index.json", R"({"weight_map":{"a":"part-1.safetensors"}})");
  const auto network = read_network((path / "model.safetensors.index.json").string());
  ASSERT_FALSE(network.has_value());
  EXPECT_THAT(network.error().message, HasSubstr("is not beside it"));
}

TEST_F(Folder, AnIndexMayNotPointElsewhere) {
  write("model.safetensors.index.json", R"({"weight_map":{"a":"../secret.safetensors"}})");
  const auto network = read_network((path / "model.safetensors.index.json").string());
  ASSERT_FALSE(network.has_value());
  EXPECT_THAT(network.error().message, HasSubstr("outside its folder"));
}

TEST_F(Folder, AConfigurationTakesTheWeightsTrueSizes) {
  write("config.json", R"({"model_type":"llama","hidden_size":8,"intermediate_size":16,"num_hidden_layers":1,)"
                       R"("num_attention_heads":2,"vocab_size":10})");
  // One projection in fp8 with a scale beside it; the others are not in the file.
  write("model.safetensors",
        file_of(R"({"model.layers.0.self_attn.q_proj.weight":{"dtype":"F8_E4M3","shape":[8,8],"data_offsets":[0,64]},)"
                R"("model.layers.0.self_attn.q_proj.weight_scale":{"dtype":"F32","shape":[1],"data_offsets":[64,68]}})",
                68));
  const auto network = read_network(path.string());
  ASSERT_TRUE(network.has_value()) << network.error().message;
  Binding binding;
  binding.precision = Precision::Bf16;
  const auto graph = (*network)->expand(binding);
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  for (const Value& value : graph->values) {
    if (value.name == "model.layers.0.self_attn.q_proj.weight") {
      EXPECT_EQ(value.dtype, DType::Float8E4M3FN);
      EXPECT_EQ(bytes_of(value), 68);
    }
    if (value.name == "model.layers.0.self_attn.k_proj.weight") {
      EXPECT_EQ(bytes_of(value), 8 * 8 * 2);
    }
  }
  EXPECT_THAT(graph->warnings, testing::Contains(HasSubstr("are not in model.safetensors")));
}

}  // namespace
}  // namespace forerun
