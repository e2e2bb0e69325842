#include "search/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace forerun {
namespace {

using testing::HasSubstr;

const Service& service() {
  static const auto kService = std::move(*Service::create());
  return *kService;
}

QuestionSpace cells() {
  return *QuestionSpace::read(
      "architecture: {model_type: nasbench201, cells: 1}\nquestion: {device: h200-sxm, batch: 64, runtime: graph, "
      "predictor: roofline}\n",
      "test");
}

SearchOptions options(SearchAlgorithm algorithm) {
  SearchOptions options{.algorithm = algorithm, .budget = 240, .population = 40};
  options.objectives = {*Objective::parse("latency_ms"), *Objective::parse("parameters")};
  return options;
}

// Area between the front and a corner that all candidates reach, in logarithms: larger is better.
double area_of(const SearchReport& report) {
  double area = 0, left = std::log(100.0);
  auto front = report.front();
  for (auto it = front.rbegin(); it != front.rend(); ++it) {  // from the slowest and largest
    const double x = std::log((*it)->row.numbers[report.objectives[0].column]);
    area += (left - x) * std::log((*it)->row.numbers[report.objectives[1].column] / 1000);
    left = x;
  }
  return area;
}

TEST(Pareto, FrontsAndCrowding) {
  const std::vector<Objectives> points = {{1, 4}, {2, 2}, {4, 1}, {3, 3}, {4, 4}, {2, 2}};
  EXPECT_THAT(rank_fronts(points), testing::ElementsAre(0, 0, 0, 1, 2, 0));
  EXPECT_TRUE(dominates({1, 1}, {1, 2}));
  EXPECT_FALSE(dominates({1, 1}, {1, 1}));
  const auto space = crowding_of(points, rank_fronts(points));
  EXPECT_TRUE(std::isinf(space[0]) && std::isinf(space[2]));
  EXPECT_TRUE(std::isfinite(space[1]));
}

TEST(Search, FindsAFrontThatNothingOnItDominates) {
  const auto report = run_search(service(), cells(), options(SearchAlgorithm::Evolutionary));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->evaluated, 240);
  EXPECT_EQ(report->failed, 0);
  const auto front = report->front();
  ASSERT_GE(front.size(), 3U);
  const std::size_t latency = report->objectives[0].column, size = report->objectives[1].column;
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_LE(front[i - 1]->row.numbers[latency], front[i]->row.numbers[latency]);
    EXPECT_LE(front[i - 1]->row.numbers[size], front[i]->row.numbers[size]);
  }
}

TEST(Search, EvolutionBeatsChance) {
  const auto chance = run_search(service(), cells(), options(SearchAlgorithm::Random));
  const auto evolved = run_search(service(), cells(), options(SearchAlgorithm::Evolutionary));
  ASSERT_TRUE(chance && evolved);
  EXPECT_GT(area_of(*evolved), area_of(*chance));
}

TEST(Search, TheSameSeedFindsTheSame) {
  SearchReport first = *run_search(service(), cells(), options(SearchAlgorithm::Evolutionary));
  SearchReport second = *run_search(service(), cells(), options(SearchAlgorithm::Evolutionary));
  first.seconds = second.seconds = 1;
  EXPECT_EQ(to_json(first), to_json(second));
  EXPECT_THAT(to_csv(first), HasSubstr("question,asked,device,latency_ms,"));
  EXPECT_THAT(render_svg(first), HasSubstr("Pareto front"));
}

TEST(Search, KeepsConstraints) {
  SearchOptions asked = options(SearchAlgorithm::Evolutionary);
  asked.limits = {*SearchLimit::parse("parameters<=100000")};
  const auto report = run_search(service(), cells(), asked);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->over_limits, 0);
  ASSERT_FALSE(report->feasible.empty());
  for (const SearchCandidate& candidate : report->feasible)
    EXPECT_LE(candidate.row.numbers[*find_answer_column("parameters")], 100000);
}

TEST(Search, ASpaceThatIsExhaustedEndsTheSearch) {
  const auto space = QuestionSpace::read("question: {model: resnet50, batch: [1, 2, 4], device: l4}\n", "test");
  const auto report = run_search(service(), *space, options(SearchAlgorithm::Evolutionary));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->evaluated, 3);
}

TEST(Search, WrongRequestsSayWhatIsWrong) {
  EXPECT_THAT(Objective::parse("latency").error().message, HasSubstr("no column"));
  EXPECT_THAT(Objective::parse("latency_ms:up").error().message, HasSubstr("none of min|max"));
  EXPECT_THAT(SearchLimit::parse("latency_ms<5").error().message, HasSubstr("COLUMN<=X"));
  const auto space = QuestionSpace::read("question: {model: [nothing, none], device: l4}\n", "test");
  EXPECT_THAT(run_search(service(), *space, options(SearchAlgorithm::Random)).error().message,
              HasSubstr("no candidate could be answered"));
}

}  // namespace
}  // namespace forerun
