#include "training/gnn/generate_graphs.hpp"

#include <gtest/gtest.h>

#include <set>

#include "analysis/totals.hpp"

namespace forerun {
namespace {

TEST(GenerateGraph, DrawsCostedGraphsOfEveryFamilyThatDiffer) {
  std::set<std::int64_t> costs;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto graph = generate_graph(1, i);
    ASSERT_TRUE(graph) << i << ": " << graph.error().message;
    const Totals totals = sum_totals(*graph);
    EXPECT_EQ(totals.coverage, 1.0) << graph->name;
    EXPECT_GT(totals.macs, 1'000'000) << graph->name;
    EXPECT_GT(totals.nodes, 10) << graph->name;
    costs.insert(totals.macs);
    for (const Value& value : graph->values) EXPECT_TRUE(value.has_shape) << graph->name << " " << value.name;
  }
  EXPECT_GT(costs.size(), 55u);
}

TEST(GenerateGraph, GivesTheSameGraphForTheSameSeed) {
  const auto a = generate_graph(7, 4), b = generate_graph(7, 4), c = generate_graph(8, 4);
  EXPECT_EQ(sum_totals(*a).macs, sum_totals(*b).macs);
  EXPECT_NE(sum_totals(*a).macs, sum_totals(*c).macs);
}

}  // namespace
}  // namespace forerun
