#include "base/archive.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace forerun {
namespace {

// One member: a header block and the padded content.
std::string member(const std::string& name, const std::string& bytes, char type = '0') {
  std::string block(512, '\0');
  name.copy(block.data(), 100);
  std::snprintf(block.data() + 100, 8, "%07o", 0644U);
  std::snprintf(block.data() + 124, 12, "%011zo", bytes.size());
  block[156] = type;
  std::memcpy(block.data() + 257, "ustar\00000", 8);
  std::memset(block.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(block.data() + 148, 8, "%06o", sum);
  std::string padded = bytes;
  padded.resize((bytes.size() + 511) / 512 * 512);
  return block + padded;
}

class Tar : public ::testing::Test {
 protected:
  Result<std::vector<TarMember>> read(const std::string& archive, const TarLimits& limits = {}) {
    std::ofstream(path_, std::ios::binary) << archive;
    std::vector<TarMember> members;
    const Status status = visit_tar(
        path_,
        [&](TarMember member) {
          members.push_back(std::move(member));
          return ok();
        },
        limits);
    if (!status) return status.error();
    return members;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_ = ::testing::TempDir() + "tar_test_" + std::to_string(::getpid()) + ".tar";
};

TEST_F(Tar, ReadsFilesAndSkipsFolders) {
  const std::string long_name = std::string(150, 'd') + "/x.onnx";
  const std::string record = "path=pax.onnx\n";
  const auto members =
      read(member("./a.onnx", "hello") + member("folder/", "", '5') + member("b", std::string(1000, 'b')) +
           member("././@LongLink", long_name + std::string(1, '\0'), 'L') + member("cut", "1") +
           member("p", "17 " + record, 'x') + member("short", "2") + std::string(1024, '\0'));
  ASSERT_TRUE(members) << members.error().message;
  ASSERT_EQ(members->size(), 4U);
  EXPECT_EQ((*members)[0].name, "a.onnx");
  EXPECT_EQ((*members)[0].bytes, "hello");
  EXPECT_EQ((*members)[1].bytes, std::string(1000, 'b'));
  EXPECT_EQ((*members)[2].name, long_name);
  EXPECT_EQ((*members)[3].name, "pax.onnx");
}

TEST_F(Tar, RefusesDamageAndWhatIsTooLarge) {
  const std::string archive = member("a", std::string(2000, 'x'));
  EXPECT_FALSE(read(archive.substr(0, 1000)));
  EXPECT_FALSE(read(archive.substr(0, 100)));
  std::string damaged = archive;
  damaged[3] = 'z';
  EXPECT_FALSE(read(damaged));
  EXPECT_FALSE(read(member("whole", "content") + damaged)) << "damage after a sound member";
  const auto large = read(archive, {.member_bytes = 1000});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::TooLarge);
  const auto many = read(member("a", "1") + member("b", "2"), {.members = 1});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().kind, ErrorKind::TooLarge);
}

TEST_F(Tar, SkipsLinks) {
  const auto members =
      read(member("link", "", '2') + member("hard", "", '1') + member("a", "1") + std::string(1024, '\0'));
  ASSERT_TRUE(members) << members.error().message;
  ASSERT_EQ(members->size(), 1U);
  EXPECT_EQ((*members)[0].name, "a");
}

TEST_F(Tar, AHeaderWithATooLargeSizeDoesNotAllocateIt) {
  std::string archive = member("a", "");
  std::snprintf(archive.data() + 124, 12, "%011o", 0x0fffffffU);  // 256 MiB - 1, of which nothing follows
  std::memset(archive.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[i]);
  std::snprintf(archive.data() + 148, 8, "%06o", sum);
  EXPECT_FALSE(read(archive));
}

TEST(CompressedFile, ReadsXzAndRefusesATruncatedOne) {
  const std::string path = ::testing::TempDir() + "compressed_test.xz";
  const std::string command = "printf 'forerun %.0s' $(seq 20000) | xz -c > '" + path + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto text = read_compressed(path, 1 << 20);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->size(), 160'000U);
  EXPECT_FALSE(read_compressed(path, 1000));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
  EXPECT_FALSE(read_compressed(path, 1 << 20));
  std::filesystem::remove(path);
}

TEST(CompressedFile, ReadsConcatenatedGzipAndRefusesATruncatedOne) {
  const std::string path = ::testing::TempDir() + "compressed_test.gz";
  const std::string command = "(printf 'one ' | gzip; printf 'two' | gzip) > '" + path + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto text = read_compressed(path, 100);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "one two");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_FALSE(read_compressed(path, 100));
  std::filesystem::remove(path);
}

TEST(CompressedFile, AnEmptyFileIsEmpty) {
  const std::string path = ::testing::TempDir() + "compressed_empty";
  std::ofstream(path).close();
  const auto text = read_compressed(path, 100);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace forerun
