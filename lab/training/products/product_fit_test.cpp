#include "training/products/product_fit.hpp"

#include <gtest/gtest.h>

#include "features/kernel_physics.hpp"
#include "features/test_product.hpp"

namespace forerun {
namespace {

// What a device with these constants would measure.
void sweep(const Catalogue& catalogue, const std::string& device, Math math, const ProductConstants& truth,
           std::vector<OperatorExample>& out) {
  for (const double m : {1, 16, 256, 4096}) {
    for (const double n : {128, 1024, 8192}) {
      for (const double k : {256, 4096}) {
        OperatorExample example;
        example.kernels = {test_product(m, n, k, math)};
        example.device = device;
        example.source = "sweep";
        example.row_id = std::to_string(out.size());
        example.latency_ms =
            kernel_physics(example.kernels.front(), catalogue.find(device).value(), {}, truth).total_us / 1e3;
        out.push_back(std::move(example));
      }
    }
  }
}

class ProductFitTest : public ::testing::Test {
 protected:
  ProductFitTest() {
    truth_.launch_us = 5;
    truth_.memory_share = 0.7;
    truth_.tensor_share = 0.65;
    for (const char* device : {"h100-sxm", "a100-sxm-80gb", "arc-b60"})
      sweep(catalogue_, device, Math::Bf16Tensor, truth_, examples_);
    sweep(catalogue_, "v100-pcie-32gb", Math::Fp32, truth_, examples_);
  }
  Catalogue catalogue_ = Catalogue::load().value();
  ProductConstants truth_;
  std::vector<OperatorExample> examples_;
};

TEST_F(ProductFitTest, FindsConstantsThatExplainWhatWasMeasured) {
  const ProductFit fit(examples_, catalogue_);
  const auto errors = fit.errors(fit.run());
  ASSERT_EQ(errors.size(), 4U);
  for (const auto& [device, error] : errors) EXPECT_LT(error, 5) << device;
}

TEST_F(ProductFitTest, KnowsNothingThatOnlyTheDeviceLeftOutShows) {
  const ProductFit fit(examples_, catalogue_);
  const ProductConstants seen = fit.run(), blind = fit.run("arc-b60");
  EXPECT_GT(seen.intel_launch_us, 20);  // truth: 32
  EXPECT_EQ(blind.intel_launch_us, 5);  // a textbook's
  EXPECT_TRUE(blind.known.volta);
  EXPECT_FALSE(blind.known.turing);
  EXPECT_FALSE(fit.run("v100-pcie-32gb").known.volta);
  EXPECT_EQ(fit.run("arc-b60").launch_us, blind.launch_us);  // repeatable
}

TEST_F(ProductFitTest, OperatorsWithOtherProductsAndRowsAtTheHostsTimeDoNotTeach) {
  OperatorExample conv = examples_.front();
  conv.kernels.front().kernel_class = KernelClass::Conv;
  EXPECT_FALSE(is_matrix_operator(conv));
  EXPECT_TRUE(is_matrix_operator(examples_.front()));
  for (OperatorExample& example : examples_) {
    if (example.device == "arc-b60") example.floor_us = example.latency_ms * 1e3;
  }
  EXPECT_FALSE(ProductFit(examples_, catalogue_).errors(truth_).contains("arc-b60"));
}

}  // namespace
}  // namespace forerun
