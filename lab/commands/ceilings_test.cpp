#include "commands/ceilings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "commands/characterization_files.hpp"
#include "commands/plots.hpp"
#include "devices/catalogue.hpp"

namespace forerun {
namespace {

using ::testing::HasSubstr;

// A made-up GPU with round figures: L2 of 40 MB at 5000 GB/s, memory at 2000 GB/s.
Characterization made_up() {
  Characterization result;
  result.device_name = "Made Up 1";
  result.driver = "1.2";
  result.date = "2026-11-15";
  result.multiprocessors = 100;
  result.l2_bytes = 40e6;
  result.memory_bytes = 80.0 * (1 << 30);
  result.plain_tflops = {{"fp32", 20}, {"fp64", 10}};
  result.gemms = {
      {"fp16_tensor", 1024, 150}, {"fp16_tensor", 8192, 300}, {"fp16_tensor", 16384, 290}, {"fp32", 8192, 18}};
  result.shared_sweep = {{1e6, 4000},   {8e6, 5000},   {16e6, 4900},  {39e6, 9999},
                         {100e6, 3000}, {400e6, 2000}, {800e6, 1980}, {1600e6, 1990}};
  result.private_sweep = {{16384, 15000}, {131072, 16000}, {524288, 4000}};
  result.copy_gb_per_s = 1900;
  result.kernel_launch_us = 2.5;
  result.idle_power_w = 50;
  result.idle_context_power_w = 75;
  result.loaded_power_w = 390;
  return result;
}

TEST(Ceilings, ComeFromTheSweepsPlateaus) {
  const MeasuredCeilings ceilings = ceilings_of(made_up());
  EXPECT_EQ(ceilings.peak_tflops, (std::map<std::string, double>{{"fp16_tensor", 300}, {"fp32", 20}, {"fp64", 10}}));
  EXPECT_EQ(ceilings.memory_bandwidth_gb_per_s, 1990) << "the median far beyond L2, not what L2 still serves";
  EXPECT_EQ(ceilings.l2_bandwidth_gb_per_s, 4950) << "sets near L2's size, and far below it, are not counted";
  EXPECT_EQ(ceilings.l1_bandwidth_gb_per_s, 15500) << "the median of the fastest stretch";
  EXPECT_EQ(ceilings.idle_power_w, 75);
  EXPECT_EQ(ceilings.loaded_power_w, 390);
  EXPECT_EQ(ceilings.graph_kernel_us, std::nullopt) << "what was not measured is absent";
  EXPECT_EQ(ceilings_of({}).memory_bandwidth_gb_per_s, std::nullopt);
}

TEST(Ceilings, JoinTheCataloguesFile) {
  const std::string_view* shipped = shipped_device_json("h200-sxm");
  ASSERT_NE(shipped, nullptr);
  const auto file = device_file_with(made_up(), std::string(*shipped), "h200-sxm");
  ASSERT_TRUE(file) << file.error().message;
  const auto device = parse_device(*file, "test");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->memory_bandwidth_gb_per_s, 4800) << "the data sheet's figures stay";
  ASSERT_TRUE(device->measured);
  EXPECT_EQ(device->measured->memory_bandwidth_gb_per_s, 1990);
  EXPECT_EQ(device->measured->peak_tflops.at("fp16_tensor"), 300);
}

TEST(Ceilings, MakeAFileForAnUnknownDevice) {
  const auto file = device_file_with(made_up(), "", "made-up-1");
  ASSERT_TRUE(file) << file.error().message;
  const auto device = parse_device(*file, "test");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->memory_gib, 80);
  EXPECT_THAT(device->sources.at("default"), HasSubstr("no data sheet"));
  EXPECT_FALSE(device_file_with({}, "", "nothing"));
}

TEST(Characterization, WritesWhatItReads) {
  const std::string folder = ::testing::TempDir() + "characterization_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const Characterization before = made_up();
  ASSERT_TRUE(write_characterization(before, folder));
  const auto after = read_characterization(folder);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->device_name, before.device_name);
  EXPECT_EQ(after->multiprocessors, 100);
  EXPECT_EQ(after->plain_tflops, before.plain_tflops);
  EXPECT_EQ(after->memory_bytes, before.memory_bytes);
  ASSERT_EQ(after->shared_sweep.size(), before.shared_sweep.size());
  EXPECT_EQ(after->gemms[1].tflops, 300);
  EXPECT_EQ(ceilings_of(*after).memory_bandwidth_gb_per_s, 1990);
  ASSERT_TRUE(write_text_file(folder + "/shared_sweep.csv", "working_set_bytes,gb_per_s\nx,1\n"));
  EXPECT_THAT(read_characterization(folder).error().message, HasSubstr("line 2"));
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(write_text_file("/nonexistent/x", "text"));
}

// A limit on the size of files stands for the end of the disk.
TEST(Characterization, AFullDiskIsNamedAndLeavesNoHalfFile) {
  const std::string folder = ::testing::TempDir() + "characterization_full_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    const struct rlimit limit { 64, 64 };
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto status = write_characterization(made_up(), folder);
    ::_exit(!status && status.error().message.find("scalars.csv: cannot write") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(Plots, AreDrawnInsideTheirFrame) {
  const auto device = parse_device(*shipped_device_json("h200-sxm"), "test");
  ASSERT_TRUE(device);
  for (const std::string& svg :
       {bandwidth_svg(made_up()), roofline_svg(made_up(), *device), roofline_svg(made_up(), std::nullopt)}) {
    EXPECT_THAT(svg, ::testing::StartsWith("<svg"));
    EXPECT_THAT(svg, ::testing::EndsWith("</svg>\n"));
    EXPECT_THAT(svg, ::testing::Not(HasSubstr("nan")));
    EXPECT_THAT(svg, ::testing::Not(HasSubstr("inf")));
    EXPECT_THAT(svg, HasSubstr("Made Up 1"));
  }
  EXPECT_THAT(roofline_svg(made_up(), std::nullopt), HasSubstr("fp16_tensor: 300 TFLOP/s"));
  EXPECT_THAT(bandwidth_svg({}), ::testing::Not(HasSubstr("nan"))) << "nothing measured is an empty picture";
}

}  // namespace
}  // namespace forerun
