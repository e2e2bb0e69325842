#include "predictors/roofline/kernel_time.hpp"

#include <gtest/gtest.h>

#include "devices/catalogue.hpp"

namespace forerun {
namespace {

Device find(const char* id) { return Catalogue::load()->find(id).value(); }

Kernel conv(double spatial, double area, Math math) {
  Kernel k;
  k.kernel_class = KernelClass::Conv;
  k.math = math;
  k.m = 8 * spatial;
  k.n = k.output_channels = k.input_channels = 256;
  k.k = 256 * area;
  k.macs = k.m * k.n * k.k;
  k.flops = 2 * k.macs;
  k.kernel_area = area;
  k.spatial = spatial;
  k.read_bytes = k.write_bytes = k.m * k.n * 2;
  return k;
}

TEST(KernelTime, ProductsAreRoundedUpToWholeWavesOfTiles) {
  const RooflineConstants& c = shipped_constants();
  const double full = tile_us({1, 256 * 132, 128, 64}, 132, 1e6, 100, 1e-6, c);
  const double more = tile_us({1, 256 * 132 + 1, 128, 64}, 132, 1e6, 100, 1e-6, c);
  EXPECT_GT(more, full * 1.2);
  EXPECT_NEAR(tile_us({1, 256 * 132 - 100, 128, 64}, 132, 1e6, 100, 1e-6, c), full, full * 1e-9);
}

TEST(KernelTime, ASmallDeepProductSplitsItsDepth) {
  const RooflineConstants& c = shipped_constants();
  const double deep = tile_us({1, 64, 64, 16384}, 132, 1e6, 50, 1e-6, c);
  const double whole = 2 * 64 * 64 * 16384.0 / 1e6;
  EXPECT_LT(deep, whole / 2);
}

TEST(KernelTime, MatrixTimesVectorIsBoundByMemory) {
  Kernel k;
  k.kernel_class = KernelClass::Linear;
  k.math = Math::Bf16Tensor;
  k.m = 1;
  k.n = k.k = 8192;
  k.macs = k.n * k.k;
  k.flops = 2 * k.macs;
  k.read_bytes = k.weight_bytes = k.macs * 2;
  k.write_bytes = k.n * 2;
  EXPECT_EQ(time_kernel(k, find("h100-sxm"), shipped_constants()).bound, Bound::Memory);
}

TEST(KernelTime, ACardWithLittlePowerDoesNotKeepItsClock) {
  const RooflineConstants& c = shipped_constants();
  const Device t4 = find("t4"), v100 = find("v100-pcie-32gb");
  EXPECT_LT(ceilings_of(t4, Math::Fp32, c).tflops, 0.9 * c.unmeasured_compute * peak_tflops(t4, Math::Fp32));
  EXPECT_NEAR(ceilings_of(v100, Math::Fp32, c).tflops, c.unmeasured_compute * peak_tflops(v100, Math::Fp32), 1e-6);
}

TEST(KernelTime, ProductsInHalfPrecisionRunAtThePlainRateWithoutTensorCores) {
  const RooflineConstants& c = shipped_constants();
  for (const char* id : {"p100", "gtx-1080-ti"}) {
    EXPECT_EQ(peak_tflops(find(id), Math::Fp16Tensor), peak_tflops(find(id), Math::Fp32)) << id;
    EXPECT_FALSE(ceilings_of(find(id), Math::Fp16Tensor, c).tensor) << id;
  }
  EXPECT_TRUE(ceilings_of(find("v100-sxm-16gb"), Math::Fp16Tensor, c).tensor);
  EXPECT_FALSE(ceilings_of(find("v100-sxm-16gb"), Math::Tf32Tensor, c).tensor);
}

TEST(KernelTime, OneByOneConvolutionsOverWholePlanesNeedNoLayoutPass) {
  const Device device = find("h200-sxm");
  const double planes = time_kernel(conv(56 * 56, 1, Math::Fp16Tensor), device, shipped_constants()).time_us;
  const double converted = time_kernel(conv(55 * 57, 1, Math::Fp16Tensor), device, shipped_constants()).time_us;
  EXPECT_LT(planes * 1.1, converted);
}

TEST(KernelTime, PlainThreeByThreeConvolutionsMayGoThroughWinograd) {
  const Device device = find("v100-pcie-32gb");
  const double square = time_kernel(conv(56 * 56, 9, Math::Fp32), device, shipped_constants()).time_us;
  Kernel strided = conv(56 * 56, 9, Math::Fp32);
  strided.stride = 2;
  EXPECT_LT(square, time_kernel(strided, device, shipped_constants()).time_us);
}

TEST(KernelTime, ADecodeStepGrowsWithTheCache) {
  const Device device = find("h200-sxm");
  double before = 0;
  for (const double keys : {16.0, 512.0, 4096.0, 65536.0}) {
    Kernel k;
    k.kernel_class = KernelClass::Attention;
    k.math = Math::Bf16Tensor;
    k.batch = 8 * 32;
    k.m = 1;
    k.n = keys;
    k.k = 128;
    k.macs = 2 * k.batch * k.n * k.k;
    k.flops = 2 * k.macs;
    k.write_bytes = k.batch * k.k * 2;
    k.read_bytes = k.write_bytes + 2 * 8 * 8 * keys * k.k * 2;
    const double now = time_kernel(k, device, shipped_constants()).time_us;
    EXPECT_GT(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace forerun
