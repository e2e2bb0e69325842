#include "readers/keras/hdf5_attribute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.hpp"

namespace forerun {
namespace {

using testing::HasSubstr;

std::string number(std::uint64_t value, unsigned width) {
  std::string bytes;
  for (unsigned i = 0; i < width; ++i) bytes += char(value >> (8 * i) & 0xFF);
  return bytes;
}

// An attribute message of version 3 that holds a string of fixed length.
std::string fixed_text(const std::string& name, const std::string& text) {
  const std::string type = std::string("\x13\x00\x00\x00", 4) + number(text.size(), 4);
  const std::string space = std::string("\x02\x00\x00\x00", 4);
  return std::string("\x03\x00", 2) + number(name.size() + 1, 2) + number(type.size(), 2) + number(space.size(), 2) +
         std::string(1, '\0') + name + '\0' + type + space + text;
}

// A file of superblock version 2 whose root group's header holds `messages`, and `rest` behind it at byte 512.
std::string file_with(const std::string& messages, const std::string& rest = "") {
  std::string file = "\x89HDF\r\n\x1a\n";
  file += std::string("\x02\x08\x08\x00", 4) + number(0, 8) + number(~std::uint64_t{0}, 8) + number(4096, 8) +
          number(64, 8) + number(0, 4);
  file.resize(64, '\0');
  file += "OHDR" + std::string("\x02\x02", 2) + number(messages.size(), 4) + messages + number(0, 4);
  file.resize(std::max<std::size_t>(file.size(), 512), '\0');
  return file + rest;
}

std::string message(int type, const std::string& data) {
  return number(std::uint64_t(type), 1) + number(data.size(), 2) + '\0' + data;
}

TEST(ReadHdf5RootText, FindsAStringOfFixedLengthAmongOthers) {
  const std::string file =
      file_with(message(0x0C, fixed_text("backend", "jax")) + message(0x0C, fixed_text("model_config", "{}")));
  const auto text = read_hdf5_root_text(file, "model_config");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "{}");
  EXPECT_EQ(*read_hdf5_root_text(file, "keras_version"), std::nullopt);
}

TEST(ReadHdf5RootText, FollowsContinuationsOnce) {
  const std::string inner = message(0x0C, fixed_text("model_config", "far"));
  const std::string block = "OCHK" + inner + number(0, 4);
  const std::string to_block = message(0x10, number(512, 8) + number(block.size(), 8));
  EXPECT_EQ(*read_hdf5_root_text(file_with(to_block, block), "model_config"), "far");
  // A continuation that leads to itself ends.
  const std::string loop = "OCHK" + message(0x10, number(512, 8) + number(4 + 20 + 4, 8)) + number(0, 4);
  const auto endless =
      read_hdf5_root_text(file_with(message(0x10, number(512, 8) + number(loop.size(), 8)), loop), "x");
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error().message, HasSubstr("too many continuations"));
}

TEST(ReadHdf5RootText, RefusesDenseStorageByName) {
  const std::string info = std::string("\x00\x00", 2) + number(512, 8) + number(600, 8);
  const auto text = read_hdf5_root_text(file_with(message(0x15, info)), "model_config");
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("dense storage"));
}

TEST(ReadHdf5RootText, ReadsWhatKerasWrites) {
  for (const std::string name : {"shared.h5", "shared_latest.h5", "shared_userblock.h5"}) {
    const auto file = MappedFile::open(std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/keras/" + name);
    ASSERT_TRUE(file);
    EXPECT_TRUE(is_hdf5(file->bytes()));
    const auto config = read_hdf5_root_text(file->bytes(), "model_config");
    ASSERT_TRUE(config) << config.error().message;
    ASSERT_TRUE(*config);
    EXPECT_EQ((*config)->substr(0, 15), "{\"class_name\": ");
    EXPECT_EQ((*config)->back(), '}');
    EXPECT_EQ((*read_hdf5_root_text(file->bytes(), "keras_version"))->substr(0, 2), "3.");
  }
}

TEST(ReadHdf5RootText, RefusesSizesThatLeaveTheFile) {
  std::string file = file_with(message(0x0C, fixed_text("model_config", "{}")));
  file[70] = '\xff';  // the size of the root group's header
  file[71] = '\xff';
  EXPECT_FALSE(read_hdf5_root_text(file, "model_config"));
  EXPECT_FALSE(is_hdf5("not HDF5"));
  EXPECT_FALSE(read_hdf5_root_text("not HDF5", "model_config"));
}

}  // namespace
}  // namespace forerun
