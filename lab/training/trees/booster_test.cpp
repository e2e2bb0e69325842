#include "training/trees/booster.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace forerun {
namespace {

struct Sample {
  RowMatrix features;
  std::vector<float> targets;
};

Sample make_sample(std::size_t rows, unsigned seed, bool with_missing = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  Sample sample;
  sample.features.width = 6;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<float> row(6);
    for (float& x : row) x = uniform(random);
    sample.targets.push_back(std::sin(row[0]) + 0.5F * row[1] * row[2] + (row[3] > 0 ? 1.0F : 0.0F));
    if (with_missing && i % 5 == 0) row[i % 6] = std::nanf("");
    sample.features.add(row);
  }
  return sample;
}

TEST(Booster, WalkerAgreesWithXgboostWithinOneInAHundredThousand) {
  const Sample sample = make_sample(500, 1, true);
  TreeParameters p;
  p.rounds = 200;
  const auto trained = train_trees_checked({&sample.features, sample.targets, {}}, p);
  ASSERT_TRUE(trained) << trained.error().message;
  const Forest forest(trained->trees);
  EXPECT_EQ(forest.trees(), 200U);
  for (std::size_t i = 0; i < sample.features.rows(); ++i) {
    EXPECT_NEAR(forest.predict(sample.features.row(i)), trained->predictions[i], 1e-5);
  }
}

TEST(Booster, ContributionsAddUpToThePrediction) {
  const Sample sample = make_sample(300, 2);
  TreeParameters p;
  p.rounds = 100;
  const auto trees = train_trees({&sample.features, sample.targets, {}}, p);
  ASSERT_TRUE(trees) << trees.error().message;
  const Forest forest(*trees);
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<double> by_feature(6, 0);
    double base = 0;
    forest.add_contributions(sample.features.row(i), by_feature, base);
    double sum = base;
    for (const double c : by_feature) sum += c;
    EXPECT_NEAR(sum, forest.predict(sample.features.row(i)), 1e-4);
    EXPECT_EQ(by_feature[5], by_feature[5]);
  }
}

TEST(Booster, EarlyStoppingKeepsTheBestRound) {
  const Sample sample = make_sample(200, 3);
  Sample noise = make_sample(100, 4);
  for (float& y : noise.targets) y = 0;  // nothing to learn: more rounds only hurt
  TreeParameters p;
  p.rounds = 300;
  p.early_stopping = 10;
  const TrainingRows held{&noise.features, noise.targets, {}};
  const auto trees = train_trees({&sample.features, sample.targets, {}}, p, &held);
  ASSERT_TRUE(trees) << trees.error().message;
  EXPECT_LT(trees->roots.size(), 300U);
}

TEST(Booster, MonotoneColumnNeverLowersTheAnswer) {
  const Sample sample = make_sample(300, 5);
  TreeParameters p;
  p.rounds = 100;
  p.monotone = {1, 0, 0, 0, 0, 0};
  const auto trees = train_trees({&sample.features, sample.targets, {}}, p);
  ASSERT_TRUE(trees) << trees.error().message;
  const Forest forest(*trees);
  std::vector<float> row(6, 0.1F);
  float last = -1e9F;
  for (float x = -2; x < 2; x += 0.05F) {
    row[0] = x;
    const float now = forest.predict(row);
    EXPECT_GE(now, last - 1e-5F);
    last = now;
  }
}

TEST(Booster, OwnLossLearnsFromSumsAlone) {
  // Each example is the sum of two rows' exp(score); only the sums are known.
  Sample sample = make_sample(400, 6);
  std::vector<double> sums(200, 0);
  for (std::size_t i = 0; i < 400; ++i) sums[i / 2] += std::exp(0.5 * sample.features.row(i)[0]);
  TreeParameters p;
  p.rounds = 300;
  p.eta = 0.2;
  p.min_child_weight = 0.2;
  const auto trees =
      train_trees(sample.features, p, [&](std::span<const float> s, std::span<float> g, std::span<float> h) {
        for (std::size_t e = 0; e < 200; ++e) {
          const double a = std::exp(s[2 * e]), b = std::exp(s[2 * e + 1]);
          const double error = std::log(a + b) - std::log(sums[e]);
          g[2 * e] = float(error * a / (a + b));
          g[2 * e + 1] = float(error * b / (a + b));
          h[2 * e] = float(a / (a + b));
          h[2 * e + 1] = float(b / (a + b));
        }
      });
  ASSERT_TRUE(trees) << trees.error().message;
  const Forest forest(*trees);
  // Parts are recovered, though only sums were seen: far better than knowing nothing of them.
  double error = 0, ignorant = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    error += std::abs(forest.predict(sample.features.row(i)) - 0.5 * sample.features.row(i)[0]);
    ignorant += std::abs(0.5 * sample.features.row(i)[0]);
  }
  EXPECT_LT(error, 0.4 * ignorant);
}

TEST(Booster, RefusesNoRows) {
  RowMatrix empty;
  EXPECT_FALSE(train_trees({&empty, {}, {}}, TreeParameters{}));
}

}  // namespace
}  // namespace forerun
