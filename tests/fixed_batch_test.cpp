// Files that fix their batch against the same networks exported with a free one, and files that cannot run another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/analyze.hpp"
#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Graph> analyze_file(const std::string& name, std::optional<std::int64_t> batch) {
  FORERUN_TRY(const auto network,
              read_network(std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/" + name + ".onnx"));
  Binding binding;
  binding.batch = batch;
  return analyze(*network, binding);
}

// Everything a kernel's time depends on.
std::vector<std::string> describe_kernels(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Kernel& k : list_kernels(graph, Workload{})) {
    std::string line = std::string(k.label) + " class " + std::to_string(int(k.kernel_class));
    for (const double value : {k.macs, k.flops, k.read_bytes, k.write_bytes, k.weight_bytes, k.batch, k.m, k.n, k.k,
                               k.spatial, k.output_elements, k.runs}) {
      line += " " + std::to_string(value);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

struct Pair {
  std::string fixed, free;
};
class FixedBatch : public testing::TestWithParam<Pair> {};

TEST_P(FixedBatch, CostsWhatTheSameNetworkWithAFreeBatchCosts) {
  for (const std::int64_t batch : {1, 2, 3, 8}) {
    const Result<Graph> fixed = analyze_file(GetParam().fixed, batch);
    const Result<Graph> free = analyze_file(GetParam().free, batch);
    ASSERT_TRUE(fixed) << fixed.error().message;
    ASSERT_TRUE(free) << free.error().message;
    EXPECT_THAT(fixed->warnings, IsEmpty());
    const Totals a = sum_totals(*fixed), b = sum_totals(*free);
    EXPECT_EQ(a.macs, b.macs) << batch;
    EXPECT_EQ(a.flops, b.flops) << batch;
    EXPECT_EQ(a.parameters, b.parameters) << batch;
    EXPECT_EQ(a.activation_peak_bytes, b.activation_peak_bytes) << batch;
    EXPECT_EQ(describe_kernels(*fixed), describe_kernels(*free)) << batch;
    const Value& output = fixed->values[std::size_t(fixed->main().outputs[0])];
    EXPECT_EQ(output.dims, (Dims{batch, 10}));
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FixedBatch,
                         testing::Values(Pair{"batch_fixed_residual", "batch_free_residual"},
                                         Pair{"batch_fixed_transformer", "batch_free_transformer"},
                                         Pair{"batch_pair_transformer", "batch_free_transformer"},
                                         Pair{"batch_baked", "batch_free_transformer"}),
                         [](const auto& info) { return info.param.fixed; });

TEST(FixedBatchRefusal, NamesTheNodeThatCannotFollow) {
  const Result<Graph> first = analyze_file("batch_first_sample", 4);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::BadInput);
  EXPECT_THAT(first.error().message, HasSubstr("--batch 4: the file fixes its batch at 1"));
  EXPECT_THAT(first.error().message, HasSubstr("Gather 'first'"));
  EXPECT_THAT(first.error().message, HasSubstr("export it with a free batch dimension"));
  const Result<Graph> recurrent = analyze_file("batch_sequence_first", 4);
  ASSERT_FALSE(recurrent);
  EXPECT_THAT(recurrent.error().message, HasSubstr("LSTM 'cell' takes dimension 0 as its sequence"));
}

TEST(FixedBatchRefusal, TheBatchOfTheFileIsNoRequestForAnother) {
  for (const auto& [name, batch] : {std::pair{"batch_first_sample", 1}, {"batch_sequence_first", 9}}) {
    const Result<Graph> graph = analyze_file(name, batch);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(sum_totals(*graph).macs, sum_totals(*analyze_file(name, std::nullopt)).macs);
  }
}

TEST(FixedBatchRefusal, WorkOfAnotherInputDoesNotGrowWithTheBatch) {
  const Result<Graph> graph = analyze_file("contrib_quantised", 8);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("would do the same work for every batch"));
}

TEST(FixedBatchRefusal, AStepOfAScanIsNoSample) {
  const Result<Graph> graph = analyze_file("control_scan", 8);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("runs once for each step of dimension 0"));
}

TEST(PooledAttention, APartOfASplitTensorHasItsOwnShape) {
  const Result<Graph> graph = analyze_file("pooled_attention", std::nullopt);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->warnings, IsEmpty());
  EXPECT_EQ(sum_totals(*graph).coverage, 1.0);
}

TEST(ReshapeMismatch, IsNamedWithItsNumbersAndCostedByItsTargetOrDeclaredShape) {
  const Result<Graph> graph = analyze_file("reshape_mismatch", std::nullopt);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->warnings, Contains("Reshape 'target': cannot reshape 4 x 8 (32 elements) into 8 x 8 (64); the "
                                        "target is assumed"));
  EXPECT_THAT(graph->warnings,
              Contains("Reshape 'open': cannot reshape 8 x 8 (64 elements) into -1 x 5 x 8: they do not "
                       "divide by 40; its declared shape 2 x 5 x 8 is assumed"));
  const Totals totals = sum_totals(*graph);
  EXPECT_EQ(totals.coverage, 1.0);
  EXPECT_EQ(totals.macs, 8 * 8 * 8 + 2 * 5 * 8 * 3);
}

}  // namespace
}  // namespace forerun
