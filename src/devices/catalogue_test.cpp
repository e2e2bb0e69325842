#include "devices/catalogue.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

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

// The shipped t4 with one text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text(*shipped_device_json("t4"));
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string problem_of(const std::string& text) {
  const auto device = parse_device(text, "x.json");
  return device ? "" : device.error().message;
}

TEST(DeviceFile, HoldsEveryFigureToItsRange) {
  ASSERT_EQ(problem_of(changed("{", "{")), "");
  for (const char* value : {"1e300", "1e9", "0.5", "1.5", "-4", "0", "null", "\"40\"", "true", "[40]"}) {
    EXPECT_NE(problem_of(changed("\"sm_count\": 40", std::string("\"sm_count\": ") + value)), "") << value;
  }
  EXPECT_EQ(problem_of(changed("\"sm_count\": 40", "\"sm_count\": 1e300")),
            "x.json: 'sm_count' is 1e+300: it must lie in 1 … 100000");
  EXPECT_EQ(problem_of(changed("\"sm_count\": 40", "\"sm_count\": 0.5")),
            "x.json: 'sm_count' is 0.5: it must lie in 1 … 100000");
  for (const char* figure : {"memory_bandwidth_gb_per_s", "memory_gib", "power_limit_w", "l2_mib", "clock_boost_mhz",
                             "year", "fp32", "registers_per_sm", "max_threads_per_block", "pcie_gb_per_s"}) {
    std::string text(*shipped_device_json("t4"));
    const std::size_t at = text.find("\"" + std::string(figure) + "\":");
    ASSERT_NE(at, std::string::npos) << figure;
    const std::size_t start = text.find(':', at) + 1;
    const std::size_t end = text.find_first_of(",}\n", start);
    for (const char* value : {" 1e-300", " 1e300", " 1e18"}) {
      EXPECT_NE(problem_of(std::string(text).replace(start, end - start, value)).find(figure), std::string::npos)
          << figure << value;
    }
  }
}

TEST(DeviceFile, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(problem_of(changed("\"sm_count\":", "\"sm_cuont\": 3, \"sm_count\":")), "x.json: unknown key 'sm_cuont'");
  EXPECT_EQ(problem_of(changed("\"kind\": \"gpu\"", "\"kind\": \"toaster\"")),
            "x.json: 'kind' is 'toaster': it must be gpu, cpu or accelerator");
  EXPECT_NE(problem_of(changed("\"fp32\":", "\"nosuch\": 5, \"fp32\":")).find("'peak_tflops.nosuch'"),
            std::string::npos);
  EXPECT_NE(problem_of(changed("\"7.5\"", "\"abc\"")).find("compute_capability"), std::string::npos);
  EXPECT_NE(problem_of(changed("\"7.5\"", "7.5")).find("compute_capability"), std::string::npos);
  EXPECT_EQ(problem_of(changed("\"sm_count\": 40", "\"sm_count\": 40, \"sm_count\": 41")),
            "x.json: the key 'sm_count' stands twice");
  EXPECT_NE(problem_of(changed("\"aliases\": [", "\"aliases\": [3, ")).find("aliases"), std::string::npos);
  EXPECT_NE(problem_of(changed("\"sm_count\": 40", "\"mig\": {}, \"sm_count\": 40")).find("'mig' must be a list"),
            std::string::npos);
  EXPECT_NE(problem_of(changed("\"sm_count\": 40", "\"measured\": {\"date\": \"x\", \"l3\": 1}, \"sm_count\": 40"))
                .find("measured: unknown key 'l3'"),
            std::string::npos);
  EXPECT_NE(problem_of(std::string(2 << 20, ' ')), "");
  EXPECT_NE(problem_of(std::string(100'000, '[')), "");
}

// A configuration folder of its own while it lives.
class OwnFolder {
 public:
  OwnFolder() : path_(testing::TempDir() + "/own_config_" + std::to_string(::getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(devices());
    if (const char* before = std::getenv("XDG_CONFIG_HOME")) before_ = before;
    ::setenv("XDG_CONFIG_HOME", path_.c_str(), 1);
  }
  ~OwnFolder() {
    before_ ? ::setenv("XDG_CONFIG_HOME", before_->c_str(), 1) : ::unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(path_);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  [[nodiscard]] std::string devices() const { return path_ + "/forerun/devices"; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(devices() + "/" + name) << text; }

 private:
  std::string path_;
  std::optional<std::string> before_;
};

TEST(UsersDeviceFolder, WarnsOfAFileThatCannotBeUsedAndGoesOn) {
  const OwnFolder folder;
  folder.write("broken.json", "{");
  folder.write("mine.json", changed("\"t4\"", "\"t4-mine\""));
  ASSERT_EQ(::mkfifo((folder.devices() + "/pipe.json").c_str(), 0600), 0);
  const auto loaded = Catalogue::load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->find("t4-mine"));
  ASSERT_EQ(loaded->problems().size(), 2U);
  EXPECT_EQ(loaded->problems()[0], "a device file is left out: broken.json of your device folder: not a JSON object");
  EXPECT_EQ(loaded->problems()[1], "a device file is left out: pipe.json of your device folder: cannot be read");
  EXPECT_NE(loaded->find("nosuch").error().message.find("broken.json"), std::string::npos);
}

TEST(UsersDeviceFolder, SaysWhereAFileStandsInForAShippedDevice) {
  const OwnFolder folder;
  folder.write("t4.json", changed("\"sm_count\": 40", "\"sm_count\": 44"));
  const auto loaded = Catalogue::load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->problems().empty());
  EXPECT_EQ(loaded->find("t4")->sm_count, 44);
  ASSERT_TRUE(loaded->note_of(*loaded->find("t4")));
  EXPECT_NE(loaded->note_of(*loaded->find("t4"))->find("stands in for the shipped one"), std::string::npos);
  EXPECT_FALSE(loaded->note_of(*loaded->find("l4")));
}

TEST(Catalogue, AnswersALongUnknownNameAtOnce) {
  const auto device = catalogue().find(std::string(4 << 20, 'x'));
  ASSERT_FALSE(device);
  EXPECT_LT(device.error().message.size(), 200U);
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

TEST(Catalogue, AMigSliceIsWrittenWithItsShareOfTheDevice) {
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
