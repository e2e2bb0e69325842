// Uploads are private while they live and leave nothing behind.
#include "server/upload_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace forerun::server {
namespace {

namespace fs = std::filesystem;

class UploadFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    parent_ = fs::temp_directory_path() / ("forerun_upload_test_" + std::to_string(::getpid()));
    fs::create_directory(parent_);
    ::setenv("TMPDIR", parent_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    fs::remove_all(parent_);
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(parent_), fs::directory_iterator()));
  }
  fs::path parent_;
};

TEST_F(UploadFolderTest, KeepsEachFileAloneAndPrivate) {
  Result<UploadFolder> folder = UploadFolder::create();
  ASSERT_TRUE(folder);
  Result<UploadFile> first = folder->new_file("model.onnx");
  Result<UploadFile> second = folder->new_file("model.onnx");
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_TRUE(first->append("one"));
  ASSERT_TRUE(first->append(" two"));
  std::ifstream stream(first->path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "one two");
  EXPECT_NE(fs::path(first->path()).parent_path(), fs::path(second->path()).parent_path());
  struct stat facts {};
  ASSERT_EQ(::stat(folder->path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(first->path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST_F(UploadFolderTest, FilesAndFolderGoWithTheirValues) {
  {
    Result<UploadFolder> folder = UploadFolder::create();
    ASSERT_TRUE(folder);
    std::string path;
    {
      Result<UploadFile> file = folder->new_file("a");
      ASSERT_TRUE(file);
      path = file->path();
      EXPECT_TRUE(fs::exists(path));
    }
    EXPECT_FALSE(fs::exists(fs::path(path).parent_path().parent_path()));
    Result<UploadFile> left = folder->new_file("b");
    ASSERT_TRUE(left);
    EXPECT_EQ(entries(), 1U);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(UploadFolderTest, RemovesWhatAKilledProcessLeft) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Result<UploadFolder> folder = UploadFolder::create();
    Result<UploadFile> file = folder->new_file("secret.onnx");
    ::_exit(file ? 0 : 1);  // no destructor runs
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(entries(), 1U);
  const Result<UploadFolder> mine = UploadFolder::create();
  ASSERT_TRUE(mine);
  EXPECT_EQ(entries(), 1U) << "the abandoned one is gone, ours is there";
  const Result<UploadFolder> other = UploadFolder::create();
  ASSERT_TRUE(other);
  EXPECT_EQ(entries(), 2U) << "a living server's folder is left alone";
}

}  // namespace
}  // namespace forerun::server
