#include "devices/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace forerun {
namespace {

const Catalogue& catalogue() {
  static const Catalogue kCatalogue = [] {
    auto loaded = Catalogue::load();
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return std::move(loaded).value();
  }();
  return kCatalogue;
}

TEST(Catalogue, HoldsAtLeastFortyFiveDevicesSortedById) {
  EXPECT_GE(catalogue().devices().size(), 45u);
  EXPECT_TRUE(std::is_sorted(catalogue().devices().begin(), catalogue().devices().end(),
                             [](const Device& a, const Device& b) { return a.id < b.id; }));
}

TEST(Catalogue, FindsTheContractsIds) {
  for (const char* id : {"p4",
                         "p100",
                         "t4",
                         "l4",
                         "l40s",
                         "a10",
                         "a30",
                         "a40",
                         "v100-sxm-16gb",
                         "v100-pcie-32gb",
                         "a100-pcie-40gb",
                         "a100-sxm-40gb",
                         "a100-pcie-80gb",
                         "a100-sxm-80gb",
                         "h100-pcie",
                         "h100-sxm",
                         "h200-sxm",
                         "b200",
                         "rtx-3090",
                         "rtx-4090",
                         "rtx-5090",
                         "mi210",
                         "mi250",
                         "mi300x"}) {
    const auto device = catalogue().find(id);
    ASSERT_TRUE(device) << id;
    EXPECT_EQ(device->id, id);
  }
}

TEST(Catalogue, ResolvesRuntimeNamesWhateverTheirSpelling) {
  for (const char* name : {"NVIDIA A100-SXM4-40GB", "nvidia a100 sxm4 40gb", "NVIDIA-A100-SXM4-40GB"}) {
    const auto device = catalogue().find(name);
    ASSERT_TRUE(device) << name << ": " << device.error().message;
    EXPECT_EQ(device->id, "a100-sxm-40gb");
  }
}

TEST(Catalogue, ListsTheCandidatesOfAnAmbiguousName) {
  const auto device = catalogue().find("A100");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::BadInput);
  EXPECT_NE(device.error().message.find("a100-sxm-80gb"), std::string::npos);
  EXPECT_NE(device.error().message.find("a100-pcie-40gb"), std::string::npos);
}

TEST(Catalogue, NamesTheNearestDevicesOfAnUnknownName) {
  const auto device = catalogue().find("h20");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::NotFound);
  EXPECT_NE(device.error().message.find("nearest"), std::string::npos);
}

TEST(Catalogue, GivesAMigSliceItsShare) {
  const auto card = catalogue().find("a100-sxm-40gb");
  const auto slice = catalogue().find("a100-sxm-40gb:1g.5gb");
  ASSERT_TRUE(card);
  ASSERT_TRUE(slice) << slice.error().message;
  EXPECT_EQ(slice->sm_count, 14);
  EXPECT_NEAR(slice->memory_bandwidth_gb_per_s, card->memory_bandwidth_gb_per_s / 8, 1);
  EXPECT_LT(slice->peak_tflops.at("fp16_tensor"), card->peak_tflops.at("fp16_tensor") / 7);
  EXPECT_FALSE(catalogue().find("a100-sxm-40gb:9g.5gb"));
  EXPECT_FALSE(catalogue().find("t4:1g.5gb"));
}

TEST(DeviceFile, NamesTheFileAndTheKeyThatIsWrong) {
  const auto device =
      parse_device(R"({"id": "x", "name": "X", "sm_count": 4, "peak_tflops": {"fp32": 1}, "memory_gib": -1,
      "memory_bandwidth_gb_per_s": 10, "power_limit_w": 5})",
                   "x.json");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "x.json: 'memory_gib' must be a positive number");
  EXPECT_FALSE(parse_device("[]", "y.json"));
  EXPECT_FALSE(parse_device("{", "z.json"));
}

TEST(DeviceFile, OfTheUserIsAddedOrReplacesOne) {
  Catalogue own = catalogue();
  const std::string path = testing::TempDir() + "/own-device.json";
  std::ofstream(path) << R"({"id": "my-gpu", "name": "Mine", "sm_count": 4, "peak_tflops": {"fp32": 1}, "memory_gib": 8,
      "memory_bandwidth_gb_per_s": 100, "power_limit_w": 50})";
  ASSERT_TRUE(own.add_file(path));
  EXPECT_TRUE(own.find("My GPU"));
  EXPECT_FALSE(own.add_file(path + ".missing"));
  std::remove(path.c_str());
}

TEST(Catalogue, DescribesEveryDeviceSoThatItReadsBackTheSame) {
  for (const Device& device : catalogue().devices()) {
    const auto again = parse_device(catalogue().describe(device), device.id);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->id, device.id);
    EXPECT_EQ(again->peak_tflops, device.peak_tflops);
    EXPECT_EQ(again->mig.size(), device.mig.size());
    EXPECT_EQ(again->measured.has_value(), device.measured.has_value());
    EXPECT_EQ(catalogue().describe(device).find('\n'), std::string::npos);
  }
}

TEST(Catalogue, DescribesASliceByItsShare) {
  const auto slice = catalogue().find("h200-sxm:1g.18gb");
  ASSERT_TRUE(slice);
  const auto again = parse_device(catalogue().describe(*slice), "slice");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->id, "h200-sxm:1g.18gb");
  EXPECT_EQ(again->sm_count, 16);
  EXPECT_EQ(again->memory_gib, 16);
  EXPECT_DOUBLE_EQ(again->peak_tflops.at("fp32"), slice->peak_tflops.at("fp32"));
  EXPECT_TRUE(again->mig.empty());
}

TEST(Catalogue, DescribesAnAddedDeviceByItsFile) {
  const std::string path = testing::TempDir() + "/forerun_own_device.json";
  std::string text(*shipped_device_json("t4"));
  text.replace(text.find("\"t4\""), 4, "\"t4-mine\"");
  std::ofstream(path) << text;
  Catalogue extended = catalogue();
  const Status added = extended.add_file(path);
  ASSERT_TRUE(added) << added.error().message;
  std::remove(path.c_str());
  EXPECT_NE(extended.describe(*extended.find("t4-mine")).find("\"id\":\"t4-mine\""), std::string::npos);
}

}  // namespace
}  // namespace forerun
