#include "base/folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "in" / "sub");
    std::ofstream(folder_ / "in" / "a.txt") << "hello";
    std::ofstream(folder_ / "in" / "sub" / "large") << std::string(18 << 20, 'x') << "end";
    std::ofstream(folder_ / "secret") << "secret";
  }
  void TearDown() override { fs::remove_all(folder_); }
  // `command` packs the folder "in" into a file; the file's bytes stay mapped.
  Result<std::shared_ptr<ArchiveFiles>> packed(const std::string& command, const ArchiveLimits& limits = {}) {
    const std::string file = (folder_ / "packed").string();
    EXPECT_EQ(std::system(("cd '" + folder_.string() + "' && " + command).c_str()), 0);
    FORERUN_TRY(MappedFile mapped, MappedFile::open(file));
    mapped_ = std::make_unique<MappedFile>(std::move(mapped));
    return open_archive(mapped_->bytes(), "packed", limits);
  }
  fs::path folder_ = fs::path(::testing::TempDir()) / ("folder_test_" + std::to_string(::getpid()));
  std::unique_ptr<MappedFile> mapped_;
};

constexpr const char* kPack[] = {
    "tar cf packed in",
    "tar czf packed in",
    "tar cJf packed in",
    "tar cjf packed in",
    "python3 -m zipfile -c packed.zip in && mv packed.zip packed",
};

TEST_F(FolderTest, ArchivesAndTheFolderOnDiskHoldTheSame) {
  for (const char* command : kPack) {
    const auto files = packed(command, {.ratio = 10'000'000});
    ASSERT_TRUE(files) << files.error().message;
    for (const Folder& folder : {Folder(*files, "packed").below("in"), Folder(folder_ / "in")}) {
      const auto list = folder.list();
      ASSERT_TRUE(list);
      ASSERT_EQ(list->size(), 2U) << command;
      EXPECT_EQ((*list)[0].name, "a.txt");
      EXPECT_EQ((*list)[1].name, "sub/large");
      EXPECT_EQ((*list)[1].size, (18U << 20) + 3);
      EXPECT_EQ(folder.list_here().size(), 1U);
      ASSERT_TRUE(folder.open("a.txt")) << command << ": " << folder.open("a.txt").error().message;
      EXPECT_EQ(folder.open("a.txt")->view(), "hello");
      EXPECT_EQ(folder.head("a.txt", 2)->view(), "he");
      const auto start = folder.head("sub/large", 17 << 20);
      ASSERT_TRUE(start) << command << ": " << start.error().message;
      EXPECT_EQ(start->view().size(), 17U << 20);
      const auto large = folder.open("sub/large");
      ASSERT_TRUE(large) << command << ": " << large.error().message;
      EXPECT_TRUE(large->view().ends_with("xend"));
      EXPECT_FALSE(folder.has("none"));
      EXPECT_FALSE(folder.open("none"));
      EXPECT_EQ(folder.below("sub").size_of("large"), (18U << 20) + 3);
    }
  }
}

TEST_F(FolderTest, NamesThatLeaveItAreNotHeld) {
  fs::create_symlink(folder_ / "secret", folder_ / "in" / "link");
  const Folder folder(folder_ / "in");
  EXPECT_TRUE(folder.holds("a.txt"));
  EXPECT_TRUE(folder.holds("sub/large"));
  for (const char* name : {"../secret", "/etc/passwd", "", "sub/../../secret", "link", "..\\secret"})
    EXPECT_FALSE(folder.holds(name)) << name;
}

TEST_F(FolderTest, CompressedArchivesKeepTheirLimits) {
  const auto ratio = packed("tar czf packed in", {.ratio_from = 1 << 20});
  ASSERT_FALSE(ratio);
  EXPECT_NE(ratio.error().message.find("more than 400 times its size"), std::string::npos) << ratio.error().message;
  const auto total = packed("tar czf packed in", {.unpacked_bytes = 10 << 20});
  ASSERT_FALSE(total);
  EXPECT_NE(total.error().message.find("more than 10 MiB"), std::string::npos) << total.error().message;
  const auto entries = packed("tar cf packed in", {.entries = 2});
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().kind, ErrorKind::TooLarge);
  EXPECT_FALSE(packed("tar cf packed in", {.name_bytes = 4}));
}

TEST_F(FolderTest, ACutArchiveIsAnError) {
  for (const char* command : kPack) {
    (void)packed(command, {.ratio = 10'000'000});
    const std::string_view whole = mapped_->bytes();
    for (const std::size_t part : {1, 2, 3}) {
      const auto files = open_archive(whole.substr(0, whole.size() * part / 4), "cut", {.ratio = 10'000'000});
      EXPECT_FALSE(files) << command << " at " << part << "/4";
    }
  }
}

TEST_F(FolderTest, WithoutAFolderNothingIsThere) {
  const Folder none;
  EXPECT_FALSE(none.available());
  EXPECT_FALSE(none.has("a.txt"));
}

}  // namespace
}  // namespace forerun
