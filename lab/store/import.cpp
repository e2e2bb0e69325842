#include "store/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_set>
#include <utility>

#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 5;  // ids that a summary names

// The keys that an import has written: a second row of a key replaces the first, which nobody would notice.
class SeenKeys {
 public:
  explicit SeenKeys(ImportSummary& summary) : summary_(summary) {}
  void add(const Measurement& row) {
    std::string key;
    for (const std::string* part : {&row.campaign, &row.device, &row.row_id}) key.append(*part).push_back('\0');
    if (keys_.insert(std::move(key)).second) return;
    ++summary_.replaced;
    if (summary_.replaced_ids.size() < kMostNamed) summary_.replaced_ids.push_back(row.row_id);
  }

 private:
  ImportSummary& summary_;
  std::unordered_set<std::string> keys_;
};

// Collects rows and writes them batch by batch; the file's import is noted as running until finish().
class Batcher {
 public:
  Batcher(Store& store, const ImportFile& file, SeenKeys& seen) : store_(store), file_(file), seen_(seen) {}

  Status add(Measurement row) {
    if (row.source.empty()) row.source = fs::path(file_.path).filename().string();
    if (!file_.options.campaign.empty()) row.campaign = file_.options.campaign;
    if (!file_.options.license.empty()) row.license = file_.options.license;
    if (file_.options.complete_row) file_.options.complete_row(row);
    if (rows_ == 0 && batch_.empty()) FORERUN_CHECK(begin(row.campaign));
    seen_.add(row);
    batch_.push_back(std::move(row));
    return batch_.size() >= file_.options.batch_rows ? flush() : ok();
  }

  Result<std::int64_t> finish() {
    FORERUN_CHECK(flush());
    if (rows_ == 0) return bad_input(file_.path + ": no rows");
    record_.rows = rows_;
    record_.state = "complete";
    record_.at = now_iso();
    FORERUN_CHECK(store_.note_import(record_));
    return rows_;
  }

 private:
  Status begin(const std::string& campaign) {
    std::error_code ignored;
    const fs::path path = fs::weakly_canonical(file_.path, ignored);
    record_ = {
        .campaign = campaign, .source = path.empty() ? file_.path : path.string(), .state = "running", .at = now_iso()};
    return store_.note_import(record_);
  }

  Status flush() {
    if (batch_.empty()) return ok();
    FORERUN_CHECK(store_.upsert(batch_));
    rows_ += static_cast<std::int64_t>(batch_.size());
    batch_.clear();
    if (file_.options.progress) file_.options.progress({fs::path(file_.path).filename().string(), rows_});
    return ok();
  }

  Store& store_;
  const ImportFile& file_;
  SeenKeys& seen_;
  std::vector<Measurement> batch_;
  std::int64_t rows_ = 0;
  ImportRecord record_;
};

std::string stem_of(const fs::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view ending : {".gz", ".xz", ".csv", ".jsonl"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

bool is_json_lines(const fs::path& path) { return path.filename().string().find(".jsonl") != std::string::npos; }

bool is_candidate(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{".csv", ".csv.gz", ".csv.xz", ".jsonl", ".jsonl.gz", ".jsonl.xz"},
      [&](std::string_view ending) { return name.ends_with(ending); });
}

// False when the file is not of a known format.
Result<bool> read_rows(const ImportFile& file, const RowSink& sink) {
  const std::string& format = file.options.format;
  if (format == "jsonl" || (format.empty() && is_json_lines(file.path))) {
    FORERUN_CHECK(import_json_lines(file, sink));
    return true;
  }
  FORERUN_TRY(CsvReader csv, CsvReader::open(file.path));
  if (format == "csv" || (format.empty() && is_exported_csv(csv))) {
    if (!is_exported_csv(csv)) return bad_input(file.path + ": not a CSV file as 'store export' writes it");
    FORERUN_CHECK(import_exported_csv(csv, file, sink));
    return true;
  }
  const PublicTable* table = find_public_table(file.stem);
  if (table != nullptr && (format.empty() || format == format_of(*table))) {
    FORERUN_CHECK(import_public_csv(*table, csv, file, sink));
    return true;
  }
  if ((format.empty() || format == "h200" || format == "campaign") && is_campaign_csv(csv)) {
    FORERUN_CHECK(import_campaign_csv(csv, file, sink));
    return true;
  }
  return false;
}

// nullopt when the file is not of a known format.
Result<std::optional<std::int64_t>> import_file(Store& store, const fs::path& path, const ImportOptions& options,
                                                SeenKeys& seen) {
  const ImportFile file{path.string(), stem_of(path), options};
  Batcher batcher(store, file, seen);
  FORERUN_TRY(const bool known, read_rows(file, [&](Measurement row) { return batcher.add(std::move(row)); }));
  if (!known) return std::optional<std::int64_t>{};
  FORERUN_TRY(const std::int64_t rows, batcher.finish());
  return std::optional(rows);
}

}  // namespace

std::vector<std::string_view> import_formats() {
  std::vector<std::string_view> formats = {"campaign", "csv", "h200", "jsonl"};
  for (const std::string_view format : public_formats()) formats.push_back(format);
  return formats;
}

Result<ImportSummary> import_path(Store& store, const std::string& path, const ImportOptions& options) {
  if (!options.format.empty() && std::ranges::count(import_formats(), options.format) == 0) {
    return bad_input(fmt::format("format '{}' is not known", options.format));
  }
  ImportSummary summary;
  SeenKeys seen(summary);
  std::error_code failure;
  if (!fs::is_directory(path, failure)) {
    FORERUN_TRY(const auto rows, import_file(store, path, options, seen));
    if (!rows) return bad_input(path + ": its name and columns are of no known format (see --format)");
    summary.files = 1;
    summary.rows = *rows;
    return summary;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, failure)) {
    if (entry.is_regular_file() && is_candidate(entry.path())) files.push_back(entry.path());
  }
  if (failure) return Error{ErrorKind::Io, path + ": cannot list: " + failure.message()};
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    FORERUN_TRY(const auto rows, import_file(store, file, options, seen));
    if (rows) {
      ++summary.files;
      summary.rows += *rows;
    } else {
      summary.skipped.push_back(file.filename().string());
    }
  }
  return summary;
}

}  // namespace forerun
