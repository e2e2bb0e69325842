// The predictor file: a JSON manifest that says what the predictor is, then named binary sections with its weights.
// Grammar: docs/method/bundles.md. A Bundle is fully checked when it is opened (bounds, checksums, counts); sections
// are not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.hpp"
#include "base/result.hpp"

namespace forerun {

inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::size_t kBundleAlignment = 64;  // of sections, from the start of the file
inline constexpr std::size_t kMaxBundleSections = 4096;
inline constexpr std::size_t kMaxSectionName = 47;  // bytes
inline constexpr std::size_t kMaxManifestBytes = std::size_t{16} << 20;

// The schema of a predictor's inputs; features/ states the program's, which is compared before a predictor is loaded.
struct FeatureSchema {
  std::string name;  // e.g. "gnn-nodes"
  std::uint32_t version = 0;
  std::uint64_t hash =
      0;  // of what its encoder produces on a fixed sample, its vocabularies and names (features/schema_sample.hpp)
  bool operator==(const FeatureSchema&) const = default;
};

struct BundleManifest {
  std::string name = {};                  // of the predictor, as reports show it
  std::string kind = {};                  // "trees", "gnn" or "correction"
  std::vector<std::string> metrics = {};  // what it predicts, report keys
  FeatureSchema schema = {};
  // Further parts, each a JSON value as text: "provenance" (what it was trained on), "evaluation" (the report),
  // "conformal" (interval tables), and whatever the kind needs ("architecture", …).
  std::map<std::string, std::string, std::less<>> parts = {};
};

// Immutable and safe to share between threads; copies share the mapping.
class Bundle {
 public:
  static Result<Bundle> open(const std::string& path);
  // REQUIRES: `bytes` outlive the bundle and its copies (an embedded file). `name` stands for the file in errors.
  static Result<Bundle> from_bytes(std::string_view bytes, std::string name);

  [[nodiscard]] const BundleManifest& manifest() const { return manifest_; }
  [[nodiscard]] std::string_view manifest_text() const { return manifest_text_; }
  // JSON text of a part of the manifest; an error that names the file when there is none.
  [[nodiscard]] Result<std::string_view> part(std::string_view name) const;
  // Bytes of a section; valid as long as the bundle. Aligned to 64 when the file was mapped: copy numbers out of
  // embedded bytes with memcpy.
  [[nodiscard]] Result<std::string_view> section(std::string_view name) const;
  [[nodiscard]] std::uint32_t section_checksum(
      std::string_view name) const;  // as stored; 0 where there is none of that name
  [[nodiscard]] std::vector<std::string> section_names() const;
  // An error that names the difference when the bundle was made for other features than `expected`.
  [[nodiscard]] Status check_schema(const FeatureSchema& expected) const;
  [[nodiscard]] const std::string& file_name() const { return file_name_; }

 private:
  Bundle() = default;
  Status parse(std::string_view bytes);

  std::string file_name_;
  std::shared_ptr<const MappedFile> file_;  // null for embedded bytes
  BundleManifest manifest_;
  std::string_view manifest_text_;
  struct Section {
    std::string_view bytes;
    std::uint32_t checksum = 0;
  };
  std::map<std::string, Section, std::less<>> sections_;
};

// Collects a bundle and writes it. The same input gives the same bytes.
class BundleWriter {
 public:
  explicit BundleWriter(BundleManifest manifest) : manifest_(std::move(manifest)) {}
  // Errors: a name that is empty, too long or used twice.
  Status add_section(std::string name, std::string bytes);
  // The whole file. Errors: a part that is not JSON, or nests deeper than a reader takes.
  [[nodiscard]] Result<std::string> bytes() const;
  // Writes a temporary file and renames it to `path`: readers see the old file or the new one, never half of one.
  [[nodiscard]] Status write(const std::string& path) const;

 private:
  BundleManifest manifest_;
  std::vector<std::pair<std::string, std::string>> sections_;
};

}  // namespace forerun
