#include "base/folder.hpp"

#include <algorithm>
#include <limits>
#include <system_error>

#include "base/mapped_file.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListed = 10'000;
constexpr int kMostDepth = 8;
constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();

bool stays_below(const fs::path& path) {
  return !path.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// Files of editors and of archivers, never a network's.
bool is_hidden(std::string_view name) {
  for (std::size_t from = 0; from < name.size();) {
    const std::size_t slash = std::min(name.find('/', from), name.size());
    const std::string_view part = name.substr(from, slash - from);
    if (part.starts_with('.') || part == "__MACOSX") return true;
    from = slash + 1;
  }
  return false;
}

Error too_many(const fs::path& path) {
  return {ErrorKind::TooLarge, path.string() + ": more than " + std::to_string(kMostListed) +
                                   " files; name the network's own file or folder"};
}

}  // namespace

FileBytes::FileBytes(std::string text) {
  auto kept = std::make_shared<const std::string>(std::move(text));
  view_ = *kept;
  keeper_ = std::move(kept);
}

Folder::Folder(const fs::path& path) : path_(path) {}

Folder::Folder(std::shared_ptr<ArchiveFiles> archive, fs::path shown)
    : path_(std::move(shown)), archive_(std::move(archive)) {}

std::string Folder::path_of(std::string_view name) const { return (path_ / name).string(); }

bool Folder::holds(std::string_view name) const {
  if (name.find('\0') != std::string_view::npos || name.find('\\') != std::string_view::npos || !stays_below(name))
    return false;
  if (archive_) return true;
  std::error_code failure;
  const fs::path folder = fs::weakly_canonical(path_, failure);
  if (failure) return false;
  const fs::path file = fs::weakly_canonical(path_ / name, failure);
  return !failure && stays_below(file.lexically_relative(folder));
}

std::optional<std::size_t> Folder::find(std::string_view name) const {
  const std::string wanted = prefix_ + fs::path(name).lexically_normal().generic_string();
  const std::vector<FolderFile>& files = archive_->files();
  const auto found = std::lower_bound(files.begin(), files.end(), wanted,
                                      [](const FolderFile& file, const std::string& text) { return file.name < text; });
  if (found == files.end() || found->name != wanted) return std::nullopt;
  return std::size_t(found - files.begin());
}

std::optional<std::uint64_t> Folder::size_of(std::string_view name) const {
  if (!available()) return std::nullopt;
  if (archive_) {
    const auto index = find(name);
    return index ? std::optional(archive_->files()[*index].size) : std::nullopt;
  }
  std::error_code failure;
  if (!fs::is_regular_file(path_ / name, failure)) return std::nullopt;
  const std::uintmax_t size = fs::file_size(path_ / name, failure);
  return failure ? std::nullopt : std::optional<std::uint64_t>(size);
}

Result<FileBytes> Folder::open(std::string_view name) const { return head(name, kWhole); }

Result<FileBytes> Folder::head(std::string_view name, std::uint64_t most) const {
  if (archive_) {
    const auto index = find(name);
    if (!index) return not_found(path_of(name) + ": no such file in the archive");
    return archive_->open(*index, most);
  }
  FORERUN_TRY(MappedFile file, MappedFile::open(path_of(name)));
  auto kept = std::make_shared<const MappedFile>(std::move(file));
  const std::string_view bytes = kept->bytes();
  return FileBytes(bytes.substr(0, std::size_t(std::min<std::uint64_t>(most, bytes.size()))), std::move(kept));
}

Folder Folder::below(std::string_view name) const {
  Folder folder = *this;
  if (name.empty()) return folder;
  folder.path_ /= name;
  if (archive_) folder.prefix_ += std::string(name) + "/";
  return folder;
}

Result<std::vector<FolderFile>> Folder::list() const {
  std::vector<FolderFile> found;
  if (archive_) {
    const std::vector<FolderFile>& files = archive_->files();
    auto at = std::lower_bound(files.begin(), files.end(), prefix_,
                               [](const FolderFile& file, const std::string& text) { return file.name < text; });
    for (; at != files.end() && at->name.starts_with(prefix_); ++at) {
      const std::string_view name = std::string_view(at->name).substr(prefix_.size());
      if (is_hidden(name) || std::count(name.begin(), name.end(), '/') > kMostDepth) continue;
      if (found.size() >= kMostListed) return too_many(path_);
      found.push_back({std::string(name), at->size});
    }
    return found;
  }
  std::error_code failure;
  std::size_t seen = 0;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(path_, kOptions, failure), end; at != end; at.increment(failure)) {
    if (failure) break;
    if (++seen > 4 * kMostListed) return too_many(path_);
    const std::string name = at->path().lexically_relative(path_).generic_string();
    const bool skipped = is_hidden(name);
    if (at->is_directory(failure) && (skipped || at.depth() >= kMostDepth)) at.disable_recursion_pending();
    if (skipped || !at->is_regular_file(failure)) continue;
    if (found.size() >= kMostListed) return too_many(path_);
    found.push_back({name, at->file_size(failure)});
  }
  std::sort(found.begin(), found.end(), [](const FolderFile& a, const FolderFile& b) { return a.name < b.name; });
  return found;
}

std::vector<FolderFile> Folder::list_here() const {
  std::vector<FolderFile> found;
  if (archive_) {
    const auto all = list();
    if (!all) return found;
    std::copy_if(all->begin(), all->end(), std::back_inserter(found),
                 [](const FolderFile& file) { return file.name.find('/') == std::string::npos; });
    return found;
  }
  std::error_code failure;
  for (fs::directory_iterator at(path_, failure), end; at != end && found.size() < kMostListed; at.increment(failure)) {
    if (failure) break;
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    found.push_back({at->path().filename().string(), at->file_size(ignored)});
  }
  std::sort(found.begin(), found.end(), [](const FolderFile& a, const FolderFile& b) { return a.name < b.name; });
  return found;
}

}  // namespace forerun
