// tar through libarchive. Links, devices and names that lead out of the archive are left out.
#include <archive.h>
#include <archive_entry.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/archive_files.hpp"
#include "base/spool_file.hpp"

namespace forerun {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kHeadBytes = std::uint64_t{1} << 20;   // of a large file, kept while a compressed tar is listed
constexpr std::uint64_t kKeptBytes = std::uint64_t{64} << 20;  // of all that is kept then

class TarReader {
 public:
  TarReader(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  Status start() {
    archive* reader = archive_.get();
    if (reader == nullptr) return internal_error("libarchive has no memory");
    // A filter that libarchive does not have itself would run a program: none of those.
    for (const auto support : {::archive_read_support_filter_gzip, ::archive_read_support_filter_bzip2,
                               ::archive_read_support_filter_xz, ::archive_read_support_filter_zstd}) {
      if (support(reader) != ARCHIVE_OK) return internal_error("this libarchive lacks a decompressor");
    }
    ::archive_read_support_format_tar(reader);
    ::archive_read_support_format_raw(reader);
    // A plain archive is given whole, so that files are views of it; a compressed one is read from start to end.
    const int status = is_compressed(bytes_) ? ::archive_read_open(reader, this, nullptr, &TarReader::feed, nullptr)
                                             : ::archive_read_open_memory(reader, bytes_.data(), bytes_.size());
    return status == ARCHIVE_OK ? ok() : Status(wrong());
  }

  Result<archive_entry*> next() {
    archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return wrong();
    return entry;
  }

  // The next bytes of the entry, which stay until the next call; empty at its end. Holes are not filled.
  Result<std::string_view> piece() {
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    while (size == 0) {
      const int status = ::archive_read_data_block(archive_.get(), &data, &size, &offset);
      if (status == ARCHIVE_EOF) return std::string_view{};
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return wrong();
      if (offset != std::int64_t(seen_)) return bad_input(what_ + ": holds a sparse file; pack it without --sparse");
    }
    seen_ += size;
    return std::string_view(static_cast<const char*>(data), size);
  }
  void restart() { seen_ = 0; }

  [[nodiscard]] bool is_raw() const {
    return (::archive_format(archive_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_RAW;
  }

  // libarchive's next piece. Pages behind it are given back: mapped files would stay in memory otherwise.
  static la_ssize_t feed(archive*, void* self, const void** piece) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    auto& reader = *static_cast<TarReader*>(self);
    const auto page = std::uintptr_t(::sysconf(_SC_PAGESIZE));
    const auto start = std::uintptr_t(reader.bytes_.data());
    const std::uintptr_t from = (start + reader.released_ + page - 1) / page * page,
                         to = (start + reader.fed_) / page * page;
    if (to > from && ::madvise(reinterpret_cast<void*>(from), to - from, MADV_PAGEOUT) == 0)  // advice: may be ignored
      reader.released_ = reader.fed_;
    const std::string_view next = reader.bytes_.substr(reader.fed_, kPiece);
    reader.fed_ += next.size();
    *piece = next.data();
    return la_ssize_t(next.size());
  }

  [[nodiscard]] Error wrong() const {
    const char* why = ::archive_error_string(archive_.get());
    return bad_input(what_ + ": the archive is damaged or cut short: " + (why != nullptr ? why : "no details") +
                     "; copy or download it again");
  }

 private:
  std::string_view bytes_;
  std::string what_;
  std::uint64_t seen_ = 0;
  std::size_t fed_ = 0, released_ = 0;
  std::unique_ptr<archive, int (*)(archive*)> archive_{::archive_read_new(), ::archive_read_free};
};

struct Member {
  FolderFile file;
  std::size_t ordinal = 0;           // among the headers of the archive
  std::optional<FileBytes> content;  // a view of a plain archive, or what was kept of a compressed one
  bool is_whole = false;
};

class TarFiles final : public ArchiveFiles {
 public:
  TarFiles(std::string_view bytes, std::string what, const ArchiveLimits& limits)
      : bytes_(bytes), what_(std::move(what)), limits_(limits), is_plain_(!is_compressed(bytes)) {}

  Status list() {
    TarReader reader(bytes_, what_);
    FORERUN_CHECK(reader.start());
    std::vector<Member> found;
    for (std::size_t ordinal = 0;; ++ordinal) {
      FORERUN_TRY(archive_entry * entry, reader.next());
      if (entry == nullptr) break;
      if (ordinal >= limits_.entries)
        return too_large("the archive has more than " + std::to_string(limits_.entries) + " entries");
      Member member;
      member.ordinal = ordinal;
      FORERUN_TRY(const bool is_taken, describe(entry, reader.is_raw(), member.file));
      reader.restart();
      FORERUN_CHECK(is_plain_ ? view(reader, is_taken, member) : keep(reader, is_taken, member));
      if (is_taken) found.push_back(std::move(member));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Member& a, const Member& b) { return a.file.name < b.file.name; });
    for (Member& member : found) {
      if (!files_.empty() && files_.back().name == member.file.name) {  // the later one replaces the earlier one
        files_.pop_back();
        members_.pop_back();
      }
      files_.push_back(member.file);
      members_.push_back(std::move(member));
    }
    return ok();
  }

  [[nodiscard]] const std::vector<FolderFile>& files() const override { return files_; }

  Result<FileBytes> open(std::size_t index, std::uint64_t most) override {
    const Member& member = members_[index];
    if (member.content && (member.is_whole || most <= member.content->view().size())) {
      const std::string_view view = member.content->view();
      const auto keeper = std::make_shared<FileBytes>(*member.content);
      return FileBytes(view.substr(0, std::size_t(std::min<std::uint64_t>(most, view.size()))), keeper);
    }
    return unpack(member, most);
  }

 private:
  // False for what is no file or has no name to be found by.
  Result<bool> describe(archive_entry* entry, bool is_raw, FolderFile& file) const {
    if (is_raw) {
      const std::string name = std::filesystem::path(what_).stem().string();
      file.name = name.empty() ? "file" : name;
      return true;
    }
    if (::archive_entry_filetype(entry) != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr) return false;
    const char* stored = ::archive_entry_pathname(entry);
    if (stored == nullptr) stored = ::archive_entry_pathname_utf8(entry);
    if (stored == nullptr) return false;
    if (std::string_view(stored).size() > limits_.name_bytes)
      return too_large("a name in the archive is longer than " + std::to_string(limits_.name_bytes) + " bytes");
    file.name = plain_name(stored);
    const la_int64_t size = ::archive_entry_size(entry);
    file.size = size < 0 ? 0 : std::uint64_t(size);
    if (file.name.empty())
      return bad_input(what_ + ": a file's name leads out of the archive; pack the folder with relative names");
    return true;
  }

  // Of a plain archive: where the file's bytes stand.
  Status view(TarReader& reader, bool is_taken, Member& member) const {
    if (!is_taken || member.file.size == 0) {
      member.content = FileBytes();
      member.is_whole = true;
      return ok();
    }
    FORERUN_TRY(const std::string_view first, reader.piece());
    const auto at = std::uint64_t(first.data() - bytes_.data());
    if (first.data() < bytes_.data() || at > bytes_.size() || member.file.size > bytes_.size() - at)
      return bad_input(what_ + ": " + member.file.name + " ends outside the archive, which is cut short");
    member.content = FileBytes(bytes_.substr(std::size_t(at), std::size_t(member.file.size)), nullptr);
    member.is_whole = true;
    return ok();
  }

  // Of a compressed archive: small files and the start of large ones.
  Status keep(TarReader& reader, bool is_taken, Member& member) {
    std::string text;
    const bool is_small = member.file.size <= 4 * kHeadBytes;
    const std::uint64_t most = !is_taken || kept_ >= kKeptBytes ? 0 : is_small ? 4 * kHeadBytes : kHeadBytes;
    std::uint64_t size = 0;
    while (true) {
      FORERUN_TRY(const std::string_view piece, reader.piece());
      if (piece.empty()) break;
      size += piece.size();
      FORERUN_CHECK(count(piece.size()));
      FORERUN_CHECK(check_ratio());
      if (text.size() < most) text += piece.substr(0, std::size_t(most - text.size()));
    }
    member.file.size = size;
    member.is_whole = text.size() == size;
    kept_ += text.size();
    if (most > 0) member.content = FileBytes(std::move(text));
    return ok();
  }

  // While the archive is listed; what is opened later is decompressed a second time.
  [[nodiscard]] Status check_ratio() const {
    if (unpacked_ > limits_.ratio_from && unpacked_ / limits_.ratio > bytes_.size())
      return too_large("the archive unpacks to more than " + std::to_string(limits_.ratio) + " times its size");
    return ok();
  }

  Status count(std::uint64_t bytes) {
    unpacked_ += bytes;
    if (unpacked_ > limits_.unpacked_bytes)
      return too_large("the archive unpacks to more than " + std::to_string(limits_.unpacked_bytes >> 20) + " MiB");
    return ok();
  }

  Result<FileBytes> unpack(const Member& member, std::uint64_t most) {
    TarReader reader(bytes_, what_);
    FORERUN_CHECK(reader.start());
    for (std::size_t ordinal = 0; ordinal <= member.ordinal; ++ordinal) {
      FORERUN_TRY(const archive_entry* entry, reader.next());
      if (entry == nullptr) return reader.wrong();
    }
    for (const Member& other : members_) {  // what lies before it is decompressed again
      if (other.ordinal < member.ordinal) FORERUN_CHECK(count(other.file.size));
    }
    reader.restart();
    most = std::min(most, member.file.size);
    const bool in_memory = most <= kInMemoryBytes;
    std::string text;
    std::optional<SpoolFile> spool;
    if (!in_memory) {
      FORERUN_TRY(SpoolFile made, SpoolFile::create());
      spool.emplace(std::move(made));
    }
    for (std::uint64_t taken = 0; taken < most;) {
      FORERUN_TRY(std::string_view piece, reader.piece());
      if (piece.empty()) return reader.wrong();
      piece = piece.substr(0, std::size_t(std::min<std::uint64_t>(piece.size(), most - taken)));
      taken += piece.size();
      FORERUN_CHECK(count(piece.size()));
      if (in_memory)
        text += piece;
      else
        FORERUN_CHECK(spool->append(piece));
    }
    if (in_memory) return FileBytes(std::move(text));
    return spool->finish();
  }

  [[nodiscard]] Error too_large(const std::string& what) const { return {ErrorKind::TooLarge, what_ + ": " + what}; }

  std::string_view bytes_;
  std::string what_;
  ArchiveLimits limits_;
  bool is_plain_;
  std::uint64_t kept_ = 0, unpacked_ = 0;
  std::vector<FolderFile> files_;
  std::vector<Member> members_;
};

}  // namespace

bool is_tar(std::string_view bytes) { return bytes.size() >= 512 && bytes.substr(257, 5) == "ustar"; }

bool is_compressed(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b"sv) || bytes.starts_with("BZh"sv) ||
         bytes.starts_with(
             "\xfd"
             "7zXZ\0"sv) ||
         bytes.starts_with("\x28\xb5\x2f\xfd"sv);
}

Result<std::shared_ptr<ArchiveFiles>> open_tar_files(std::string_view bytes, const std::string& what,
                                                     const ArchiveLimits& limits) {
  auto files = std::make_shared<TarFiles>(bytes, what, limits);
  FORERUN_CHECK(files->list());
  return std::shared_ptr<ArchiveFiles>(std::move(files));
}

}  // namespace forerun
