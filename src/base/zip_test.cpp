#include "base/zip.hpp"

#include <gtest/gtest.h>

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forerun {
namespace {

void append(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

std::string deflated(const std::string& text) {
  std::string packed(compressBound(text.size()) + 16, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct Member {
  std::string name;
  std::string text;
  bool deflate = false;
  bool wide = false;  // sizes in a zip64 record
};

std::string zip_of(const std::vector<Member>& members) {
  std::string bytes;
  std::string directory;
  for (const Member& member : members) {
    const std::string packed = member.deflate ? deflated(member.text) : member.text;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(member.text.data()), member.text.size());
    const std::size_t header = bytes.size();
    const std::uint64_t packed_size = member.wide ? 0xffffffff : packed.size();
    const std::uint64_t size = member.wide ? 0xffffffff : member.text.size();
    const std::uint64_t method = member.deflate ? 8 : 0;
    const auto common = [&](std::string& to) {
      append(to, 20, 2);
      append(to, 0, 2);
      append(to, method, 2);
      append(to, 0, 4);
      append(to, crc, 4);
      append(to, packed_size, 4);
      append(to, size, 4);
      append(to, member.name.size(), 2);
      append(to, member.wide ? 20 : 0, 2);
    };
    append(bytes, 0x04034b50, 4);
    common(bytes);
    bytes += member.name + (member.wide ? std::string(20, '\0') : "") + packed;
    append(directory, 0x02014b50, 4);
    append(directory, 20, 2);
    common(directory);
    directory += std::string(10, '\0');  // comment, disk, attributes
    append(directory, header, 4);
    directory += member.name;
    if (member.wide) {
      append(directory, 1, 2);
      append(directory, 16, 2);
      append(directory, member.text.size(), 8);
      append(directory, packed.size(), 8);
    }
  }
  const std::size_t start = bytes.size();
  bytes += directory;
  append(bytes, 0x06054b50, 4);
  append(bytes, 0, 4);
  append(bytes, members.size(), 2);
  append(bytes, members.size(), 2);
  append(bytes, directory.size(), 4);
  append(bytes, start, 4);
  append(bytes, 0, 2);
  return bytes;
}

std::string read_of(const std::string& bytes, std::string_view name, const ZipLimits& limits = {}) {
  auto archive = ZipArchive::open(bytes, "a.zip", limits);
  if (!archive) return archive.error().message;
  const ZipEntry* entry = archive->find(name);
  if (entry == nullptr) return "absent";
  const auto content = archive->content(*entry);
  return content ? std::string(content->bytes()) : content.error().message;
}

TEST(Zip, ReadsStoredDeflatedAndWideEntries) {
  const std::string long_text(100'000, 'x');
  const std::string bytes =
      zip_of({{"a/stored", "hello"}, {"a/packed", long_text, true}, {"a/wide", "wide", false, true}, {"folder/", ""}});
  EXPECT_EQ(read_of(bytes, "a/stored"), "hello");
  EXPECT_EQ(read_of(bytes, "a/packed"), long_text);
  EXPECT_EQ(read_of(bytes, "a/wide"), "wide");
  EXPECT_EQ(read_of(bytes, "folder/"), "absent");
  EXPECT_EQ(read_of(bytes, "b"), "absent");
}

TEST(Zip, GivesAViewOfWhatIsStored) {
  const std::string bytes = zip_of({{"weights", "12345678"}, {"packed", "aaaa", true}});
  const auto archive = ZipArchive::open(bytes, "a.zip");
  ASSERT_TRUE(archive);
  const auto view = archive->stored(*archive->find("weights"));
  ASSERT_TRUE(view);
  EXPECT_GE(view->data(), bytes.data());
  EXPECT_LE(view->data() + view->size(), bytes.data() + bytes.size());
  EXPECT_FALSE(archive->stored(*archive->find("packed")));
}

TEST(Zip, RefusesDamage) {
  std::string bytes = zip_of({{"a", "hello"}, {"b", std::string(1000, 'y'), true}});
  EXPECT_NE(read_of(bytes.substr(0, bytes.size() - 8), "a").find("cut short"), std::string::npos);
  bytes[32] ^= 1;  // a byte of "hello"
  EXPECT_NE(read_of(bytes, "a").find("checksum"), std::string::npos);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ZipArchive::open(bytes.substr(0, size), "a.zip"));
}

TEST(Zip, RefusesNamesOutsideTheArchive) {
  for (const char* name : {"../a", "a/../../b", "/etc/passwd", ".."})
    EXPECT_FALSE(ZipArchive::open(zip_of({{name, "x"}}), "a.zip")) << name;
  EXPECT_TRUE(ZipArchive::open(zip_of({{"a..b/c", "x"}}), "a.zip"));
}

TEST(Zip, KeepsItsLimits) {
  const std::string bytes = zip_of({{"bomb", std::string(3 << 20, '\0'), true}, {"b", "bb"}});
  EXPECT_NE(read_of(bytes, "bomb").find("times its size"), std::string::npos);
  EXPECT_NE(read_of(bytes, "bomb", {.content_bytes = 1 << 20}).find("larger than 1 MiB"), std::string::npos);
  EXPECT_NE(read_of(bytes, "bomb", {.inflated_bytes = 1 << 20}).find("more than 1 MiB"), std::string::npos);
  EXPECT_NE(read_of(bytes, "b", {.entries = 1}).find("more than 1 entries"), std::string::npos);
  EXPECT_NE(read_of(bytes, "b", {.name_bytes = 2}).find("longer than 2"), std::string::npos);
}

TEST(Zip, KnowsItsOwnFirstBytes) {
  EXPECT_TRUE(is_zip(zip_of({{"a", "x"}})));
  EXPECT_TRUE(is_zip(zip_of({})));
  EXPECT_FALSE(is_zip("PK"));
  EXPECT_FALSE(is_zip("{}"));
}

}  // namespace
}  // namespace forerun
