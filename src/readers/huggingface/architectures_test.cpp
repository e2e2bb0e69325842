// Every architecture with nothing but its model_type has the parameters of Hugging Face's default configuration.
#include "readers/huggingface/architectures.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "readers/huggingface/huggingface_reader.hpp"

namespace forerun {
namespace {

struct Golden {
  std::string_view model_type;
  std::int64_t parameters;
};

// Counted with transformers 5.22 on the meta device: AutoModel for encoders and encoder-decoders,
// AutoModelForCausalLM for the others; weights tied as the class ties them.
constexpr Golden kGolden[] = {
    {"albert", 222595584},
    {"bart", 406291456},
    {"bert", 109482240},
    {"bloom", 16156544},
    {"camembert", 109482240},
    {"clip", 151277313},
    {"codegen", 6050882784},
    {"cohere", 34980831232},
    {"cohere2", 34980831232},
    {"deberta-v2", 877507584},
    {"deepseek_v2", 38612307968},
    {"deepseek_v3", 671026404352},
    {"deepseek_v32", 671877929216},
    {"deepseek_v4", 284325869015},
    {"distilbert", 66362880},
    {"electra", 13483008},
    {"ernie", 109482240},
    {"exaone4", 9429069824},
    {"falcon", 6921720704},
    {"gemma", 8537680896},
    {"gemma2", 2614341888},
    {"gemma3_text", 2628658432},
    {"gemma4_text", 5077177856},
    {"glm", 9399951360},
    {"glm4", 9400279040},
    {"glm4_moe", 103481200640},
    {"glm_moe_dsa", 743911199232},
    {"gpt2", 124439808},
    {"gpt_bigcode", 111446784},
    {"gpt_neo", 1315575808},
    {"gpt_neox", 20554567680},
    {"gpt_oss", 116829156672},
    {"gptj", 6050882784},
    {"granite", 6738415616},
    {"granitemoe", 37039116288},
    {"kimi_linear", 49133074464},
    {"llama", 6738415616},
    {"llama4_text", 107769861120},
    {"mbart", 406295552},
    {"mimo_v2_flash", 308778768832},
    {"minimax_m2", 228689748992},
    {"mistral", 7241732096},
    {"mixtral", 46702792704},
    {"modernbert", 149014272},
    {"mpnet", 109484928},
    {"mpt", 1311213568},
    {"mt5", 172119424},
    {"nemotron_h", 1968355712},
    {"olmo", 6888095744},
    {"olmo2", 6888624128},
    {"olmo3", 6888624128},
    {"olmoe", 13361612800},
    {"opt", 125239296},
    {"phi", 1418270720},
    {"phi3", 3821079552},
    {"phimoe", 41872793600},
    {"qwen2", 12049846272},
    {"qwen2_moe", 14315784192},
    {"qwen3", 12049461248},
    {"qwen3_5_moe_text", 34660610688},
    {"qwen3_5_text", 8953803264},
    {"qwen3_moe", 15350731776},
    {"qwen3_next", 79674391296},
    {"roberta", 124644864},
    {"seed_oss", 28921040896},
    {"smollm3", 3075098624},
    {"stablelm", 2795443200},
    {"starcoder2", 3030371328},
    {"switch_transformers", 317312256},
    {"t5", 60506624},
    {"umt5", 172122112},
    {"vit", 86389248},
    {"whisper", 37760640},
    {"xlm-roberta", 109482240},
};

std::int64_t used_parameters(const Graph& graph) {
  std::set<ValueId> used;
  for (const Node& node : graph.main().nodes) used.insert(node.inputs.begin(), node.inputs.end());
  std::int64_t sum = 0;
  for (const ValueId id : used) {
    if (id != kNoValue && is_weight(graph.values[std::size_t(id)])) sum += elements_of(graph.values[std::size_t(id)]);
  }
  return sum;
}

class Defaults : public testing::TestWithParam<Golden> {};

TEST_P(Defaults, HaveTheParametersThatHuggingFaceCounts) {
  const Golden& golden = GetParam();
  const auto network = make_huggingface_network({{"model_type", golden.model_type}}, "defaults", "huggingface");
  ASSERT_TRUE(network.has_value()) << network.error().message;
  Binding binding;
  binding.batch = 2;
  binding.seq = 40;
  const bool is_encoder = find_architecture(golden.model_type)->task == Task::Encoder;
  for (const Phase phase : {Phase::Forward, Phase::Prefill, Phase::Decode}) {
    binding.phase = phase;
    const auto graph = (*network)->expand(binding);
    if (is_encoder && phase != Phase::Forward) {
      EXPECT_FALSE(graph.has_value()) << "an encoder has only a forward pass";
      continue;
    }
    ASSERT_TRUE(graph.has_value()) << graph.error().message;
    // Decode of an encoder-decoder runs the decoder alone.
    if (find_architecture(golden.model_type)->task == Task::Seq2Seq && phase == Phase::Decode) continue;
    EXPECT_EQ(used_parameters(*graph), golden.parameters) << name_of(phase);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Defaults, testing::ValuesIn(kGolden), [](const auto& info) {
  std::string name(info.param.model_type);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

TEST(Architectures, AreListedOnce) {
  std::set<std::string_view> names;
  for (const Architecture& row : architectures()) EXPECT_TRUE(names.insert(row.model_type).second) << row.model_type;
}

}  // namespace
}  // namespace forerun
