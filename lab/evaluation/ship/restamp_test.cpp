#include "evaluation/ship/restamp.hpp"

#include <gtest/gtest.h>

#include "base/text_file.hpp"
#include "predictors/trees/tree_schemas.hpp"

namespace forerun {
namespace {

const std::string kShipped = FORERUN_SOURCE_DIR "/bundles/";

TEST(Restamp, GivesABundleOfTheseFeaturesBackToTheByte) {
  for (const char* name : {"trees.bundle", "gnn-kernels.bundle"}) {
    const auto bytes = restamp(Bundle::open(kShipped + name).value());
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(*bytes == read_text_file(kShipped + name).value()) << name;
  }
}

TEST(Restamp, RefusesAKindOrAVersionThatThisProgramLacks) {
  BundleManifest manifest = {.name = "x", .kind = "other", .metrics = {}, .schema = {}, .parts = {{"trees", "{}"}}};
  const auto refusal = [&] {
    const std::string bytes = BundleWriter(manifest).bytes().value();
    const auto stamped = restamp(Bundle::from_bytes(bytes, "x.bundle").value());
    return stamped ? "" : stamped.error().message;
  };
  EXPECT_NE(refusal().find("'other'"), std::string::npos);
  manifest.kind = "trees";
  manifest.schema = tree_schema();
  EXPECT_EQ(refusal(), "");
  ++manifest.schema.version;
  EXPECT_NE(refusal().find("train it again"), std::string::npos);
}

}  // namespace
}  // namespace forerun
