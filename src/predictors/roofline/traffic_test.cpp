#include "predictors/roofline/traffic.hpp"

#include <gtest/gtest.h>

#include "devices/catalogue.hpp"

namespace forerun {
namespace {

Kernel product(double m, double n, double k) {
  Kernel kernel;
  kernel.kernel_class = KernelClass::Linear;
  kernel.math = Math::Fp16Tensor;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.macs = m * n * k;
  kernel.output_elements = m * n;
  kernel.weight_bytes = 2 * n * k;
  kernel.read_bytes = 2 * (m * k + n * k);
  kernel.write_bytes = 2 * m * n;
  return kernel;
}

Device device() {
  const auto catalogue = Catalogue::load();
  return *catalogue->find("h200-sxm");
}

TEST(Traffic, ElementwiseKernelsMoveTheSameAtEveryLevel) {
  Kernel kernel;
  kernel.kernel_class = KernelClass::Elementwise;
  kernel.read_bytes = 100;
  kernel.write_bytes = 50;
  kernel.output_elements = 25;
  const Traffic traffic = traffic_of(kernel, device());
  EXPECT_EQ(traffic.l1, 150);
  EXPECT_EQ(traffic.l2, 150);
  EXPECT_EQ(traffic.memory, 150);
}

TEST(Traffic, ProductsReadTheirOperandsOncePerTileFromL1AndOnceFromMemory) {
  const Kernel kernel = product(1024, 1024, 1024);
  const Traffic traffic = traffic_of(kernel, device());
  const double operand = 2.0 * 1024 * 1024;
  EXPECT_EQ(traffic.memory, 3 * operand);
  EXPECT_EQ(traffic.l1, 8 * operand + 8 * operand + operand);
  EXPECT_LT(traffic.l2, traffic.l1);
  EXPECT_GT(traffic.l2, traffic.memory);
}

TEST(Traffic, ProductsLargerThanL2ReadMemoryMoreThanOnceAndLessThanL2) {
  const Kernel kernel = product(32768, 32768, 32768);
  const Traffic traffic = traffic_of(kernel, device());
  EXPECT_GT(traffic.memory, kernel.read_bytes + kernel.write_bytes);
  EXPECT_LT(traffic.memory, traffic.l2);
}

}  // namespace
}  // namespace forerun
