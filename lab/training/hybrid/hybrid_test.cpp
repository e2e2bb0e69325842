// The hybrid on a random tiny decoder: gradients, LoRA, training, shipping.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analysis/totals.hpp"
#include "devices/catalogue.hpp"
#include "features/node_encoding.hpp"
#include "predictors/hybrid/hybrid_predictor.hpp"
#include "predictors/hybrid/tiny_decoder.hpp"
#include "predictors/predictor_set.hpp"
#include "predictors/roofline/roofline.hpp"
#include "training/gnn/generate_graphs.hpp"
#include "training/hybrid/hybrid_net.hpp"
#include "training/hybrid/matrices.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

const TinyShape kShape = {.layers = 2, .width = 32, .heads = 4, .kv_heads = 2, .hidden = 48, .context = 1024};

const LanguageModel& tiny() {
  static const LanguageModel kModel = *parse_language_model(TinyGguf::make(kShape, 1, 0.2F), "tiny");
  return kModel;
}

struct Made {
  std::vector<Graph> graphs;
  std::vector<HybridRow> rows;
};
// Networks whose latency follows from their arithmetic, on two devices.
Made make_rows(std::size_t count) {
  Made made;
  for (std::size_t i = 0; i < count; ++i) {
    made.graphs.push_back(*generate_graph(3, i));
    const double gmacs = double(sum_totals(made.graphs.back()).macs) / 1e9;
    const GraphTensors tensors = encode_training_nodes(made.graphs.back(), {}, EdgeKind::DataFlow);
    made.rows.push_back({tensors, "l4", "a small board", 0.5 + gmacs});
    made.rows.push_back({tensors, "h200-sxm", "a large board", 0.2 + 0.2 * gmacs});
  }
  return made;
}
HybridOptions small() {
  HybridOptions options;
  options.gin = {.features = kTrainingNodeWidth, .width = 24, .layers = 2};
  options.rank = 4;
  options.masked_steps = 40;
  options.epochs = 30;
  options.gnn_rate = 5e-3;
  options.llm_rate = 1e-2;
  return options;
}

TEST(Hybrid, GradientsOfTheDigitsReachTheGraphNetwork) {
  torch::manual_seed(5);
  HybridNet net(tiny(), small());
  const Made made = make_rows(2);
  const GraphTensors* graph = &made.rows[0].graph;
  const GinBatch batch = make_gin_batch({&graph, 1});
  const auto loss = [&] { return net.digits_loss(made.rows[0], net.gin->forward(batch)); };
  loss().backward();
  for (const auto& layer : net.gin->layers) {
    torch::Tensor weight = layer->second->weight;
    const torch::Tensor gradient = weight.grad().flatten();
    const std::int64_t at = gradient.abs().argmax().item<std::int64_t>();
    const double expected = gradient[at].item<double>();
    ASSERT_GT(std::abs(expected), 1e-4);
    const torch::NoGradGuard guard;
    const double step = 5e-3;
    const auto moved = [&](double by) {
      weight.flatten()[at] += by;
      const double value = loss().item<double>();
      weight.flatten()[at] -= by;
      return value;
    };
    EXPECT_NEAR((moved(step) - moved(-step)) / (2 * step), expected, 0.05 * std::abs(expected) + 2e-4);
  }
}

TEST(Hybrid, TheDecoderWithGradientsIsTheShippedOneAndLoraOfRankZeroTheBase) {
  const std::vector<TokenId> ids = tiny().tokenizer.encode("the 12.5 ms");
  const auto shipped = [&](const Lora* lora) {
    Decoding decoding(tiny().decoder, lora);
    return *decoding.advance(decoding.embed(ids));
  };
  const auto trained = [&](const LoraLlama& llama) {
    const torch::Tensor logits = llama.forward(llama.embed(ids));
    return Eigen::RowVectorXf(matrix_of(logits.narrow(0, std::int64_t(ids.size()) - 1, 1)).row(0));
  };
  const LoraLlama base(tiny().decoder, 0), fresh(tiny().decoder, 3), other(tiny().decoder, 3);
  EXPECT_TRUE(base.parameters().empty());
  EXPECT_TRUE(base.lora().empty());
  EXPECT_LT((trained(base) - shipped(nullptr)).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_EQ(trained(fresh), trained(base)) << "LoRA starts at the base";
  const torch::NoGradGuard guard;
  for (torch::Tensor parameter : other.parameters()) parameter.normal_(0, 0.1);
  const Lora lora = other.lora();
  ASSERT_TRUE(check_lora(tiny().decoder, lora).has_value());
  EXPECT_LT((trained(other) - shipped(&lora)).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_GT((trained(other) - trained(base)).cwiseAbs().maxCoeff(), 1e-2);
}

TEST(Hybrid, TrainsSavesLoadsAndAnswersByName) {
  const Made made = make_rows(8);
  const TrainedHybrid trained = train_hybrid(tiny(), made.rows, small(), [](const std::string&) {});
  EXPECT_LT(trained.masked_after, 0.8 * trained.masked_before);
  EXPECT_LT(trained.last, 0.6 * trained.first);

  const fs::path home = fs::temp_directory_path() / ("forerun-hybrid-" + std::to_string(::getpid()));
  fs::create_directories(home / "forerun" / "bundles");
  fs::create_directories(home / "forerun" / "language");
  ::setenv("XDG_CONFIG_HOME", home.c_str(), 1);
  const auto write = [](const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  const auto bundle = make_hybrid_bundle(*trained.net, made.rows, 0.3);
  ASSERT_TRUE(bundle.has_value()) << bundle.error().message;
  write(home / "forerun" / "bundles" / "hybrid.bundle", *bundle);
  write(language_model_path(), TinyGguf::make(kShape, 1, 0.2F));

  const Catalogue catalogue = *Catalogue::load();
  const Device device = *catalogue.find("l4"), unknown = *catalogue.find("t4");
  const Graph& graph = made.graphs[0];
  const Workload workload;
  const std::vector<Kernel> kernels = list_kernels(graph, workload);
  const Totals totals = sum_totals(graph);
  const RooflineEstimate roofline = estimate_roofline(graph, kernels, workload, device);
  const PredictorInput input{graph, totals, kernels, workload, device, roofline};
  const auto ask = [&](const PredictorInput& about) -> Result<Answer> {
    static std::vector<std::unique_ptr<PredictorSet>> kept;  // answers refer to it
    kept.push_back(std::make_unique<PredictorSet>(PredictorSet::load()));
    FORERUN_TRY(const Predictor* predictor, kept.back()->pick(about, "hybrid"));
    return predictor->predict(about);
  };
  const auto answer = ask(input);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  const Estimate& latency = answer->estimates.at(Metric::Latency);
  EXPECT_EQ(latency.predictor, "hybrid");
  EXPECT_LT(latency.low, latency.value);
  EXPECT_NE(answer->warnings.front().find("regression head"), std::string::npos);
  EXPECT_NE(ask({graph, totals, kernels, workload, unknown, roofline}).error().message.find("not trained on t4"),
            std::string::npos);

  // The encoder that ships is the one that was trained.
  const HybridPredictor predictor =
      *HybridPredictor::load(*Bundle::open((home / "forerun" / "bundles" / "hybrid.bundle").string()));
  const GraphTensors* tensors = &made.rows[0].graph;
  const Matrix expected = matrix_of(trained.net->gin->forward(make_gin_batch({&tensors, 1})));
  const Eigen::RowVectorXf embedding = predictor.embed(graph, workload);
  EXPECT_LT((embedding - expected.row(0)).norm(), 1e-3 * (1 + expected.norm()));
  EXPECT_GT(predictor.head_ms(embedding), 0);

  write(language_model_path(), TinyGguf::make(kShape, 2, 0.2F));
  EXPECT_NE(ask(input).error().message.find("SHA-256"), std::string::npos);
  fs::remove_all(home);
}

}  // namespace
}  // namespace forerun
