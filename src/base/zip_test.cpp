#include "base/zip.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/zip_writer.hpp"

namespace forerun {
namespace {

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

TEST(Zip, RefusesDamagedArchives) {
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

TEST(Zip, ShowsOddNamesOnOneLine) {
  std::string bytes = zip_of({{"a\n\xff.pb", "hello"}});
  bytes[bytes.find("hello")] ^= 1;
  EXPECT_NE(read_of(bytes, "a\n\xff.pb").find("the checksum of a??.pb is wrong"), std::string::npos);
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
