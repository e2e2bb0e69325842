#include "base/tar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/compressed_file.hpp"

namespace forerun {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMaxExtensionBytes = 1 << 20;  // a long name or a pax header
using Block = std::array<char, kBlock>;

// A field of the header, up to its first NUL.
std::string_view text_of(const Block& block, std::size_t offset, std::size_t size) {
  const std::string_view field(block.data() + offset, size);
  return field.substr(0, field.find('\0'));
}

// Octal digits with spaces around them, or GNU's base-256 when the first bit is set.
std::optional<std::uint64_t> number_of(const Block& block, std::size_t offset, std::size_t size) {
  const std::string_view field(block.data() + offset, size);
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    value = static_cast<unsigned char>(field[0]) & 0x7fU;
    for (const char c : field.substr(1)) {
      if (value >> 55U != 0) return std::nullopt;
      value = value << 8U | static_cast<unsigned char>(c);
    }
    return value;
  }
  const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
  const auto [end, status] = std::from_chars(field.data() + begin, field.data() + field.size(), value, 8);
  if (status != std::errc{})
    return begin == field.size() || field[begin] == '\0' ? std::optional(std::uint64_t{0}) : std::nullopt;
  if (end != field.data() + field.size() && *end != '\0' && *end != ' ') return std::nullopt;
  return value;
}

bool checksum_agrees(const Block& block) {
  const auto stored = number_of(block, 148, 8);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    sum += i >= 148 && i < 156 ? std::uint64_t{' '} : static_cast<unsigned char>(block[i]);
  }
  return stored && *stored == sum;
}

// "LENGTH path=VALUE\n" records; nullopt when there is no path among them.
std::optional<std::string> pax_path(std::string_view records) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, status] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (status != std::errc{} || length <= digits + 1 || length > records.size()) return std::nullopt;
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path=")) return std::string(record.substr(5));
    records.remove_prefix(length);
  }
  return std::nullopt;
}

class TarReader {
 public:
  TarReader(std::unique_ptr<ByteSource> source, const std::string& path) : source_(std::move(source)), path_(path) {}

  // False at the end of the archive.
  Result<bool> next_header(Block& block) {
    FORERUN_TRY(const std::size_t got, read_fully(block.data(), kBlock));
    if (got == 0) return false;
    if (got < kBlock) return wrong("ends inside a header");
    if (std::ranges::all_of(block, [](char c) { return c == '\0'; })) return false;
    if (!checksum_agrees(block)) return wrong("a header's checksum is wrong");
    return true;
  }

  Result<std::string> content(std::uint64_t size) {
    std::string bytes;
    while (bytes.size() < size) {  // grows with what is really there, not with what the header claims
      const std::size_t before = bytes.size();
      const std::size_t step = std::min<std::uint64_t>(size - before, 1 << 20);
      bytes.resize(before + step);
      FORERUN_TRY(const std::size_t got, read_fully(bytes.data() + before, step));
      if (got < step) return wrong("ends inside a member");
    }
    FORERUN_CHECK(skip((kBlock - size % kBlock) % kBlock));
    return bytes;
  }

  Status skip(std::uint64_t size) {
    Block block{};
    while (size > 0) {
      const std::size_t step = std::min<std::uint64_t>(size, kBlock);
      FORERUN_TRY(const std::size_t got, read_fully(block.data(), step));
      if (got < step) return wrong("ends inside a member");
      size -= step;
    }
    return ok();
  }

  [[nodiscard]] Error wrong(const std::string& what) const {
    return bad_input(path_ + ": not a sound tar archive: " + what);
  }

 private:
  Result<std::size_t> read_fully(char* buffer, std::size_t size) {
    std::size_t total = 0;
    while (total < size) {
      FORERUN_TRY(const std::size_t got, source_->read(buffer + total, size - total));
      if (got == 0) break;
      total += got;
    }
    return total;
  }

  std::unique_ptr<ByteSource> source_;
  std::string path_;
};

}  // namespace

Status visit_tar(const std::string& path, const std::function<Status(TarMember)>& visit, const TarLimits& limits) {
  FORERUN_TRY(auto source, open_compressed(path));
  TarReader reader(std::move(source), path);
  std::optional<std::string> long_name;
  std::size_t members = 0;
  Block block{};
  while (true) {
    FORERUN_TRY(const bool found, reader.next_header(block));
    if (!found) return ok();
    if (++members > limits.members) return Error{ErrorKind::TooLarge, path + ": too many members"};
    const auto size = number_of(block, 124, 12);
    if (!size) return reader.wrong("a size is not a number");
    const char type = block[156];
    if (type == 'L' || type == 'x' || type == 'g') {
      if (*size > kMaxExtensionBytes) return Error{ErrorKind::TooLarge, path + ": an extended header is too large"};
      FORERUN_TRY(std::string text, reader.content(*size));
      if (type == 'L') long_name = text.substr(0, text.find('\0'));
      if (type == 'x') long_name = pax_path(text);
      continue;
    }
    std::string name(text_of(block, 0, 100));
    const std::string_view prefix = text_of(block, 345, 155);
    if (text_of(block, 257, 5) == "ustar" && block[262] == '\0' && !prefix.empty())
      name = std::string(prefix) + "/" + name;
    if (long_name) name = *std::exchange(long_name, std::nullopt);
    if (type != '0' && type != '\0' && type != '7') {  // folders, links, devices
      FORERUN_CHECK(reader.skip((*size + kBlock - 1) / kBlock * kBlock));
      continue;
    }
    if (*size > limits.member_bytes) return Error{ErrorKind::TooLarge, path + ": " + name + " is too large"};
    FORERUN_TRY(std::string bytes, reader.content(*size));
    if (name.starts_with("./")) name.erase(0, 2);
    FORERUN_CHECK(visit({std::move(name), std::move(bytes)}));
  }
}

Result<std::vector<TarMember>> read_tar(const std::string& path, const TarLimits& limits) {
  std::vector<TarMember> members;
  const auto keep = [&](TarMember member) -> Status {
    members.push_back(std::move(member));
    return ok();
  };
  FORERUN_CHECK(visit_tar(path, keep, limits));
  return members;
}

}  // namespace forerun
