#include <gtest/gtest.h>

#include <cmath>

#include "training/trees/tree_trainer.hpp"

namespace forerun {
namespace {

Kernel convolution(double batch) {
  Kernel kernel;
  kernel.kernel_class = KernelClass::Conv;
  kernel.label = "Conv";
  kernel.m = batch * 1024;
  kernel.n = 16;
  kernel.k = 144;
  return kernel;
}

Device device(const char* id) {
  Device device;
  device.id = id;
  return device;
}

TEST(KnownKernels, AJumpIsLookedUpWhereANetworkHasTheSameKernel) {
  std::vector<OperatorRows> operators;
  for (int batch = 1; batch <= 256; ++batch) {
    OperatorRows row;
    row.facts.resize(kernel_fact_count());
    extract_kernel_facts(convolution(batch), device("a"), false, row.facts);
    row.ideal_us = {double(batch)};
    row.measured_us = batch == 128 ? 20 * batch : 2 * batch;
    row.key = batch == 7 ? 0 : known_kernel_key(convolution(batch), device("a"));
    operators.push_back(std::move(row));
  }
  const auto trained = train_kernels(operators, {});
  ASSERT_TRUE(trained) << trained.error().message;
  const Forest forest(*trained);
  const KnownKernels known = remember_kernels(operators, forest);
  const auto read = KnownKernels::from_bytes(known.bytes());
  ASSERT_TRUE(read) << read.error().message;
  const auto summed = [&](int batch, const Device& device) {
    TreeInput input;
    input.facts.resize(kernel_fact_count());
    extract_kernel_facts(convolution(batch), device, false, input.facts);
    input.ideal_us = {double(batch)};
    input.classes = {std::uint8_t(KernelClass::Conv)};
    input.keys = {known_kernel_key(convolution(batch), device)};
    sum_kernels(input, forest, *read);
    return 1e3 * input.kernel_ms / batch;
  };
  EXPECT_NEAR(summed(128, device("a")), 20, 1e-3);
  EXPECT_NEAR(summed(127, device("a")), 2, 0.4);
  EXPECT_LT(summed(128, device("b")), 10);                                   // of another device nothing is known
  EXPECT_FALSE(known.find(known_kernel_key(convolution(64), device("a"))));  // as learned
  Device slice = device("a");
  slice.slice = "1g.18gb";
  EXPECT_EQ(known_kernel_key(convolution(128), slice), 0U);
}

TEST(KnownKernels, BrokenTablesAreRefused) {
  const std::vector<std::pair<std::uint64_t, float>> scores = {
      {0x100000001ULL, 1.0F}, {0x200000001ULL, 2.0F}, {7, 3.0F}};
  const std::string bytes = KnownKernels(scores).bytes();
  const auto read = KnownKernels::from_bytes(bytes);
  ASSERT_TRUE(read);
  for (const auto& [key, score] : scores) EXPECT_EQ(read->find(key), score);
  EXPECT_FALSE(read->find(0x300000001ULL));
  EXPECT_FALSE(read->find(0));
  EXPECT_FALSE(KnownKernels().find(7));
  EXPECT_TRUE(KnownKernels::from_bytes("")->empty());
  EXPECT_FALSE(KnownKernels::from_bytes(bytes.substr(1)));
  EXPECT_FALSE(KnownKernels::from_bytes(bytes.substr(sizeof(KnownKernels::Entry))));
  std::string full(16, '\1');  // no free place: a search would not end
  EXPECT_FALSE(KnownKernels::from_bytes(full));
  std::string odd = bytes;
  const float nan = std::nanf("");
  for (std::size_t i = 0; i < odd.size(); i += sizeof(KnownKernels::Entry))
    odd.replace(i + 4, 4, reinterpret_cast<const char*>(&nan), 4);
  EXPECT_FALSE(KnownKernels::from_bytes(odd));
}

}  // namespace
}  // namespace forerun
