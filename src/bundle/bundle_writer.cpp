// Writes a bundle: header, table, manifest, aligned sections; to a temporary file that then takes the name.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bundle/layout.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

template <typename T>
void put(std::string& out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

Error io_error(const std::string& path, const char* what) {
  return {ErrorKind::Io, fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno))};
}

Status write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io_error(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file) != 0) return io_error(path, "write");
  return ok();
}

}  // namespace

Status BundleWriter::add_section(std::string name, std::string bytes) {
  if (name.empty() || name.size() > kMaxSectionName || name.find('\0') != std::string::npos) {
    return internal_error(fmt::format("a section's name has 1 to {} bytes, not '{}'", kMaxSectionName, name));
  }
  if (sections_.size() == kMaxBundleSections) return internal_error("a bundle has too many sections");
  for (const auto& [other, content] : sections_) {
    if (other == name) return internal_error(fmt::format("section '{}' is added twice", name));
  }
  sections_.emplace_back(std::move(name), std::move(bytes));
  return ok();
}

Result<std::string> BundleWriter::bytes() const {
  Json manifest = {
      {"name", manifest_.name},
      {"kind", manifest_.kind},
      {"metrics", manifest_.metrics},
      {"schema",
       {{"name", manifest_.schema.name}, {"version", manifest_.schema.version}, {"hash", manifest_.schema.hash}}},
      {"parts", Json::object()}};
  for (const auto& [key, text] : manifest_.parts) {
    if (nesting_of(text) > kMaxManifestNesting - 2)
      return internal_error(fmt::format("part '{}' of a manifest nests too deeply", key));
    Json part = Json::parse(text, nullptr, false);
    if (part.is_discarded()) return internal_error(fmt::format("part '{}' of a manifest is not JSON", key));
    manifest["parts"][key] = std::move(part);
  }
  const std::string text = manifest.dump();
  if (text.size() > kMaxManifestBytes) return internal_error("a manifest is too large");

  const std::size_t manifest_at = kBundleHeaderBytes + sections_.size() * kTableRowBytes;
  std::string out(manifest_at, '\0');
  out += text;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const auto& [name, content] = sections_[i];
    out.resize(aligned_up(out.size()), '\0');
    const std::size_t row = kBundleHeaderBytes + i * kTableRowBytes;
    std::memcpy(out.data() + row, name.data(), name.size());
    put(out, row + kRowOffsetAt, static_cast<std::uint64_t>(out.size()));
    put(out, row + kRowSizeAt, static_cast<std::uint64_t>(content.size()));
    put(out, row + kRowChecksumAt, bundle_checksum(content, 0));
    out += content;
  }
  std::memcpy(out.data(), kBundleMagic.data(), kBundleMagic.size());
  put(out, kVersionAt, kBundleVersion);
  put(out, kSectionCountAt, static_cast<std::uint32_t>(sections_.size()));
  put(out, kFileSizeAt, static_cast<std::uint64_t>(out.size()));
  put(out, kManifestSizeAt, static_cast<std::uint64_t>(text.size()));
  put(out, kManifestChecksumAt, bundle_checksum(text, 0));
  const std::string_view view = out;
  const std::uint32_t head = bundle_checksum(view.substr(0, kHeadChecksumAt), 0);
  put(out, kHeadChecksumAt, bundle_checksum(view.substr(kBundleHeaderBytes, sections_.size() * kTableRowBytes), head));
  return out;
}

Status BundleWriter::write(const std::string& path) const {
  FORERUN_TRY(const std::string content, bytes());
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return io_error(temporary, "create");
  ::fchmod(file, 0644);
  Status status = write_all(file, content, temporary);
  if (::close(file) != 0 && status) status = io_error(temporary, "write");
  if (status && std::rename(temporary.c_str(), path.c_str()) != 0) status = io_error(path, "rename to");
  if (!status) ::unlink(temporary.c_str());
  return status;
}

}  // namespace forerun
