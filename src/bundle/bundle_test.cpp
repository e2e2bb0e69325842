// Bundles are read back as written; damaged ones are refused.
#include "bundle/bundle.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bundle/layout.hpp"

namespace forerun {
namespace {

BundleManifest sample_manifest() {
  return {.name = "sample",
          .kind = "gnn",
          .metrics = {"latency_ms", "memory_mb"},
          .schema = {"gnn-nodes", 3, 0xfedcba9876543210ULL},
          .parts = {{"conformal", "{\"a\":[1,2]}"}}};
}

std::string sample_bytes() {
  BundleWriter writer(sample_manifest());
  EXPECT_TRUE(writer.add_section("weights", std::string(1000, 'w')));
  EXPECT_TRUE(writer.add_section("empty", ""));
  EXPECT_TRUE(writer.add_section("tail", "tail"));
  auto bytes = writer.bytes();
  EXPECT_TRUE(bytes);
  return *bytes;
}

std::string refusal_of(std::string_view bytes) {
  const auto bundle = Bundle::from_bytes(bytes, "x.bundle");
  return bundle ? "" : bundle.error().message;
}

TEST(Bundle, GivesBackWhatWasWritten) {
  const std::string bytes = sample_bytes();
  const auto bundle = Bundle::from_bytes(bytes, "x.bundle");
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->manifest().name, "sample");
  EXPECT_EQ(bundle->manifest().metrics, (std::vector<std::string>{"latency_ms", "memory_mb"}));
  EXPECT_EQ(bundle->manifest().schema, sample_manifest().schema);
  EXPECT_EQ(*bundle->part("conformal"), "{\"a\":[1,2]}");
  EXPECT_EQ(*bundle->section("weights"), std::string(1000, 'w'));
  EXPECT_EQ(bundle->section("weights")->data() - bytes.data(),
            (bundle->section("weights")->data() - bytes.data()) / 64 * 64);
  EXPECT_EQ(*bundle->section("empty"), "");
  EXPECT_EQ(*bundle->section("tail"), "tail");
  EXPECT_FALSE(bundle->section("other"));
  EXPECT_FALSE(bundle->part("other"));
}

TEST(Bundle, RefusesEveryTruncationWithOneLine) {
  const std::string bytes = sample_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = refusal_of(std::string_view(bytes).substr(0, size));
    ASSERT_NE(message, "") << size;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Bundle, RefusesEveryChangedByteOutsideOfPadding) {
  const std::string bytes = sample_bytes();
  const auto bundle = Bundle::from_bytes(bytes, "x.bundle");
  const std::size_t manifest_end =
      static_cast<std::size_t>(bundle->manifest_text().data() - bytes.data()) + bundle->manifest_text().size();
  for (std::size_t at = 0; at < manifest_end; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x21);
    EXPECT_NE(refusal_of(changed), "") << at;
  }
  std::string changed = bytes;
  changed.back() = 'L';
  EXPECT_NE(refusal_of(changed).find("section 2"), std::string::npos);
}

TEST(Bundle, RefusesBytesAfterTheLastSection) { EXPECT_NE(refusal_of(sample_bytes() + "x"), ""); }

TEST(Bundle, RefusesASchemaThatDiffersAndSaysBoth) {
  const std::string bytes = sample_bytes();
  const auto bundle = Bundle::from_bytes(bytes, "x.bundle");
  EXPECT_TRUE(bundle->check_schema({"gnn-nodes", 3, 0xfedcba9876543210ULL}));
  const auto status = bundle->check_schema({"gnn-nodes", 4, 1});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("version 3"), std::string::npos);
  EXPECT_NE(status.error().message.find("version 4"), std::string::npos);
}

TEST(Bundle, RefusesAManifestThatNestsWithoutEnd) {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  BundleManifest manifest = sample_manifest();
  manifest.parts["deep"] = deep;
  EXPECT_FALSE(BundleWriter(manifest).bytes());
  // A bundle of another program: replaces text by one of the same length and repairs the checksums.
  manifest.parts["deep"] = '"' + std::string(deep.size() - 2, 'x') + '"';
  std::string bytes = *BundleWriter(manifest).bytes();
  const std::string_view text = Bundle::from_bytes(bytes, "x.bundle")->manifest_text();
  const auto manifest_at = static_cast<std::size_t>(text.data() - bytes.data());
  bytes.replace(bytes.find(manifest.parts["deep"]), deep.size(), deep);
  const auto put = [&bytes](std::size_t at, std::uint32_t checksum) {
    std::memcpy(bytes.data() + at, &checksum, sizeof checksum);
  };
  put(kManifestChecksumAt, bundle_checksum(std::string_view(bytes).substr(manifest_at, text.size()), 0));
  const std::string_view head = bytes;
  put(kHeadChecksumAt, bundle_checksum(head.substr(kBundleHeaderBytes, manifest_at - kBundleHeaderBytes),
                                       bundle_checksum(head.substr(0, kHeadChecksumAt), 0)));
  EXPECT_NE(refusal_of(bytes).find("nests"), std::string::npos) << refusal_of(bytes);
}

TEST(BundleWriter, WritesAFileThatOpensAndLeavesNoOther) {
  const auto folder = std::filesystem::temp_directory_path() / "forerun_bundle_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  BundleWriter writer(sample_manifest());
  ASSERT_TRUE(writer.add_section("weights", "0123"));
  ASSERT_TRUE(writer.write(folder / "a.bundle"));
  ASSERT_TRUE(writer.write(folder / "a.bundle"));
  const auto bundle = Bundle::open(folder / "a.bundle");
  ASSERT_TRUE(bundle) << bundle.error().message;
  const Bundle copy = *bundle;
  EXPECT_EQ(*copy.section("weights"), "0123");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.section("weights")->data()) % kBundleAlignment, 0u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_FALSE(writer.write(folder / "none" / "a.bundle"));
}

TEST(BundleWriter, RefusesNamesThatAreEmptyLongOrUsedTwice) {
  BundleWriter writer(sample_manifest());
  EXPECT_FALSE(writer.add_section("", "x"));
  EXPECT_FALSE(writer.add_section(std::string(kMaxSectionName + 1, 'n'), "x"));
  EXPECT_TRUE(writer.add_section(std::string(kMaxSectionName, 'n'), "x"));
  EXPECT_FALSE(writer.add_section(std::string(kMaxSectionName, 'n'), "x"));
  BundleManifest manifest = sample_manifest();
  manifest.parts["bad"] = "{";
  EXPECT_FALSE(BundleWriter(manifest).bytes());
}

}  // namespace
}  // namespace forerun
