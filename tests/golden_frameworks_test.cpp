// Files that PaddlePaddle and Keras wrote, against the counts and shapes the frameworks give (counts_paddle.json,
// counts_keras.json): the ten networks of tests/fixtures/parity and networks of single layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const std::string kFixtures = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/";

struct Case {
  std::string file;    // below tests/fixtures
  std::string counts;  // the file of counts
  std::string name;    // in it
};

std::string label(const testing::TestParamInfo<Case>& info) {
  std::string text = info.param.file;
  for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return text;
}

std::vector<Case> cases() {
  const std::vector<std::string> layers = {"convolutions", "sequences", "video",         "functions",
                                           "shared",       "free",      "channels_first"};
  const std::vector<std::string> operators = {"indexing",  "reductions",   "elementwise", "shapes",
                                              "recurrent", "convolutions", "pooling",     "branch",
                                              "loop",      "transformer",  "product"};
  const std::vector<std::string> networks = {"cnn",  "mobile", "vit",      "bert", "lstm",
                                             "unet", "cnn3d",  "detector", "gru",  "separable"};
  std::vector<Case> all;
  for (const std::string& name : networks) {
    all.push_back({"parity/" + name + ".pdmodel", "parity/counts_paddle.json", name});
    all.push_back({"parity/" + name + ".paddle.json", "parity/counts_paddle.json", name});
    all.push_back({"parity/" + name + ".keras", "parity/counts_keras.json", name});
  }
  for (const std::string& name : operators) {
    all.push_back({"paddle/" + name + ".pdmodel", "paddle/counts_paddle.json", name});
    all.push_back({"paddle/" + name + ".paddle.json", "paddle/counts_paddle.json", name});
  }
  for (const std::string& name : layers) all.push_back({"keras/" + name + ".keras", "keras/counts_keras.json", name});
  for (const std::string form : {"shared.h5", "shared_latest.h5", "shared_userblock.h5"})
    all.push_back({"keras/" + form, "keras/counts_keras.json", "shared"});
  all.push_back({"keras/cnn.tfjs.json", "parity/counts_keras.json", "cnn"});
  all.push_back({"keras/gru.to_json.json", "parity/counts_keras.json", "gru"});
  return all;
}

// The outputs as the framework lists them, each of its sizes in order.
std::vector<Dims> shapes_of(const json& facts) {
  const json& listed = facts.contains("outputs") ? facts["outputs"] : facts["output"];
  if (!listed.empty() && !listed[0].is_array() && !facts.contains("outputs")) return {listed.get<Dims>()};
  return listed.get<std::vector<Dims>>();
}

// Images of Keras are batch, channels, height, width in the graph.
Dims channels_second(const Dims& shape) {
  Dims other = shape;
  if (other.size() >= 3) std::rotate(other.begin() + 1, other.end() - 1, other.end());
  return other;
}

class GoldenFrameworks : public testing::TestWithParam<Case> {};

TEST_P(GoldenFrameworks, AgreesWithTheFramework) {
  const json facts = json::parse(std::ifstream(kFixtures + GetParam().counts)).at(GetParam().name);
  const auto network = read_network(kFixtures + GetParam().file);
  ASSERT_TRUE(network) << network.error().message;
  Binding binding;
  binding.batch = 2;
  if (GetParam().name == "free") {
    binding.dims = {{"height", 21}, {"width", 16}};
    binding.seq = 7;
  }
  const Result<Graph> graph = analyze(**network, binding);
  ASSERT_TRUE(graph) << graph.error().message;
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.macs, facts["macs"].get<std::int64_t>());
  EXPECT_EQ(totals.parameters, facts["parameters"].get<std::int64_t>());
  EXPECT_EQ(totals.coverage, 1.0) << json(totals.unknown_operators);
  const std::vector<Dims> wanted = shapes_of(facts);
  const std::vector<ValueId>& outputs = graph->main().outputs;
  ASSERT_EQ(outputs.size(), wanted.size());
  const bool keras = graph->format == "keras";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = graph->values[std::size_t(outputs[i])];
    EXPECT_TRUE(value.has_shape) << i;
    if (keras && value.dims == channels_second(wanted[i])) continue;
    EXPECT_EQ(value.dims, wanted[i]) << i;
  }
  EXPECT_THAT(graph->warnings, Contains(HasSubstr("as PyTorch would run them")));
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenFrameworks, testing::ValuesIn(cases()), label);

// A cut or damaged file is refused with one line, or read: never a crash. Every length of a small file is tried.
TEST(DamagedFrameworkFiles, AreReadOrRefusedInOneLine) {
  for (const std::string file :
       {"parity/lstm.pdmodel", "parity/lstm.paddle.json", "parity/lstm.keras", "keras/shared.h5",
        "keras/shared_userblock.h5", "keras/gru.to_json.json", "paddle/branch.pdmodel"}) {
    std::ifstream in(kFixtures + file, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    ASSERT_FALSE(whole.empty()) << file;
    const std::string path = testing::TempDir() + "damaged" + file.substr(file.rfind('.'));
    const auto attempt = [&](const std::string& bytes) {
      std::ofstream(path, std::ios::binary) << bytes;
      const auto network = read_network(path);
      if (network) {
        const Result<Graph> graph = analyze(**network, {});
        if (!graph) {
          EXPECT_NE(graph.error().kind, ErrorKind::Internal) << graph.error().message;
        }
      } else {
        EXPECT_NE(network.error().kind, ErrorKind::Internal) << network.error().message;
        EXPECT_EQ(network.error().message.find('\n'), std::string::npos);
      }
    };
    const std::size_t step = std::max<std::size_t>(1, whole.size() / 40);
    for (std::size_t length = 0; length < whole.size(); length += step) attempt(whole.substr(0, length));
    for (std::size_t at = 0; at < whole.size(); at += step) {
      std::string flipped = whole;
      flipped[at] = char(flipped[at] ^ (1 << (at % 8)));
      attempt(flipped);
    }
  }
}

}  // namespace
}  // namespace forerun
