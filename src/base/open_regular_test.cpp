#include "base/open_regular.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/mapped_file.hpp"
#include "base/text_file.hpp"

namespace forerun {
namespace {

TEST(OpenRegular, OpensFiles) {
  const std::string path = testing::TempDir() + "/open_regular_file";
  std::ofstream(path) << "x";
  const Result<int> file = open_regular(path);
  ASSERT_TRUE(file) << file.error().message;
  ::close(*file);
  std::remove(path.c_str());
  EXPECT_EQ(open_regular(path).error().kind, ErrorKind::NotFound);
}

TEST(OpenRegular, RefusesAPipeAtOnceInsteadOfWaitingForAWriter) {
  const std::string path = testing::TempDir() + "/open_regular_pipe";
  std::remove(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(open_regular(path).error().message, path + ": not a regular file");
  EXPECT_FALSE(MappedFile::open(path));
  EXPECT_FALSE(read_text_file(path));
  std::remove(path.c_str());
}

TEST(OpenRegular, RefusesFoldersAndDevices) {
  for (const char* path : {"/dev/null", "/dev/zero", "/tmp"}) {
    EXPECT_EQ(open_regular(path).error().kind, ErrorKind::BadInput) << path;
  }
}

}  // namespace
}  // namespace forerun
