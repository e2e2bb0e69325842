#include "dataset/operators.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace forerun {
namespace {

namespace fs = std::filesystem;

TEST(Operators, APointBecomesTheKernelsOfItsOperator) {
  const fs::path folder = fs::temp_directory_path() / ("forerun_operators_" + std::to_string(::getpid()));
  fs::create_directories(folder / "h200-test");
  std::ofstream(folder / "h200-test" / "operators.csv") << "id,op,direction,precision,batch,in_channels,height,width,latency_us,timing\n"
                                                           "a,batch_norm,forward,fp16,8,64,14,20,5.5,graph\n"
                                                           "b,batch_norm,forward,fp16,8,64,14,20,,graph\n"
                                                           "c,no_such_operator,forward,fp16,8,64,14,20,5.5,graph\n";
  const auto read = load_operator_campaigns(folder.string());
  fs::remove_all(folder);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);  // one without a time, one that nobody knows
  const OperatorExample& point = read->front();
  EXPECT_DOUBLE_EQ(point.latency_ms, 0.0055);
  ASSERT_EQ(point.kernels.size(), 1U);
  EXPECT_EQ(point.kernels[0].kernel_class, KernelClass::BatchNorm);
  EXPECT_DOUBLE_EQ(point.kernels[0].spatial, 14 * 20);
  EXPECT_DOUBLE_EQ(point.kernels[0].inner, 8 * 14 * 20);
}

TEST(Operators, EveryShippedSweepIsRead) {
  const auto read = load_operator_campaigns(std::string(FORERUN_SOURCE_DIR) + "/data/measurements");
  ASSERT_TRUE(read) << read.error().message;
  std::map<std::string, int> points;
  for (const OperatorExample& point : *read) ++points[point.source];
  EXPECT_EQ(points.size(), 7U);
  EXPECT_EQ(points["h200-2026-11-wide-operators"], 41091);  // compressed
}

}  // namespace
}  // namespace forerun
