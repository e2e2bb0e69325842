#include "base/archive_files.hpp"

#include <algorithm>
#include <utility>

#include "base/printable.hpp"
#include "base/spool_file.hpp"
#include "base/zip.hpp"

namespace forerun {
namespace {

class ZipFiles final : public ArchiveFiles {
 public:
  ZipFiles(ZipArchive archive, std::string what, const ArchiveLimits& limits)
      : archive_(std::move(archive)), what_(std::move(what)), limits_(limits) {
    for (const ZipEntry& entry : archive_.entries()) {
      std::string name = plain_name(entry.name);
      if (!name.empty()) order_.emplace_back(std::move(name), &entry - archive_.entries().data());
    }
    std::stable_sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    order_.erase(
        std::unique(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
        order_.end());
    for (const auto& [name, at] : order_) files_.push_back({name, archive_.entries()[std::size_t(at)].size});
  }

  [[nodiscard]] const std::vector<FolderFile>& files() const override { return files_; }

  Result<FileBytes> open(std::size_t index, std::uint64_t most) override {
    const ZipEntry& entry = archive_.entries()[std::size_t(order_[index].second)];
    const std::uint64_t wanted = std::min(most, entry.size);
    constexpr std::uint16_t kStored = 0;
    if (entry.method == kStored && wanted > kInMemoryBytes) {  // weights: not read for their checksum
      FORERUN_TRY(const std::string_view bytes, archive_.stored(entry));
      return FileBytes(bytes.substr(0, std::size_t(wanted)), nullptr);
    }
    if (entry.method != kStored) {
      if (wanted > limits_.unpacked_bytes - unpacked_)
        return Error{ErrorKind::TooLarge, what_ + ": its files unpack to more than " +
                                              std::to_string(limits_.unpacked_bytes >> 20) + " MiB"};
      unpacked_ += wanted;
    }
    if (wanted <= kInMemoryBytes) {
      std::string text;
      FORERUN_CHECK(archive_.unpack(entry, wanted, [&](std::string_view piece) {
        text += piece;
        return ok();
      }));
      return FileBytes(std::move(text));
    }
    FORERUN_TRY(SpoolFile spool, SpoolFile::create());
    FORERUN_CHECK(archive_.unpack(entry, wanted, [&](std::string_view piece) { return spool.append(piece); }));
    return spool.finish();
  }

 private:
  ZipArchive archive_;
  std::string what_;
  ArchiveLimits limits_;
  std::uint64_t unpacked_ = 0;
  std::vector<FolderFile> files_;
  std::vector<std::pair<std::string, std::ptrdiff_t>> order_;  // by file: its name and its entry
};

}  // namespace

std::string plain_name(std::string_view stored) {
  if (stored.empty() || stored.front() == '/' || stored.find('\0') != std::string_view::npos ||
      stored.find('\\') != std::string_view::npos)
    return {};
  std::string name;
  for (std::size_t from = 0; from <= stored.size();) {
    const std::size_t slash = std::min(stored.find('/', from), stored.size());
    const std::string_view part = stored.substr(from, slash - from);
    if (part == "..") return {};
    if (!part.empty() && part != ".") name += (name.empty() ? "" : "/") + std::string(part);
    from = slash + 1;
  }
  return printable(name);  // messages show it
}

Result<std::shared_ptr<ArchiveFiles>> open_zip_files(std::string_view bytes, const std::string& what,
                                                     const ArchiveLimits& limits) {
  ZipLimits zip;
  zip.entries = limits.entries;
  zip.name_bytes = limits.name_bytes;
  zip.ratio = limits.ratio;
  FORERUN_TRY(ZipArchive archive, ZipArchive::open(bytes, what, zip));
  return std::shared_ptr<ArchiveFiles>(std::make_shared<ZipFiles>(std::move(archive), what, limits));
}

bool is_archive(std::string_view bytes) { return is_zip(bytes) || is_tar(bytes) || is_compressed(bytes); }

Result<std::shared_ptr<ArchiveFiles>> open_archive(std::string_view bytes, const std::string& what,
                                                   const ArchiveLimits& limits) {
  return is_zip(bytes) ? open_zip_files(bytes, what, limits) : open_tar_files(bytes, what, limits);
}

}  // namespace forerun
