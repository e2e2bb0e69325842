#include "features/kernel_physics.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "devices/catalogue.hpp"
#include "features/test_product.hpp"
#include "features/transfer_facts.hpp"

namespace forerun {
namespace {

Device find(const char* id) { return Catalogue::load().value().find(id).value(); }

TEST(KernelPhysics, LargeProductRunsAtMostOfTheDataSheetsRate) {
  const Device device = find("h100-sxm");
  const Kernel kernel = test_product(8192, 8192, 8192);
  const double peak_us = kernel.flops / (data_sheet_tflops(device, kernel.math) * 1e6);
  const double us = kernel_physics(kernel, device).total_us;
  EXPECT_GT(us, peak_us);
  EXPECT_LT(us, 1.4 * peak_us);
}

TEST(KernelPhysics, OneMoreTileThanMultiprocessorsTakesAnotherWave) {
  const Device device = find("a100-sxm-80gb");  // 108 multiprocessors
  Kernel kernel = test_product(128, 128, 4096);
  kernel.batch = 108;
  const double whole = kernel_physics(kernel, device).compute_us;
  kernel.batch = 109;
  EXPECT_GT(kernel_physics(kernel, device).compute_us, 1.1 * whole);
}

TEST(KernelPhysics, PlainProductsOnManyLanesWaitInEveryStepOfDepth) {
  const Device device = find("h200-sxm");
  const auto share = [&](const Kernel& kernel) {
    return kernel.flops / (data_sheet_tflops(device, kernel.math) * 1e6) / kernel_physics(kernel, device).total_us;
  };
  EXPECT_NEAR(share(test_product(8192, 4096, 1024, Math::Fp32)), 0.73, 0.03);  // measured: 49 of 67 TFLOP/s
  EXPECT_NEAR(share(test_product(131072, 384, 96, Math::Fp32)), 0.5, 0.05);    // 34: results are written in between
  const double few = kernel_physics(test_product(4, 1000, 2048, Math::Fp32), device).total_us,
               some = kernel_physics(test_product(16, 1000, 2048, Math::Fp32), device).total_us;
  EXPECT_LT(few, 0.6 * some);
}

TEST(KernelPhysics, ShallowTilesWaitForTheirResultsToLeave) {
  // 200,704 x 128 x 32 in fp16 takes an H200 51 µs, more than its arithmetic (8) and memory (16) do.
  const Kernel shallow = test_product(200704, 128, 32);
  EXPECT_GT(kernel_physics(shallow, find("h200-sxm")).compute_us, 12);
  EXPECT_LT(kernel_physics(shallow, find("b200")).compute_us, 8);  // goes on with the next tile
}

TEST(KernelPhysics, SplitDepthIsAddedUpAfterwards) {
  Kernel gradient = test_product(64, 64, 200704);
  gradient.stage = Stage::Backward;
  gradient.weight_bytes = 0;
  const Device device = find("h200-sxm");
  const KernelPhysics alone = kernel_physics(gradient, device);
  EXPECT_GT(alone.total_us, alone.launch_us + std::max(alone.compute_us, alone.memory_us) + 2.4);
  gradient.in_step = true;
  const KernelPhysics in_step = kernel_physics(gradient, device);
  EXPECT_GT(in_step.total_us - in_step.launch_us,
            alone.total_us - alone.launch_us + 1.5);  // one more launch waits there, too
}

TEST(KernelPhysics, FewRowsDependOnWhereResultsStart) {
  const Device device = find("h200-sxm");
  // Measured: 9.2 and 4 µs.
  EXPECT_GT(kernel_physics(test_product(1, 1000, 1280), device).total_us,
            1.5 * kernel_physics(test_product(1, 1024, 1280), device).total_us);
  // A few columns leave threads to share the depth: 2.8 µs, not 5.
  EXPECT_LT(kernel_physics(test_product(8, 10, 256, Math::Fp32), device).compute_us, 0.5);
}

TEST(KernelPhysics, BatchedProductsOfTuringAreAtLeastATileOf64Wide) {
  const Device device = find("t4");
  Kernel narrow = test_product(256, 30, 512, Math::Fp32);
  narrow.kernel_class = KernelClass::BatchedMatMul;
  narrow.batch = 400;
  Kernel wide = narrow;
  wide.n = 60;
  EXPECT_NEAR(kernel_physics(narrow, device).compute_us, kernel_physics(wide, device).compute_us, 1e-6);
}

TEST(KernelPhysics, AGenerationThatNobodyTimedRunsTheTilesOfTheNearestOne) {
  Kernel kernel = test_product(256, 30, 512, Math::Fp32);
  kernel.kernel_class = KernelClass::BatchedMatMul;
  kernel.batch = 400;
  ProductConstants without_turing;
  without_turing.known.turing = false;
  ProductConstants as_volta;
  as_volta.turing_batched = as_volta.volta_batched;
  const Device device = find("t4");
  const double nearest = kernel_physics(kernel, device, {}, without_turing).compute_us;
  EXPECT_EQ(nearest, kernel_physics(kernel, device, {}, as_volta).compute_us);
  EXPECT_NE(nearest, kernel_physics(kernel, device).compute_us);
}

TEST(KernelPhysics, WeightsOutOfReachAreReadAgainOnTheP4) {
  const Device device = find("p4");
  const Kernel near = test_product(1024, 2048, 4096, Math::Fp32),
               far = test_product(1024, 4096, 4096, Math::Fp32);  // 32 and 64 MiB
  EXPECT_GT(kernel_physics(far, device).memory_us, 4 * kernel_physics(near, device).memory_us);
}

TEST(KernelPhysics, WeightsLeftInL2AreReadFaster) {
  const Device device = find("l40s");  // 96 MiB of L2 before slow memory
  const Kernel kernel = test_product(16, 2048, 1024);
  const KernelPhysics cold = kernel_physics(kernel, device),
                      rotated = kernel_physics(kernel, device, {.weight_copies = 6}),
                      warm = kernel_physics(kernel, device, {.weight_copies = 1});
  EXPECT_LT(warm.memory_us, 0.5 * cold.memory_us);
  EXPECT_NEAR(rotated.memory_us, warm.memory_us, 1e-9);  // six copies of 4 MiB still fit
  EXPECT_EQ(cold.resident, 0);
  EXPECT_EQ(warm.resident, 1);
}

TEST(KernelPhysics, OldLibrariesRunBatchedProductsInWholeTiles) {
  const Device device = find("a100-pcie-40gb");
  Kernel kernel = test_product(256, 128, 512, Math::Fp32);
  kernel.kernel_class = KernelClass::BatchedMatMul;
  kernel.batch = 1080;
  const KernelSetting old = {.old_library = true};
  const double whole = kernel_physics(kernel, device, old).compute_us;
  kernel.n = 129;
  EXPECT_NEAR(kernel_physics(kernel, device, old).compute_us, 2 * whole, 0.06 * whole);
  EXPECT_LT(kernel_physics(kernel, device).compute_us, 1.7 * whole);  // smaller tiles fit better
}

TEST(KernelPhysics, DeepProductsReadTheirOperandsAgainBeforeVolta) {
  const Kernel kernel = test_product(4096, 4096, 32768, Math::Fp32);
  const Device pascal = find("p100"), volta = find("v100-pcie-32gb");
  EXPECT_GT(kernel_physics(kernel, pascal).memory_us, kernel_physics(kernel, pascal).compute_us);
  EXPECT_LT(kernel_physics(kernel, volta).memory_us, 0.1 * kernel_physics(kernel, volta).compute_us);
}

TEST(KernelPhysics, PowerSlowsPlainProductsDownToTheBaseClockAtMost) {
  Device device = find("t4");  // 70 W for 8 TFLOP/s
  const Kernel kernel = test_product(4096, 4096, 4096, Math::Fp32);
  const double limited = kernel_physics(kernel, device).compute_us,
               few = kernel_physics(kernel, device, {.few_calls = true}).compute_us;
  device.power_limit_w = 1;
  const double at_base = kernel_physics(kernel, device).compute_us;
  device.power_limit_w = 1000;
  const double free = kernel_physics(kernel, device).compute_us;
  EXPECT_GT(limited, 1.5 * free);
  EXPECT_LT(few, limited);
  EXPECT_NEAR(at_base / free, *device.clock_boost_mhz / *device.clock_base_mhz, 1e-6);
}

TEST(KernelPhysics, TensorCoresNeedAlignedRows) {
  const Device device = find("h100-sxm");
  EXPECT_GT(kernel_physics(test_product(4096, 4096, 4097), device).compute_us,
            2 * kernel_physics(test_product(4096, 4096, 4096), device).compute_us);
  const Device slower = find("rtx-3090");  // tensor cores that small pieces can feed
  EXPECT_LT(kernel_physics(test_product(4096, 4096, 4097, Math::Fp16Tensor), slower).compute_us,
            1.1 * kernel_physics(test_product(4096, 4096, 4096, Math::Fp16Tensor), slower).compute_us);
}

TEST(KernelPhysics, CardsWithoutTensorCoresComputePlainly) {
  Kernel tf32 = test_product(4096, 512, 4608, Math::Fp32);
  tf32.kernel_class = KernelClass::Conv;
  tf32.kernel_area = 9;
  tf32.spatial = 196;
  tf32.input_channels = tf32.output_channels = 512;
  const Kernel plain = tf32;
  tf32.math = Math::Tf32Tensor;
  for (const char* old : {"v100-sxm-16gb", "titan-xp"})
    EXPECT_EQ(kernel_physics(tf32, find(old)).total_us, kernel_physics(plain, find(old)).total_us) << old;
  EXPECT_LT(kernel_physics(tf32, find("a100-sxm-80gb")).total_us,
            kernel_physics(plain, find("a100-sxm-80gb")).total_us);
  EXPECT_EQ(transfer_kind(tf32, find("titan-xp"), false), "NVIDIA/conv/plain");
}

TEST(KernelPhysics, KernelsWithoutProductsAsAnH200RunsThem) {
  const Device device = find("h200-sxm");
  const auto us = [&](KernelClass kind, double elements, double bytes_in, double bytes_out, double inner, double area,
                      double spatial) {
    Kernel kernel;
    kernel.kernel_class = kind;
    kernel.math = Math::Bf16Tensor;
    kernel.output_elements = elements;
    kernel.read_bytes = bytes_in;
    kernel.write_bytes = bytes_out;
    kernel.inner = inner;
    kernel.kernel_area = area;
    kernel.spatial = spatial;
    return kernel_physics(kernel, device).total_us;
  };
  EXPECT_NEAR(us(KernelClass::Elementwise, 1e4, 2e4, 2e4, 0, 1, 0), 1.4, 0.2);  // hardly more than a launch
  EXPECT_NEAR(us(KernelClass::Elementwise, 5e7, 1e8, 1e8, 0, 1, 0), 50, 5);     // 4.1 TB/s
  EXPECT_NEAR(us(KernelClass::Pool, 1e7, 8e7, 2e7, 0, 4, 1e6), 120, 15);        // 84 results a ns, whatever their size
  EXPECT_NEAR(us(KernelClass::LayerNorm, 12.8e6, 25.6e6, 25.6e6, 128, 1, 0), 107, 20);  // 100,000 short rows: 480 GB/s
  EXPECT_NEAR(us(KernelClass::BatchNorm, 65536 * 49.0, 6.4e6, 6.4e6, 0, 1, 49), 45, 10);
  EXPECT_NEAR(us(KernelClass::BatchNorm, 5e7, 1e8, 1e8, 0, 1, 1), 100, 30);  // of rows: no planes, one block for many
}

TEST(KernelPhysics, DepthwiseConvolutionsInFp16RunOnCudnn) {
  Kernel kernel;
  kernel.kernel_class = KernelClass::DepthwiseConv;
  kernel.output_elements = 2.5e7;
  kernel.flops = 18 * kernel.output_elements;
  kernel.read_bytes = kernel.write_bytes = 5e7;
  kernel.kernel_area = 9;
  kernel.spatial = 784;
  kernel.math = Math::Bf16;
  const double own = kernel_physics(kernel, find("h200-sxm")).total_us;
  kernel.math = Math::Fp16;
  EXPECT_NEAR(own, 240, 30);                                                              // 2.5 cycles a result
  EXPECT_NEAR(kernel_physics(kernel, find("h200-sxm")).total_us, 0.33 * own, 0.1 * own);  // 0.8
}

TEST(KernelPhysics, EmptyKernelCostsItsLaunch) {
  const KernelPhysics physics = kernel_physics(Kernel{}, find("t4"));
  EXPECT_GT(physics.total_us, 0);
  EXPECT_NEAR(physics.total_us, physics.launch_us, 1e-3);
}

TEST(TransferFacts, NameNoDevice) {
  for (const std::string& name : transfer_fact_names()) EXPECT_FALSE(name.starts_with("device")) << name;
  // The same work per multiprocessor on a device of half the size: nothing but waves and shares tells them apart.
  Device device = find("a100-sxm-80gb");
  Kernel kernel = test_product(128, 128, 1024);
  kernel.batch = 216;
  Device half = device;
  half.sm_count /= 2;
  half.memory_bandwidth_gb_per_s /= 2;
  *half.l2_mib /= 2;
  for (auto& [key, rate] : half.peak_tflops) rate /= 2;
  Kernel smaller = kernel;
  smaller.batch = 108;
  for (double* value : {&smaller.macs, &smaller.flops, &smaller.read_bytes, &smaller.write_bytes, &smaller.weight_bytes,
                        &smaller.output_elements})
    *value /= 2;
  std::vector<float> a(transfer_fact_count()), b(transfer_fact_count());
  extract_transfer_facts(kernel, device, kernel_physics(kernel, device), false, a);
  extract_transfer_facts(smaller, half, kernel_physics(smaller, half), false, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (transfer_fact_names()[i] == "log_batch" || transfer_fact_names()[i] == "log_queries_per_key_head" ||
        transfer_fact_names()[i] == "log_key_heads_per_sm")
      continue;
    EXPECT_NEAR(a[i], b[i], 1e-4) << transfer_fact_names()[i];
  }
}

TEST(TransferFacts, KindNamesMakerClassUnitAndTiming) {
  EXPECT_EQ(transfer_kind(test_product(1, 1, 1), find("l40s"), false), "NVIDIA/linear/tensor");
  EXPECT_EQ(transfer_kind(test_product(1, 1, 1, Math::Fp32), find("mi100"), true), "AMD/linear/plain/host");
}

}  // namespace
}  // namespace forerun
