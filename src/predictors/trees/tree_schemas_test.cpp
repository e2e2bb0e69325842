#include "predictors/trees/tree_schemas.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "features/schema_sample.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/trees/tree_predictor.hpp"

namespace forerun {
namespace {

Bundle shipped_trees() { return Bundle::open(FORERUN_SOURCE_DIR "/bundles/trees.bundle").value(); }

// The bundle was stamped by an optimised build: that others accept it shows that hashes do not depend on the build.
TEST(TreeSchemas, ShippedBundleHasTheHashesOfThisBuild) {
  const auto trees = TreePredictor::load(shipped_trees());
  EXPECT_TRUE(trees) << trees.error().message;
}

TEST(TreeSchemas, AreTheSameWhenTheSampleIsMadeAgain) { EXPECT_EQ(tree_schema(make_schema_sample()), tree_schema()); }

TEST(TreeSchemas, SeeARunsSettingsAndMemory) {
  SchemaSample sample = make_schema_sample();
  sample.runs[0].workload.binding.batch = 5;
  EXPECT_NE(tree_schema(sample), tree_schema());
  sample = make_schema_sample();
  sample.runs[0].totals.weight_bytes += 1 << 20;
  EXPECT_NE(tree_schema(sample), tree_schema());
  sample = make_schema_sample();
  sample.devices[sample.cases[0].device].id += "x";  // part of the key of a measured kernel
  EXPECT_NE(tree_schema(sample), tree_schema());
}

TEST(TreeSchemas, RooflineHashSeesItsConstantsButNotItsIntervals) {
  RooflineConstants constants = shipped_constants();
  constants.latency_width += 0.1;
  EXPECT_EQ(roofline_hash(constants), roofline_hash());
  constants.classes[0].overhead_us *= 1.01;
  EXPECT_NE(roofline_hash(constants), roofline_hash());
}

TEST(TreeSchemas, PartHasAHashForEveryForestItHolds) {
  nlohmann::json part = {{"transfer", {{"kinds", {"a"}}}}};
  put_tree_hashes(part);
  EXPECT_EQ(part.size(), 3U);  // the roofline's and the facts', too; none for power, which it does not hold
  EXPECT_TRUE(part["transfer"].contains("facts"));
  EXPECT_TRUE(check_tree_hashes(part, "x.bundle"));
  part["transfer"]["facts"] = "1";
  const Status refused = check_tree_hashes(part, "x.bundle");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("x.bundle: made for other values of facts of kernels on other devices"),
            std::string::npos);
  EXPECT_NE(refused.error().message.find("forerun-lab train"), std::string::npos);
}

TEST(TreeSchemas, BundleOfOtherFeaturesIsRefusedWithWhatToDo) {
  BundleManifest manifest = shipped_trees().manifest();
  manifest.schema.hash ^= 1;
  const std::string bytes = BundleWriter(manifest).bytes().value();
  const auto refused = TreePredictor::load(Bundle::from_bytes(bytes, "own.bundle").value());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("own.bundle: predictor 'trees' was trained on features tree-table"),
            std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("train it anew"), std::string::npos);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace forerun
