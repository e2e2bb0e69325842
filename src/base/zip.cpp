#include "base/zip.hpp"

#include <algorithm>
#include <optional>

#include <zlib.h>

#include "base/printable.hpp"

namespace forerun {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kDirectoryEnd = 0x06054b50;
constexpr std::uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::uint64_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kDirectoryEntryBytes = 46;
constexpr std::uint64_t kDirectoryEndBytes = 22;
constexpr std::uint64_t kDirectoryEnd64Bytes = 56;
constexpr std::uint64_t kLocator64Bytes = 20;
constexpr std::uint64_t kMaxCommentBytes = 0xffff;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the number stands in the zip64 record
constexpr std::uint16_t kZip64Record = 1;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint64_t kRatioFrom = std::uint64_t{1} << 20;

// Little-endian number of `size` bytes. REQUIRES: at + size <= bytes.size()
std::uint64_t number(std::string_view bytes, std::uint64_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[at + std::uint64_t(i)]);
  return value;
}

bool has_bytes(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

bool starts_record(std::string_view bytes, std::uint64_t at, std::uint64_t size, std::uint32_t magic) {
  return has_bytes(bytes, at, size) && number(bytes, at, 4) == magic;
}

// Relative, without ".." and without NUL, which would end the path for the system's calls.
bool is_safe_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string_view::npos) return false;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    if (name.substr(from, slash - from) == "..") return false;
    from = slash + 1;
  }
  return true;
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};

std::optional<Directory> find_directory(std::string_view bytes) {
  if (bytes.size() < kDirectoryEndBytes) return std::nullopt;
  const std::uint64_t last = bytes.size() - kDirectoryEndBytes;
  const std::uint64_t first = last > kMaxCommentBytes ? last - kMaxCommentBytes : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (number(bytes, at, 4) != kDirectoryEnd) continue;
    Directory found{number(bytes, at + 10, 2), number(bytes, at + 12, 4), number(bytes, at + 16, 4)};
    const bool in_64 = found.entries == 0xffff || found.size == kIn64 || found.offset == kIn64;
    if (at >= kLocator64Bytes && starts_record(bytes, at - kLocator64Bytes, kLocator64Bytes, kLocator64)) {
      const std::uint64_t at_64 = number(bytes, at - kLocator64Bytes + 8, 8);
      if (starts_record(bytes, at_64, kDirectoryEnd64Bytes, kDirectoryEnd64))
        found = {number(bytes, at_64 + 32, 8), number(bytes, at_64 + 40, 8), number(bytes, at_64 + 48, 8)};
      else if (in_64)
        return std::nullopt;
    }
    return found;
  }
  return std::nullopt;
}

// Replaces the numbers that stand in the zip64 record. False when the record is missing or too short.
bool read_zip64(std::string_view extra, ZipEntry& entry) {
  if (entry.size != kIn64 && entry.packed_size != kIn64 && entry.header != kIn64) return true;
  std::uint64_t at = 0;
  while (has_bytes(extra, at, 4)) {
    const std::uint64_t size = number(extra, at + 2, 2);
    if (!has_bytes(extra, at + 4, size)) return false;
    if (number(extra, at, 2) != kZip64Record) {
      at += 4 + size;
      continue;
    }
    const std::string_view record = extra.substr(at + 4, size);
    std::uint64_t next = 0;
    for (std::uint64_t* field : {&entry.size, &entry.packed_size, &entry.header}) {
      if (*field != kIn64) continue;
      if (!has_bytes(record, next, 8)) return false;
      *field = number(record, next, 8);
      next += 8;
    }
    return true;
  }
  return false;
}

}  // namespace

bool is_zip(std::string_view bytes) {
  return starts_record(bytes, 0, 4, kLocalHeader) || starts_record(bytes, 0, 4, kDirectoryEnd);
}

Error ZipArchive::wrong(const std::string& what) const {
  return bad_input(what_ + ": not a sound zip archive: " + printable(what) + "; copy or download the file again");
}

Error ZipArchive::too_large(const std::string& what) const {
  return {ErrorKind::TooLarge, what_ + ": " + printable(what)};
}

Result<ZipArchive> ZipArchive::open(std::string_view bytes, std::string what, const ZipLimits& limits) {
  ZipArchive archive(bytes, std::move(what), limits);
  FORERUN_CHECK(archive.read_directory());
  return archive;
}

Status ZipArchive::read_directory() {
  const auto directory = find_directory(bytes_);
  if (!directory) return wrong("its directory is missing, as in a file cut short");
  if (directory->entries > limits_.entries)
    return too_large("the archive has more than " + std::to_string(limits_.entries) + " entries");
  if (!has_bytes(bytes_, directory->offset, directory->size)) return wrong("its directory lies outside the file");
  if (directory->entries > directory->size / kDirectoryEntryBytes)
    return wrong("its directory is too short for " + std::to_string(directory->entries) + " entries");
  entries_.reserve(directory->entries);
  std::uint64_t position = directory->offset;
  const std::uint64_t end = directory->offset + directory->size;
  for (std::uint64_t i = 0; i < directory->entries; ++i) {
    FORERUN_TRY(ZipEntry entry, read_entry(position, end));
    if (entry.name.back() == '/') continue;
    index_.try_emplace(entry.name, entries_.size());
    entries_.push_back(std::move(entry));
  }
  return ok();
}

Result<ZipEntry> ZipArchive::read_entry(std::uint64_t& position, std::uint64_t end) const {
  if (!starts_record(bytes_, position, kDirectoryEntryBytes, kDirectoryEntry))
    return wrong("no entry at byte " + std::to_string(position) + " of its directory");
  ZipEntry entry;
  entry.encrypted = (number(bytes_, position + 8, 2) & 1) != 0;
  entry.method = static_cast<std::uint16_t>(number(bytes_, position + 10, 2));
  entry.crc = static_cast<std::uint32_t>(number(bytes_, position + 16, 4));
  entry.packed_size = number(bytes_, position + 20, 4);
  entry.size = number(bytes_, position + 24, 4);
  entry.header = number(bytes_, position + 42, 4);
  const std::uint64_t name_size = number(bytes_, position + 28, 2);
  const std::uint64_t extra_size = number(bytes_, position + 30, 2);
  const std::uint64_t comment_size = number(bytes_, position + 32, 2);
  const std::uint64_t name_at = position + kDirectoryEntryBytes;
  if (!has_bytes(bytes_.substr(0, end), name_at, name_size + extra_size + comment_size))
    return wrong("the entry at byte " + std::to_string(position) + " of its directory is cut short");
  if (name_size > limits_.name_bytes)
    return too_large("a name in the archive is longer than " + std::to_string(limits_.name_bytes) + " bytes");
  entry.name = bytes_.substr(name_at, name_size);
  if (!is_safe_name(entry.name))
    return wrong("the entry at byte " + std::to_string(position) + " of its directory has a name outside the archive");
  if (!read_zip64(bytes_.substr(name_at + name_size, extra_size), entry))
    return wrong("the entry at byte " + std::to_string(position) + " of its directory states no size");
  position = name_at + name_size + extra_size + comment_size;
  return entry;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Result<std::string_view> ZipArchive::packed(const ZipEntry& entry) const {
  if (!starts_record(bytes_, entry.header, kLocalHeaderBytes, kLocalHeader))
    return wrong("the header of " + entry.name + " is missing");
  const std::uint64_t names = number(bytes_, entry.header + 26, 2) + number(bytes_, entry.header + 28, 2);
  const std::uint64_t start = entry.header + kLocalHeaderBytes + names;
  if (!has_bytes(bytes_, start, entry.packed_size)) return wrong(entry.name + " ends outside the file");
  return bytes_.substr(start, entry.packed_size);
}

Result<std::string_view> ZipArchive::stored(const ZipEntry& entry) const {
  if (entry.encrypted || entry.method != kStored || entry.size != entry.packed_size)
    return wrong(entry.name + " is compressed or encrypted where plain bytes belong");
  return packed(entry);
}

Status ZipArchive::check_readable(const ZipEntry& entry) const {
  if (entry.encrypted)
    return bad_input(what_ + ": " + printable(entry.name) + " is encrypted; pack the archive without a password");
  if (entry.method != kStored && entry.method != kDeflated)
    return bad_input(what_ + ": " + printable(entry.name) + " is compressed by method " + std::to_string(entry.method) +
                     "; pack the archive with deflate or without compression");
  return ok();
}

Result<ZipContent> ZipArchive::content(const ZipEntry& entry) {
  FORERUN_CHECK(check_readable(entry));
  if (entry.size > limits_.content_bytes)
    return too_large(entry.name + " is larger than " + std::to_string(limits_.content_bytes >> 20) + " MiB");
  const auto checked = [&](std::string_view bytes) {
    return crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == entry.crc;
  };
  if (entry.method == kStored) {
    FORERUN_TRY(const std::string_view bytes, stored(entry));
    if (!checked(bytes)) return wrong("the checksum of " + entry.name + " is wrong");
    return ZipContent(bytes);
  }
  FORERUN_TRY(const std::string_view bytes, packed(entry));
  FORERUN_TRY(std::string text, inflate(entry, bytes));
  if (!checked(text)) return wrong("the checksum of " + entry.name + " is wrong");
  return ZipContent(std::move(text));
}

Result<std::string> ZipArchive::inflate(const ZipEntry& entry, std::string_view packed) {
  if (entry.size > limits_.inflated_bytes - inflated_)
    return too_large("the archive inflates to more than " + std::to_string(limits_.inflated_bytes >> 20) + " MiB");
  if (entry.size > kRatioFrom && entry.size / limits_.ratio > packed.size())
    return too_large(entry.name + " inflates to more than " + std::to_string(limits_.ratio) + " times its size");
  inflated_ += entry.size;
  std::string text(entry.size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return internal_error("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib does not write through it
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(packed.size(), 0xffffffff));
  stream.avail_out = static_cast<uInt>(text.size());  // at most content_bytes
  const int status = ::inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.total_out == entry.size;
  inflateEnd(&stream);
  if (!whole) return wrong("the compressed bytes of " + entry.name + " are damaged");
  return text;
}

Status ZipArchive::unpack(const ZipEntry& entry, std::uint64_t most,
                          const std::function<Status(std::string_view)>& take) const {
  FORERUN_CHECK(check_readable(entry));
  most = std::min(most, entry.size);
  if (entry.method == kStored) {
    FORERUN_TRY(const std::string_view bytes, stored(entry));
    return take(bytes.substr(0, std::size_t(most)));
  }
  FORERUN_TRY(std::string_view left, packed(entry));
  if (entry.size > kRatioFrom && entry.size / limits_.ratio > left.size())
    return too_large(entry.name + " inflates to more than " + std::to_string(limits_.ratio) + " times its size");
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return internal_error("zlib cannot start");
  struct End {
    z_stream& stream;
    ~End() { inflateEnd(&stream); }
  } end{stream};
  std::string piece(std::size_t{1} << 16, '\0');
  std::uint64_t taken = 0;
  uLong checksum = 0;
  int status = Z_OK;
  while (taken < most && status != Z_STREAM_END) {
    const std::size_t fed = std::min<std::size_t>(left.size(), std::size_t{1} << 20);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
    stream.avail_in = static_cast<uInt>(fed);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = ::inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END)
      return wrong("the compressed bytes of " + entry.name + " are damaged");
    left.remove_prefix(fed - stream.avail_in);
    const std::size_t got = std::min<std::uint64_t>(piece.size() - stream.avail_out, entry.size - taken);
    checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(piece.data()), got);
    const std::size_t wanted = std::min<std::uint64_t>(got, most - taken);
    taken += got;
    if (wanted > 0) FORERUN_CHECK(take(std::string_view(piece).substr(0, wanted)));
    if (got == 0 && left.empty() && status != Z_STREAM_END) break;
  }
  if (taken < most || (most == entry.size && checksum != entry.crc))
    return wrong("the compressed bytes of " + entry.name + " are damaged");
  return ok();
}

}  // namespace forerun
