#include "predictors/gnn/published_predictor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "features/schema_sample.hpp"

namespace forerun {
namespace {

Bundle shipped(const char* name) {
  return Bundle::open(std::string(FORERUN_SOURCE_DIR "/bundles/") + name + ".bundle").value();
}

TEST(PublishedPredictor, OfBothBundlesAnswersEverySampleWithFiniteNumbers) {
  for (const char* name : {"dippm", "trappm"}) {
    const auto predictor = PublishedPredictor::load(shipped(name));
    ASSERT_TRUE(predictor) << predictor.error().message;
    EXPECT_EQ((*predictor)->name(), name);
    for (const SampleRun& run : schema_sample().runs) {
      const PublishedDesign design =
          std::string_view(name) == "trappm" ? PublishedDesign::Training : PublishedDesign::Inference;
      const auto answers = (*predictor)->run(encode_published_design(design, *run.graph, run.workload));
      ASSERT_TRUE(answers) << answers.error().message;
      EXPECT_EQ(answers->size(), (*predictor)->outputs().size());
      for (const double answer : *answers) EXPECT_TRUE(std::isfinite(answer) && answer > 0) << run.name;
    }
  }
}

// A copy of a bundle's manifest with one part changed, and none of its sections.
Result<std::unique_ptr<PublishedPredictor>> load_with(const std::function<void(BundleManifest&)>& change) {
  BundleManifest manifest = shipped("dippm").manifest();
  change(manifest);
  const std::string bytes = BundleWriter(manifest).bytes().value();
  return PublishedPredictor::load(Bundle::from_bytes(bytes, "changed").value());
}

TEST(PublishedPredictor, RefusesBundlesThatDoNotHoldTogether) {
  EXPECT_TRUE(load_with([](BundleManifest&) {}));
  EXPECT_FALSE(load_with([](BundleManifest& m) { m.kind = "gnn"; }));
  EXPECT_FALSE(load_with([](BundleManifest& m) { m.schema.hash ^= 1; }));
  for (const char* key : {"outputs", "half_widths", "devices", "precisions", "training"}) {
    const auto changed = load_with([&](BundleManifest& m) {
      auto design = nlohmann::json::parse(m.parts.at("design"));
      design.erase(key);
      m.parts["design"] = design.dump();
    });
    EXPECT_FALSE(changed) << key;
  }
  EXPECT_FALSE(load_with([](BundleManifest& m) {
    auto design = nlohmann::json::parse(m.parts.at("design"));
    design["half_widths"][0] = -1;
    m.parts["design"] = design.dump();
  }));
}

}  // namespace
}  // namespace forerun
