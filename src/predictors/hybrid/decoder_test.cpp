#include "predictors/hybrid/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "predictors/hybrid/dequantise.hpp"
#include "predictors/hybrid/language_model.hpp"
#include "predictors/hybrid/tiny_decoder.hpp"

namespace forerun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LanguageModel tiny(const TinyShape& shape = {}) {
  auto model = parse_language_model(TinyGguf::make(shape), "tiny");
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return std::move(*model);
}

// tests/frameworks/record_decoder.py: what the gguf package makes of quantised blocks.
TEST(Dequantise, GivesTheNumbersOfThePythonPackage) {
  std::ifstream file(FORERUN_SOURCE_DIR "/tests/fixtures/decoder/blocks.json");
  const auto recorded = nlohmann::json::parse(file);
  ASSERT_EQ(recorded["rows"].size(), 10U);
  for (const auto& row : recorded["rows"]) {
    const auto hex = row["bytes"].get<std::string>();
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
    const auto expected = row["values"].get<std::vector<float>>();
    std::vector<float> values(expected.size());
    const std::string type = row["type"];
    ASSERT_TRUE(dequantise(type, bytes, values).has_value()) << type;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], 1e-6F * std::max(1.0F, std::abs(expected[i]))) << type << " at " << i;
    }
    EXPECT_FALSE(dequantise(type, bytes.substr(1), values).has_value()) << type;
  }
  std::vector<float> values(256);
  EXPECT_THAT(dequantise("IQ2_XS", std::string(74, 'x'), values).error().message, HasSubstr("IQ2_XS"));
}

// The same network written out plainly, in doubles, without a cache.
class PlainDecoder {
 public:
  explicit PlainDecoder(const Decoder& decoder) : d_(decoder) {}
  [[nodiscard]] Eigen::RowVectorXd logits(const Matrix& rows) const {
    using Rows = Eigen::MatrixXd;
    Rows x = rows.cast<double>();
    const std::int64_t width = d_.shape.head_width(), group = d_.shape.heads / d_.shape.kv_heads;
    for (const DecoderLayer& layer : d_.layers) {
      const auto weight = [&](Projection p) { return layer.weights[std::size_t(p)].cast<double>(); };
      const Rows before = norm(x);
      Rows q = before * weight(Projection::Query), k = before * weight(Projection::Key),
           v = before * weight(Projection::Value);
      rotate(q);
      rotate(k);
      Rows mixed(x.rows(), x.cols());
      for (Eigen::Index r = 0; r < x.rows(); ++r) {
        for (std::int64_t h = 0; h < d_.shape.heads; ++h) {
          Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(width);
          double all = 0;
          for (Eigen::Index s = 0; s <= r; ++s) {
            const double e =
                std::exp(q.row(r).segment(h * width, width).dot(k.row(s).segment(h / group * width, width)) /
                         std::sqrt(double(width)));
            sum += e * v.row(s).segment(h / group * width, width);
            all += e;
          }
          mixed.row(r).segment(h * width, width) = sum / all;
        }
      }
      x += mixed * weight(Projection::Output);
      const Rows mlp = norm(x), gate = mlp * weight(Projection::Gate), up = mlp * weight(Projection::Up);
      x += (gate.array() / (1 + (-gate.array()).exp()) * up.array()).matrix() * weight(Projection::Down);
    }
    return norm(x).bottomRows(1) * d_.tokens.cast<double>().transpose();
  }

 private:
  [[nodiscard]] static Eigen::MatrixXd norm(const Eigen::MatrixXd& x) {
    Eigen::MatrixXd y = x;
    for (Eigen::Index r = 0; r < y.rows(); ++r) y.row(r) /= std::sqrt(y.row(r).squaredNorm() / double(y.cols()) + 1e-5);
    return y;
  }
  void rotate(Eigen::MatrixXd& x) const {
    const std::int64_t width = d_.shape.head_width();
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      for (Eigen::Index c = 0; c < x.cols(); c += 2) {
        const double angle = double(r) / std::pow(10000.0, double(c % width) / double(width)), a = x(r, c),
                     b = x(r, c + 1);
        x(r, c) = a * std::cos(angle) - b * std::sin(angle);
        x(r, c + 1) = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }
  const Decoder& d_;
};

TEST(Decoder, EqualsAPlainImplementationWithAndWithoutCache) {
  const LanguageModel model = tiny();
  const std::vector<TokenId> ids = model.tokenizer.encode("the mean is 12.5 ms");
  Decoding whole(model.decoder), stepwise(model.decoder);
  const Matrix rows = whole.embed(ids);
  const Eigen::RowVectorXd expected = PlainDecoder(model.decoder).logits(rows);
  const auto at_once = whole.advance(rows);
  ASSERT_TRUE(at_once.has_value());
  EXPECT_LT((at_once->cast<double>() - expected).cwiseAbs().maxCoeff(), 1e-3 * expected.cwiseAbs().maxCoeff());
  Eigen::RowVectorXf last;
  for (Eigen::Index r = 0; r < rows.rows(); ++r) last = *stepwise.advance(rows.middleRows(r, 1));
  EXPECT_LT((last - *at_once).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_EQ(stepwise.rows(), rows.rows());
}

TEST(Decoder, LoraOfRankZeroIsTheBaseAndAnyOtherAddsItsProduct) {
  const LanguageModel model = tiny();
  Lora none(model.decoder.layers.size()), one = none;
  for (LoraPair& pair : none[0]) pair.down.resize(16, 0), pair.up.resize(0, 16);
  LoraPair& query = one[1][std::size_t(Projection::Query)];
  query.down = Matrix::Random(16, 3), query.up = Matrix::Random(3, 16);
  ASSERT_TRUE(check_lora(model.decoder, one).has_value());
  Decoder merged = model.decoder;
  merged.layers[1].weights[std::size_t(Projection::Query)] += query.down * query.up;
  const auto logits_of = [&](const Decoder& decoder, const Lora* lora) {
    Decoding decoding(decoder, lora);
    return *decoding.advance(decoding.embed(model.tokenizer.encode("the 12")));
  };
  EXPECT_EQ(logits_of(model.decoder, &none), logits_of(model.decoder, nullptr));
  EXPECT_LT((logits_of(model.decoder, &one) - logits_of(merged, nullptr)).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_GT((logits_of(model.decoder, &one) - logits_of(model.decoder, nullptr)).cwiseAbs().maxCoeff(), 1e-2);
  one[1][std::size_t(Projection::Key)] = one[1][std::size_t(Projection::Query)];
  EXPECT_THAT(check_lora(model.decoder, one).error().message, HasSubstr("attn_k"));
}

TEST(Decoder, StopsAtTheContextAndAtTheStopToken) {
  const LanguageModel model = tiny({.context = 12});
  Decoding decoding(model.decoder);
  const Matrix rows = decoding.embed(model.tokenizer.encode("12345"));
  EXPECT_EQ(decode_greedily(decoding, rows, 4, -1)->size(), 4U);
  EXPECT_THAT(decoding.advance(rows).error().message, HasSubstr("context of 12"));
  Decoding again(model.decoder);
  const TokenId first = decode_greedily(again, rows, 1, -1)->front();
  Decoding stopped(model.decoder);
  EXPECT_THAT(*decode_greedily(stopped, rows, 4, first), ElementsAre(first));
}

TEST(Tokenizer, MergesWordsSplitsDigitsAndFindsControlTokens) {
  const Tokenizer tokenizer = tiny().tokenizer;
  const auto words = [&](std::string_view text) {
    std::vector<std::string> parts;
    for (const TokenId id : tokenizer.encode(text)) parts.push_back(tokenizer.decode({id}));
    return parts;
  };
  EXPECT_THAT(words("the  the ms"), ElementsAre("the", " ", " the", " ", "ms"));
  EXPECT_THAT(words("th12 3"), ElementsAre("th", "1", "2", " ", "3"));
  EXPECT_THAT(words("<|im_start|>ms<|im_end|>"), ElementsAre("<|im_start|>", "ms", "<|im_end|>"));
  EXPECT_TRUE(tokenizer.encode("").empty());
}

TEST(LanguageModel, RefusesDamageInOneLine) {
  const std::string whole = TinyGguf::make();
  const auto error_of = [](std::string_view bytes) {
    const auto model = parse_language_model(bytes, "x.gguf");
    return model ? std::string() : model.error().message;
  };
  EXPECT_EQ(error_of(whole), "");
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 64)), HasSubstr("lies behind the end"));
  EXPECT_THAT(error_of(whole.substr(0, 600)), HasSubstr("cut off"));
  std::string other = whole;
  other.replace(other.find("llama"), 5, "gemma");
  EXPECT_THAT(error_of(other), HasSubstr("not a llama"));
  other = whole;
  other.replace(other.find("smollm"), 6, "qwen29");
  EXPECT_THAT(error_of(other), HasSubstr("pre-tokenizer"));
  EXPECT_THAT(load_language_model("/no/such.gguf").error().message, HasSubstr("fetch_language_model.py"));
}

}  // namespace
}  // namespace forerun
