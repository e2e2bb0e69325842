// Writes a zip archive in memory: tests and fuzz targets make their input with it.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace forerun {

inline void append_number(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

inline std::string deflated(const std::string& text) {
  std::string packed(compressBound(text.size()) + 16, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct ZipMember {
  std::string name;
  std::string text;
  bool deflate = false;
  bool wide = false;  // sizes in a zip64 record
};

inline std::string zip_of(const std::vector<ZipMember>& members) {
  std::string bytes;
  std::string directory;
  for (const ZipMember& member : members) {
    const std::string packed = member.deflate ? deflated(member.text) : member.text;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(member.text.data()), member.text.size());
    const std::size_t header = bytes.size();
    const std::uint64_t packed_size = member.wide ? 0xffffffff : packed.size();
    const std::uint64_t size = member.wide ? 0xffffffff : member.text.size();
    const std::uint64_t method = member.deflate ? 8 : 0;
    const auto common = [&](std::string& to) {
      append_number(to, 20, 2);
      append_number(to, 0, 2);
      append_number(to, method, 2);
      append_number(to, 0, 4);
      append_number(to, crc, 4);
      append_number(to, packed_size, 4);
      append_number(to, size, 4);
      append_number(to, member.name.size(), 2);
      append_number(to, member.wide ? 20 : 0, 2);
    };
    append_number(bytes, 0x04034b50, 4);
    common(bytes);
    bytes += member.name + (member.wide ? std::string(20, '\0') : "") + packed;
    append_number(directory, 0x02014b50, 4);
    append_number(directory, 20, 2);
    common(directory);
    directory += std::string(10, '\0');  // comment, disk, attributes
    append_number(directory, header, 4);
    directory += member.name;
    if (member.wide) {
      append_number(directory, 1, 2);
      append_number(directory, 16, 2);
      append_number(directory, member.text.size(), 8);
      append_number(directory, packed.size(), 8);
    }
  }
  const std::size_t start = bytes.size();
  bytes += directory;
  append_number(bytes, 0x06054b50, 4);
  append_number(bytes, 0, 4);
  append_number(bytes, members.size(), 2);
  append_number(bytes, members.size(), 2);
  append_number(bytes, directory.size(), 4);
  append_number(bytes, start, 4);
  append_number(bytes, 0, 2);
  return bytes;
}

}  // namespace forerun
