#include "readers/onnx/external_data.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

namespace forerun::onnx {
namespace {

namespace fs = std::filesystem;

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("forerun_external_" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "model" / "sub");
    std::ofstream(folder_ / "secret.bin") << "0123456789";
    std::ofstream(folder_ / "model" / "weights.bin") << "0123456789";
    std::ofstream(folder_ / "model" / "sub" / "more.bin") << "abcdef";
  }
  void TearDown() override { fs::remove_all(folder_); }
  ExternalData data() const { return ExternalData(folder_ / "model"); }
  fs::path folder_;
};

std::string message(const Status& status) { return status ? "accepted" : status.error().message; }

TEST_F(ExternalDataTest, ReadsARangeOfAFileInTheFolder) {
  ExternalData external = data();
  const ExternalRange range{.location = "weights.bin", .offset = 3, .length = 4};
  ASSERT_TRUE(external.check(range, 4));
  EXPECT_EQ(*external.read(range, 4), "3456");
  EXPECT_TRUE(external.check({.location = "sub/more.bin", .offset = 0, .length = std::nullopt}, 6));
}

TEST_F(ExternalDataTest, RefusesPathsThatLeaveTheFolder) {
  for (const char* location : {"../secret.bin", "sub/../../secret.bin", "/etc/hostname", "", "..\\secret.bin"}) {
    ExternalData external = data();
    EXPECT_NE(message(external.check({.location = location, .offset = 0, .length = 1}, 1)).find("outside"),
              std::string::npos)
        << location;
  }
}

TEST_F(ExternalDataTest, RefusesSymbolicLinksThatLeaveTheFolder) {
  fs::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  fs::create_symlink(folder_ / "model" / "weights.bin", folder_ / "model" / "inside.bin");
  ExternalData external = data();
  EXPECT_NE(message(external.check({.location = "link.bin", .offset = 0, .length = 1}, 1)).find("outside"),
            std::string::npos);
  EXPECT_TRUE(external.check({.location = "inside.bin", .offset = 0, .length = 1}, 1));
}

TEST_F(ExternalDataTest, RefusesRangesOutsideTheFile) {
  ExternalData external = data();
  EXPECT_FALSE(external.check({.location = "weights.bin", .offset = 8, .length = 4}, 4));
  EXPECT_FALSE(external.check({.location = "weights.bin", .offset = 11, .length = 0}, 0));
  EXPECT_FALSE(external.check({.location = "weights.bin", .offset = -1, .length = 4}, 4));
  EXPECT_FALSE(external.check({.location = "weights.bin", .offset = 1, .length = INT64_MAX}, 4));
  EXPECT_FALSE(external.check({.location = "weights.bin", .offset = 0, .length = 3}, 4))
      << "less than the tensor needs";
  EXPECT_NE(message(external.check({.location = "none.bin", .offset = 0, .length = 1}, 1)).find("no such file"),
            std::string::npos);
}

TEST_F(ExternalDataTest, WithoutAFolderOnlyTheLocationIsChecked) {
  ExternalData external{fs::path{}};
  EXPECT_TRUE(external.check({.location = "none.bin", .offset = 0, .length = 1}, 1));
  EXPECT_FALSE(external.check({.location = "../none.bin", .offset = 0, .length = 1}, 1));
}

}  // namespace
}  // namespace forerun::onnx
