// The published designs from graphs to bundles, small: trained on the CPU, packed, shipped, asked.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "features/log_features.hpp"
#include "training/gnn/generate_graphs.hpp"
#include "training/gnn/published_bundle.hpp"
#include "training/gnn/published_data.hpp"
#include "training/gnn/published_schedule.hpp"

namespace forerun {
namespace {

// Drawn graphs; every target is proportional to the graph's nodes, so that there is something to learn.
PublishedSet drawn_set(PublishedDesign design, std::vector<std::string> outputs, std::size_t splits) {
  PublishedSet set;
  set.outputs = std::move(outputs);
  for (std::size_t s = 0; s < splits; ++s) set.splits.push_back(std::to_string(s));
  for (std::uint64_t i = 0; i < 48; ++i) {
    const Graph graph = generate_graph(7, i).value();
    Workload workload;
    workload.training = design == PublishedDesign::Training;
    set.graphs.push_back(encode_published_design(design, graph, workload));
    PublishedItem item{graph.name, generated_families()[i % generated_families().size()], {}, {}};
    for (std::size_t o = 0; o < set.outputs.size(); ++o)
      item.targets.push_back(i % 7 == 3 && o == 1 ? 0.0F : float(o + 1) * float(set.graphs.back().nodes));
    for (std::size_t s = 0; s < splits; ++s)
      item.parts.push_back((i + s) % 4 == 0 ? Part::Valid : (i + s) % 4 == 1 ? Part::Test : Part::Train);
    set.items.push_back(std::move(item));
  }
  return set;
}

const PublishedData& drawn_data() {
  static const PublishedData data = [] {
    PublishedData made;
    made.inference = drawn_set(PublishedDesign::Inference, {"fp32 latency_eager_ms", "fp32 memory_mb", "fp32 energy_j"},
                               kInferenceSplits + 1);
    made.training = drawn_set(PublishedDesign::Training, {"step_ms", "memory_mb", "power_w"}, kTrainingSplits + 1);
    made.unlabelled = made.training.graphs;
    return made;
  }();
  return data;
}

constexpr PublishedScale kSmall{.width = 8, .shipped_width = 6, .epochs = 0.06};

std::map<std::string, PublishedRun> train(std::string_view group, const PublishedScale& scale = kSmall) {
  std::map<std::string, PublishedRun> runs;
  const Status done = train_published(drawn_data(), group, scale, {}, [&](const std::vector<PublishedRun>& all) {
    runs[all.back().name] = all.back();
    return ok();
  });
  EXPECT_TRUE(done) << (done ? "" : done.error().message);
  return runs;
}

TEST(PublishedData, ComesBackFromItsFileAsItWas) {
  const PublishedData& data = drawn_data();
  const std::string bytes = pack_published(data);
  const auto back = unpack_published(bytes);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->training.graphs.size(), data.training.graphs.size());
  for (std::size_t i = 0; i < data.training.graphs.size(); ++i) {
    EXPECT_EQ(back->training.graphs[i].node_features, data.training.graphs[i].node_features);
    EXPECT_EQ(back->training.graphs[i].sources.columns, data.training.graphs[i].sources.columns);
    EXPECT_EQ(back->training.items[i].targets, data.training.items[i].targets);
  }
  EXPECT_EQ(pack_published(*back), bytes);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, bytes.size() / 3, bytes.size() - 1})
    EXPECT_FALSE(unpack_published(std::string_view(bytes).substr(0, size))) << size;
}

TEST(PublishedTraining, TrainsEveryRecipeOfTheInferenceDesign) {
  for (const char* group : {"inference", "inference-steps"}) {
    const auto runs = train(group);
    EXPECT_EQ(runs.size(), group == std::string_view("inference") ? 11U : 12U);
    for (const auto& [name, run] : runs) {
      EXPECT_EQ(run.answers.size(), std::size_t(run.members) * 48 * 3) << name;
      for (const float answer : run.answers) ASSERT_TRUE(std::isfinite(answer) && answer >= 0) << name;
    }
  }
}

TEST(PublishedTraining, LearnsWhatIsThere) {
  PublishedRecipe recipe{
      .name = "x", .pool = Pool::LogSum, .loss = Loss::Near, .width = 16, .epochs = 120, .splits = {0}};
  const auto run = train_inference_design(drawn_data().inference, recipe, {});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_LT(run->loss.back(), run->loss.front() / 3);
}

TEST(PublishedBundle, OfTheInferenceDesignAnswersAsItsNetworkDid) {
  const auto runs = train("inference-steps");
  const PublishedSet& set = drawn_data().inference;
  for (const auto& [name, pool] : {std::pair{"ship, log-sum", Pool::LogSum}, std::pair{"ship, sum", Pool::Sum}}) {
    const auto made = make_published_bundle(PublishedDesign::Inference, set, runs.at(name), pool, kSmall.shipped_width);
    ASSERT_TRUE(made) << made.error().message;
    for (std::size_t i = 0; i < set.items.size(); ++i) {
      for (std::size_t o = 0; o < made->answers[i].size(); ++o)
        EXPECT_NEAR(std::log(made->answers[i][o] / double(runs.at(name).answers[i * 3 + o])), 0, 0.02) << name;
    }
    for (const double width : made->half_widths) EXPECT_GT(width, 0);
  }
}

TEST(PublishedBundle, OfTheTrainingDesignAnswersAsItsNetworksDid) {
  PublishedScale scale = kSmall;
  scale.epochs = 0.02;
  const auto runs = train("training", scale);
  EXPECT_EQ(runs.size(), 9U);  // seven recipes, the encoder and its embeddings
  const PublishedRun& run = runs.at("ship, encoder");
  const PublishedSet& set = drawn_data().training;
  const auto made = make_published_bundle(PublishedDesign::Training, set, run, Pool::LogSum, kSmall.shipped_width);
  ASSERT_TRUE(made) << made.error().message;
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    for (std::size_t o = 0; o < made->answers[i].size(); ++o)
      EXPECT_NEAR(std::log(made->answers[i][o] / double(run.answers[o * set.items.size() + i])), 0, 0.02);
  }
  const Bundle bundle = Bundle::from_bytes(made->bytes, "x").value();
  const auto predictor = PublishedPredictor::load(bundle);
  ASSERT_TRUE(predictor) << predictor.error().message;
  EXPECT_EQ((*predictor)->name(), "trappm");
}

TEST(PublishedTraining, ComparesEncodersAndSettings) {
  PublishedScale scale = kSmall;
  scale.epochs = 0.02;
  EXPECT_EQ(train("training-steps", scale).size(), 5U);
  EXPECT_FALSE(train_published(drawn_data(), "neither", scale, {}, [](const auto&) { return ok(); }));
}

}  // namespace
}  // namespace forerun
