#include "base/compressed_file.hpp"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace forerun {
namespace {

constexpr std::size_t kChunk = 1 << 16;
constexpr std::uint64_t kXzMemoryLimit = std::uint64_t{256} << 20;

class PlainFile final : public ByteSource {
 public:
  PlainFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile() override { ::close(descriptor_); }

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, buffer, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return Error{ErrorKind::Io, path_ + ": cannot read: " + std::strerror(errno)};
    }
  }
  void rewind() { ::lseek(descriptor_, 0, SEEK_SET); }

 private:
  int descriptor_;
  std::string path_;
};

class GzipFile final : public ByteSource {
 public:
  GzipFile(std::unique_ptr<PlainFile> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  ~GzipFile() override { ::inflateEnd(&stream_); }

  [[nodiscard]] bool start() { return ::inflateInit2(&stream_, 15 + 16) == Z_OK; }

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1U << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0) {
        FORERUN_TRY(const std::size_t got, file_->read(input_.data(), input_.size()));
        if (got == 0) {
          if (between_members_) return std::size_t{0};
          return bad_input(path_ + ": the gzip stream ends too early");
        }
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(got);
      }
      if (between_members_) {  // gzip files may be concatenated
        if (::inflateReset(&stream_) != Z_OK) return internal_error("zlib refused to restart");
        between_members_ = false;
      }
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        between_members_ = true;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return bad_input(path_ + ": damaged gzip stream: " + (stream_.msg != nullptr ? stream_.msg : "no details"));
      }
    }
    return static_cast<std::size_t>(wanted - stream_.avail_out);
  }

 private:
  std::unique_ptr<PlainFile> file_;
  std::string path_;
  z_stream stream_{};
  std::array<char, kChunk> input_{};
  bool between_members_ = false;
};

class XzFile final : public ByteSource {
 public:
  XzFile(std::unique_ptr<PlainFile> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  XzFile(const XzFile&) = delete;
  XzFile& operator=(const XzFile&) = delete;
  ~XzFile() override { ::lzma_end(&stream_); }

  [[nodiscard]] bool start() { return ::lzma_stream_decoder(&stream_, kXzMemoryLimit, LZMA_CONCATENATED) == LZMA_OK; }

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(buffer);
    stream_.avail_out = size;
    while (stream_.avail_out == size && !ended_) {
      if (stream_.avail_in == 0 && !input_ended_) {
        FORERUN_TRY(const std::size_t got, file_->read(input_.data(), input_.size()));
        input_ended_ = got == 0;
        stream_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
        stream_.avail_in = got;
      }
      const lzma_ret status = ::lzma_code(&stream_, input_ended_ ? LZMA_FINISH : LZMA_RUN);
      if (status == LZMA_STREAM_END) {
        ended_ = true;
      } else if (status == LZMA_MEMLIMIT_ERROR) {
        return Error{ErrorKind::TooLarge, path_ + ": the xz stream needs more than 256 MiB to decode"};
      } else if (status == LZMA_BUF_ERROR && input_ended_) {
        return bad_input(path_ + ": the xz stream ends too early");
      } else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
        return bad_input(path_ + ": damaged xz stream (code " + std::to_string(status) + ")");
      }
    }
    return size - stream_.avail_out;
  }

 private:
  std::unique_ptr<PlainFile> file_;
  std::string path_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::array<char, kChunk> input_{};
  bool input_ended_ = false;
  bool ended_ = false;
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

template <typename Source>
Result<std::unique_ptr<ByteSource>> start(std::unique_ptr<PlainFile> file, const std::string& path) {
  auto source = std::make_unique<Source>(std::move(file), path);
  if (!source->start()) return internal_error(path + ": the decompressor did not start");
  return std::unique_ptr<ByteSource>(std::move(source));
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_compressed(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::NotFound : ErrorKind::Io;
    return Error{kind, path + ": cannot open: " + std::strerror(errno)};
  }
  auto file = std::make_unique<PlainFile>(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return bad_input(path + ": not a regular file");
  std::array<char, 6> magic{};
  FORERUN_TRY(const std::size_t got, file->read(magic.data(), magic.size()));
  file->rewind();
  const std::string_view head(magic.data(), got);
  if (head.starts_with("\x1f\x8b")) return start<GzipFile>(std::move(file), path);
  if (head == std::string_view("\xfd"
                               "7zXZ\0",
                               6))
    return start<XzFile>(std::move(file), path);
  return std::unique_ptr<ByteSource>(std::move(file));
}

std::unique_ptr<ByteSource> make_memory_source(std::string text) {
  return std::make_unique<MemorySource>(std::move(text));
}

Result<std::string> read_compressed(const std::string& path, std::size_t limit) {
  FORERUN_TRY(auto source, open_compressed(path));
  std::string content;
  while (true) {
    const std::size_t before = content.size();
    content.resize(before + kChunk);
    FORERUN_TRY(const std::size_t got, source->read(content.data() + before, kChunk));
    content.resize(before + got);
    if (got == 0) return content;
    if (content.size() > limit) {
      return Error{ErrorKind::TooLarge, path + ": more than " + std::to_string(limit) + " bytes"};
    }
  }
}

}  // namespace forerun
