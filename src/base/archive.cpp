#include "base/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/open_regular.hpp"

namespace forerun {
namespace {

constexpr std::size_t kChunk = 1 << 16;

// An open file and libarchive's reader of it, closed together.
class Reader {
 public:
  Reader(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)), archive_(::archive_read_new(), ::archive_read_free) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    archive_.reset();  // before its file is closed
    ::close(descriptor_);
  }

  // `raw`: the whole file is one member, compressed or not; otherwise a tar archive.
  Status start(bool raw) {
    archive* reader = archive_.get();
    if (reader == nullptr) return internal_error("libarchive has no memory");
    ::archive_read_support_filter_gzip(reader);
    ::archive_read_support_filter_xz(reader);
    if (raw) {
      ::archive_read_support_format_raw(reader);
      ::archive_read_support_format_empty(reader);
    } else {
      ::archive_read_support_format_tar(reader);
    }
    return ::archive_read_open_fd(reader, descriptor_, kChunk) == ARCHIVE_OK ? ok() : Status(wrong());
  }

  // Null at the end.
  Result<archive_entry*> next() {
    archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return wrong();
    return entry;
  }

  Result<std::size_t> read(char* buffer, std::size_t size) {
    const la_ssize_t got = ::archive_read_data(archive_.get(), buffer, size);
    if (got < 0) return wrong();
    return static_cast<std::size_t>(got);
  }

  [[nodiscard]] Error wrong() const {
    const char* why = ::archive_error_string(archive_.get());
    return bad_input(path_ + ": damaged or truncated: " + (why != nullptr ? why : "no details"));
  }

 private:
  int descriptor_;
  std::string path_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

Result<std::unique_ptr<Reader>> open_reader(const std::string& path, bool raw) {
  FORERUN_TRY(const int descriptor, open_regular(path));
  auto reader = std::make_unique<Reader>(descriptor, path);
  FORERUN_CHECK(reader->start(raw));
  return reader;
}

class FileSource final : public ByteSource {
 public:
  FileSource(std::unique_ptr<Reader> reader, bool ended) : reader_(std::move(reader)), ended_(ended) {}
  Result<std::size_t> read(char* buffer, std::size_t size) override {
    if (ended_) return std::size_t{0};
    FORERUN_TRY(const std::size_t got, reader_->read(buffer, size));
    ended_ = got == 0 && size > 0;
    return got;
  }

 private:
  std::unique_ptr<Reader> reader_;
  bool ended_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min(size, text_.size() - at_);
    std::memcpy(buffer, text_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

// Fails with TooLarge beyond `limit`. Grows with what is really there, not with the size that a header claims.
template <typename Read>
Result<std::string> read_all(Read&& read, std::size_t limit, const std::string& name) {
  std::string content;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + kChunk);
    FORERUN_TRY(const std::size_t got, read(content.data() + before, kChunk));
    content.resize(before + got);
    if (got == 0) return content;
    if (content.size() > limit) {
      return Error{ErrorKind::TooLarge, name + ": more than " + std::to_string(limit) + " bytes"};
    }
  }
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_compressed(const std::string& path) {
  FORERUN_TRY(auto reader, open_reader(path, true));
  FORERUN_TRY(const archive_entry* entry, reader->next());
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(std::move(reader), entry == nullptr));
}

std::unique_ptr<ByteSource> make_memory_source(std::string text) {
  return std::make_unique<MemorySource>(std::move(text));
}

Result<std::string> read_compressed(const std::string& path, std::size_t limit) {
  FORERUN_TRY(auto source, open_compressed(path));
  return read_all([&](char* buffer, std::size_t size) { return source->read(buffer, size); }, limit, path);
}

Status visit_tar(const std::string& path, const std::function<Status(TarMember)>& visit, const TarLimits& limits) {
  FORERUN_TRY(auto reader, open_reader(path, false));
  for (std::size_t members = 0;; ++members) {
    FORERUN_TRY(archive_entry * entry, reader->next());
    if (entry == nullptr) return ok();
    if (members >= limits.members) return Error{ErrorKind::TooLarge, path + ": too many members"};
    if (::archive_entry_filetype(entry) != AE_IFREG || ::archive_entry_hardlink(entry) != nullptr) continue;
    const char* stored = ::archive_entry_pathname(entry);
    if (stored == nullptr) stored = ::archive_entry_pathname_utf8(entry);
    if (stored == nullptr) return bad_input(path + ": the name of a member cannot be read");
    std::string name = stored;
    const la_int64_t size = ::archive_entry_size(entry);
    if (size < 0 || static_cast<std::uint64_t>(size) > limits.member_bytes)
      return Error{ErrorKind::TooLarge, path + ": " + name + " is too large"};
    FORERUN_TRY(std::string bytes,
                read_all([&](char* buffer, std::size_t count) { return reader->read(buffer, count); },
                         limits.member_bytes, path + ": " + name));
    if (name.starts_with("./")) name.erase(0, 2);
    FORERUN_CHECK(visit({std::move(name), std::move(bytes)}));
  }
}

}  // namespace forerun
