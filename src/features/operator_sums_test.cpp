#include "features/operator_sums.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

Kernel kernel(KernelClass kernel_class, double area, double groups, double macs) {
  Kernel made;
  made.kernel_class = kernel_class;
  made.kernel_area = area;
  made.groups = groups;
  made.macs = macs;
  made.read_bytes = 3e6;
  made.write_bytes = 1e6;
  made.runs = 2;
  return made;
}

TEST(OperatorSums, AddsArithmeticBytesAndKernelsOfEachClass) {
  const std::vector<Kernel> kernels = {
      kernel(KernelClass::Conv, 9, 1, 1e9),      kernel(KernelClass::Conv, 1, 1, 2e9),
      kernel(KernelClass::Conv, 9, 4, 3e9),      kernel(KernelClass::DepthwiseConv, 9, 64, 4e9),
      kernel(KernelClass::Attention, 1, 1, 5e9), kernel(KernelClass::Copy, 1, 1, 0)};
  const OperatorSums sums = sum_operators(kernels);
  EXPECT_DOUBLE_EQ(gmacs_of(sums, std::size_t(OperatorClass::SpatialConv)), 2);
  EXPECT_DOUBLE_EQ(gmacs_of(sums, std::size_t(OperatorClass::PointwiseConv)), 4);
  EXPECT_DOUBLE_EQ(gmacs_of(sums, std::size_t(OperatorClass::GroupedConv)), 14);
  EXPECT_DOUBLE_EQ(gmacs_of(sums, std::size_t(OperatorClass::Product)), 10);
  EXPECT_DOUBLE_EQ(gmacs_of(sums), 30);
  EXPECT_DOUBLE_EQ(sums[3 * std::size_t(OperatorClass::GroupedConv) + 1], 16);  // MB
  EXPECT_DOUBLE_EQ(sums[3 * std::size_t(OperatorClass::GroupedConv) + 2], 4);   // kernels
  EXPECT_DOUBLE_EQ(sums[3 * std::size_t(OperatorClass::Move) + 2], 2);
  EXPECT_DOUBLE_EQ(sums.back(), 1);
}

}  // namespace
}  // namespace forerun
