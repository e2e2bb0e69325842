// Reads a bundle: every offset, size, checksum and name is checked before anything is used.
#include "bundle/bundle.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bundle/layout.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

template <typename T>
T read_number(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

const Json* find_member(const Json& object, const char* key, Json::value_t type) {
  const auto found = object.find(key);
  return found == object.end() || found->type() != type ? nullptr : &*found;
}

}  // namespace

int nesting_of(std::string_view json) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

std::uint32_t bundle_checksum(std::string_view bytes, std::uint32_t start) {
  return static_cast<std::uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Result<Bundle> Bundle::open(const std::string& path) {
  FORERUN_TRY(MappedFile file, MappedFile::open(path));
  Bundle bundle;
  bundle.file_name_ = path;
  bundle.file_ = std::make_shared<const MappedFile>(std::move(file));
  FORERUN_CHECK(bundle.parse(bundle.file_->bytes()));
  return bundle;
}

Result<Bundle> Bundle::from_bytes(std::string_view bytes, std::string name) {
  Bundle bundle;
  bundle.file_name_ = std::move(name);
  FORERUN_CHECK(bundle.parse(bytes));
  return bundle;
}

Status Bundle::parse(std::string_view bytes) {
  const auto wrong = [this](std::string what) {
    return bad_input(
        fmt::format("{}: not a usable predictor file: {}; get it again or train it anew", file_name_, what));
  };
  if (bytes.size() < kBundleHeaderBytes) return wrong(fmt::format("{} bytes are less than a header", bytes.size()));
  if (bytes.substr(0, kBundleMagic.size()) != kBundleMagic)
    return wrong("not a bundle: it does not begin with FORERUN1");
  const auto version = read_number<std::uint32_t>(bytes, kVersionAt);
  if (version != kBundleVersion)
    return wrong(fmt::format("its version is {}, this program reads {}", version, kBundleVersion));
  const auto count = read_number<std::uint32_t>(bytes, kSectionCountAt);
  const auto file_size = read_number<std::uint64_t>(bytes, kFileSizeAt);
  const auto manifest_size = read_number<std::uint64_t>(bytes, kManifestSizeAt);
  if (file_size != bytes.size())
    return wrong(fmt::format("it is {} bytes long, its header says {}", bytes.size(), file_size));
  if (count > kMaxBundleSections)
    return wrong(fmt::format("{} sections, at most {} are allowed", count, kMaxBundleSections));
  if (manifest_size > kMaxManifestBytes)
    return wrong(fmt::format("its manifest of {} bytes is too large", manifest_size));
  const std::size_t manifest_at = kBundleHeaderBytes + count * kTableRowBytes;
  if (manifest_at > bytes.size() || manifest_size > bytes.size() - manifest_at) return wrong("the file is truncated");
  const std::uint32_t head = bundle_checksum(bytes.substr(0, kHeadChecksumAt), 0);
  const std::string_view table = bytes.substr(kBundleHeaderBytes, count * kTableRowBytes);
  if (bundle_checksum(table, head) != read_number<std::uint32_t>(bytes, kHeadChecksumAt)) {
    return wrong("the checksum of its header does not match");
  }
  manifest_text_ = bytes.substr(manifest_at, manifest_size);
  if (bundle_checksum(manifest_text_, 0) != read_number<std::uint32_t>(bytes, kManifestChecksumAt)) {
    return wrong("the checksum of its manifest does not match");
  }

  std::size_t end = manifest_at + manifest_size;  // sections follow in order, each aligned, gaps are zero
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view row = table.substr(i * kTableRowBytes, kTableRowBytes);
    std::string_view name = row.substr(0, kMaxSectionName + 1);
    const std::size_t stop = name.find('\0');
    if (stop == std::string_view::npos || stop == 0)
      return wrong(fmt::format("the name of section {} is not valid", i));
    name = name.substr(0, stop);
    const auto offset = read_number<std::uint64_t>(row, kRowOffsetAt);
    const auto size = read_number<std::uint64_t>(row, kRowSizeAt);
    const bool inside = offset == aligned_up(end) && offset <= bytes.size() && size <= bytes.size() - offset;
    if (!inside) return wrong(fmt::format("section {} overlaps its neighbour or leaves the file", i));
    const std::string_view content = bytes.substr(offset, size);
    const auto checksum = read_number<std::uint32_t>(row, kRowChecksumAt);
    if (bundle_checksum(content, 0) != checksum) {
      return wrong(fmt::format("the checksum of section {} does not match", i));
    }
    if (!sections_.emplace(name, Section{content, checksum}).second)
      return wrong(fmt::format("section {} repeats the name of another section", i));
    end = offset + size;
  }
  if (end != bytes.size()) return wrong(fmt::format("{} bytes follow its last section", bytes.size() - end));

  if (nesting_of(manifest_text_) > kMaxManifestNesting) return wrong("its manifest nests too deeply");
  const Json manifest = Json::parse(manifest_text_, nullptr, false);
  if (!manifest.is_object()) return wrong("its manifest is not a JSON object");
  const Json* name = find_member(manifest, "name", Json::value_t::string);
  const Json* kind = find_member(manifest, "kind", Json::value_t::string);
  const Json* metrics = find_member(manifest, "metrics", Json::value_t::array);
  const Json* schema = find_member(manifest, "schema", Json::value_t::object);
  const Json* parts = find_member(manifest, "parts", Json::value_t::object);
  if (!name || !kind || !metrics || !schema || !parts) {
    return wrong("its manifest lacks name, kind, metrics, schema or parts");
  }
  manifest_.name = name->get<std::string>();
  manifest_.kind = kind->get<std::string>();
  for (const Json& metric : *metrics) {
    if (!metric.is_string()) return wrong("a metric's name in its manifest is not text");
    manifest_.metrics.push_back(metric.get<std::string>());
  }
  const Json* schema_name = find_member(*schema, "name", Json::value_t::string);
  const Json* schema_version = find_member(*schema, "version", Json::value_t::number_unsigned);
  const Json* schema_hash = find_member(*schema, "hash", Json::value_t::number_unsigned);
  if (!schema_name || !schema_version || !schema_hash) return wrong("its schema lacks name, version or hash");
  manifest_.schema = {schema_name->get<std::string>(), schema_version->get<std::uint32_t>(),
                      schema_hash->get<std::uint64_t>()};
  for (const auto& [key, value] : parts->items()) manifest_.parts.emplace(key, value.dump());
  return ok();
}

Result<std::string_view> Bundle::part(std::string_view name) const {
  const auto found = manifest_.parts.find(name);
  if (found == manifest_.parts.end())
    return bad_input(fmt::format("{}: its manifest has no part '{}'", file_name_, name));
  return std::string_view(found->second);
}

Result<std::string_view> Bundle::section(std::string_view name) const {
  const auto found = sections_.find(name);
  if (found == sections_.end()) return bad_input(fmt::format("{}: it has no section '{}'", file_name_, name));
  return found->second.bytes;
}

std::uint32_t Bundle::section_checksum(std::string_view name) const {
  const auto found = sections_.find(name);
  return found == sections_.end() ? 0 : found->second.checksum;
}

std::vector<std::string> Bundle::section_names() const {
  std::vector<std::string> names;
  for (const auto& [name, section] : sections_) names.push_back(name);
  return names;
}

Status Bundle::check_schema(const FeatureSchema& expected) const {
  const FeatureSchema& own = manifest_.schema;
  if (own == expected) return ok();
  return bad_input(fmt::format(
      "{}: predictor '{}' was trained on features {} version {} with values of hash {:016x}, this program computes {} "
      "version {} with {:016x}: train it anew with this program, or use it with the program it was trained for",
      file_name_, manifest_.name, own.name, own.version, own.hash, expected.name, expected.version, expected.hash));
}

}  // namespace forerun
