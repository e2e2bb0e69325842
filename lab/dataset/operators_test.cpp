#include "dataset/operators.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

namespace forerun {
namespace {

namespace fs = std::filesystem;

Result<std::vector<OperatorExample>> read_sweep(std::string_view table) {
  const fs::path folder = fs::temp_directory_path() / ("forerun_operators_" + std::to_string(::getpid()));
  fs::create_directories(folder / "h200-test");
  std::ofstream(folder / "h200-test" / "operators.csv") << table;
  auto read = load_operator_campaigns(folder.string());
  fs::remove_all(folder);
  return read;
}

TEST(Operators, APointBecomesTheKernelsOfItsOperator) {
  const auto read = read_sweep(
      "id,op,direction,precision,batch,in_channels,height,width,latency_us,timing\n"
      "a,batch_norm,forward,fp16,8,64,14,20,5.5,graph\n"
      "b,batch_norm,forward,fp16,8,64,14,20,,graph\n"
      "c,no_such_operator,forward,fp16,8,64,14,20,5.5,graph\n");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);  // one without a time, one that nobody knows
  const OperatorExample& point = read->front();
  EXPECT_DOUBLE_EQ(point.latency_ms, 0.0055);
  ASSERT_EQ(point.kernels.size(), 1U);
  EXPECT_EQ(point.kernels[0].kernel_class, KernelClass::BatchNorm);
  EXPECT_DOUBLE_EQ(point.kernels[0].spatial, 14 * 20);
  EXPECT_DOUBLE_EQ(point.kernels[0].inner, 8 * 14 * 20);
}

TEST(Operators, PartsOfATrainingStepAreTheKernelsOfThatPart) {
  const auto read = read_sweep(
      "id,op,function,direction,precision,batch,in_channels,height,width,m,n,elements,tensors,latency_us,timing\n"
      "a,batch_norm,,training,bf16,8,64,14,20,,,,,25,profile\n"
      "b,linear_bias,,backward,fp32,,,,,512,96,,,7,profile\n"
      "c,accumulate,,backward,fp32,,,,,,,4096,,3,profile\n"
      "d,autocast,,backward,amp_bf16,,,,,,,4096,,4,profile\n"
      "e,optimizer,adamw,step,fp32,,,,,,,1000000,20,90,profile\n"
      "f,binary,add,backward,fp32,,,,,,,4096,,3,graph\n");
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::tuple<std::string, Stage, bool>> kernels;
  for (const OperatorExample& point : *read) {
    ASSERT_EQ(point.kernels.size(), 1U) << point.row_id;
    kernels.emplace_back(point.kernels[0].label, point.kernels[0].stage, point.kernels[0].in_step);
  }
  EXPECT_EQ(kernels, (std::vector<std::tuple<std::string, Stage, bool>>{
                         {"BatchNormalization", Stage::Forward, true},
                         {"bias_gradient", Stage::Backward, true},
                         {"accumulate", Stage::Backward, true},
                         {"autocast", Stage::Backward, true},
                         {"optimizer_step", Stage::Update, true}}));  // a sum's gradient takes no kernel
  EXPECT_DOUBLE_EQ((*read)[0].kernels[0].launches, 4);
  EXPECT_NEAR((*read)[4].kernels[0].output_elements, 1e6, 100);
}

TEST(Operators, EveryShippedSweepIsRead) {
  const auto read = load_operator_campaigns(std::string(FORERUN_SOURCE_DIR) + "/data/measurements");
  ASSERT_TRUE(read) << read.error().message;
  std::map<std::string, int> points;
  for (const OperatorExample& point : *read) ++points[point.source];
  EXPECT_EQ(points.size(), 8U);
  EXPECT_EQ(points["h200-2026-11-wide-operators"], 41091);  // compressed
}

// As the table's times show: they go up in steps with M and K, the sides of the result, and evenly with N, its depth.
TEST(Operators, ColumnNOfNeuSightsProductsIsTheInnerDimension) {
  const fs::path folder = fs::temp_directory_path() / ("forerun_neusight_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "neusight_ops_matmul.csv.gz")
      << "op,device,torch,latency_ms,B,M,N,K,kernel\n"
         "bmm,Tesla T4,p2.1.0,0.030,6,27,390,21,volta_sgemm_64x64_nn\n"
         "bmm,Tesla T4,p2.1.0,0.090,60,270,390,210,volta_sgemm_64x64_nn\n"
         "linear,Tesla T4,p2.1.0,0.200,1,500,300,700,volta_sgemm_64x64_tn\n";
  const auto read = load_public_operators(folder.string());
  fs::remove_all(folder);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 3U);
  const Kernel &batched = (*read)[1].kernels.at(0), &linear = (*read)[2].kernels.at(0);
  EXPECT_EQ(std::tuple(batched.batch, batched.m, batched.n, batched.k), std::tuple(60, 270, 210, 390));
  EXPECT_EQ(std::tuple(linear.m, linear.n, linear.k), std::tuple(500, 700, 300));
  // The shortest call of an operator is its host's, on every machine another.
  EXPECT_DOUBLE_EQ((*read)[1].floor_us, 30);
  EXPECT_DOUBLE_EQ((*read)[2].floor_us, 200);
  EXPECT_LT((*read)[1].timing_us, 30);
  EXPECT_FALSE((*read)[1].host_bound());
  EXPECT_TRUE((*read)[0].host_bound());
}

}  // namespace
}  // namespace forerun
