// forerun-lab store import | export | list | stats
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/campaign_hashes.hpp"
#include "commands/command.hpp"
#include "commands/default_store.hpp"
#include "store/export.hpp"
#include "store/import.hpp"
#include "store/store.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct StoreOptions {
  std::string url = default_store();
  std::vector<std::string> paths;
  ImportOptions import;
  StoreFilter filter;
  std::vector<std::string> settings;  // NAME=VALUE
  std::string format;
  std::string output = "-";
  bool json = false;
};

// A folder that holds no tables itself stands for its sub-folders; anything else for itself.
std::vector<std::string> campaigns_in(const std::string& path) {
  std::error_code ignored;
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".csv") != std::string::npos || name.find(".jsonl") != std::string::npos) return {path};
    if (entry.is_directory()) folders.push_back(entry.path().string());
  }
  std::ranges::sort(folders);
  return folders.empty() ? std::vector{path} : folders;
}

// Rows get the hashes of the graphs that lie in the folder; rows of a folder without graphs are imported without.
Result<ImportSummary> import_one(Store& store, const std::string& path, const ImportOptions& given) {
  ImportOptions options = given;
  CampaignHashes hashes;
  if (fs::is_directory(path)) {
    auto found = campaign_hashes(path, options.device);
    if (found) hashes = std::move(*found);
    const std::string warning = found ? hashes.warning : found.error().message + ": rows are imported without hashes";
    if (!warning.empty()) fmt::print(stderr, "forerun-lab: {}: {}\n", path, warning);
  }
  options.complete_row = [&](Measurement& row) {
    const auto hash = hashes.by_row.find(row.row_id);
    if (hash != hashes.by_row.end() && row.workload_hash.empty()) row.workload_hash = hash->second;
  };
  return import_path(store, path, options);
}

Status run_import(StoreOptions& options) {
  FORERUN_TRY(auto store, open_store(options.url, OpenMode::Write));
  const bool is_terminal = ::isatty(STDERR_FILENO) != 0;
  options.import.format = options.format;
  options.import.progress = [&](const ImportProgress& progress) {
    if (is_terminal) fmt::print(stderr, "\r{}: {} rows ", progress.file, progress.rows);
  };
  std::int64_t rows = 0;
  std::int64_t replaced = 0;
  std::int64_t files = 0;
  for (const std::string& given : options.paths) {
    for (const std::string& path : campaigns_in(given)) {
      const auto summary = import_one(*store, path, options.import);
      if (is_terminal) fmt::print(stderr, "\n");
      if (!summary) return summary.error();
      for (const std::string& file : summary->skipped) {
        fmt::print(stderr, "forerun-lab: {}: skipped, not measurements of a known format\n", file);
      }
      if (summary->replaced > 0) {
        fmt::print(stderr,
                   "forerun-lab: {}: {} rows have the id of an earlier row and replaced it: {}{}; give each "
                   "measurement its own id\n",
                   path, summary->replaced, fmt::join(summary->replaced_ids, ", "),
                   summary->replaced > std::int64_t(summary->replaced_ids.size()) ? ", …" : "");
      }
      rows += summary->rows;
      replaced += summary->replaced;
      files += summary->files;
    }
  }
  if (files == 0) return bad_input(options.paths[0] + ": no file in it is of a known format");
  fmt::print("{} rows of {} files imported into {}\n", rows - replaced, files, options.url);
  return ok();
}

Status run_export(StoreOptions& options) {
  for (const std::string& pair : options.settings) {
    const std::size_t cut = pair.find('=');
    if (cut == std::string::npos) return bad_input(pair + ": --setting takes NAME=VALUE");
    options.filter.settings[pair.substr(0, cut)] = pair.substr(cut + 1);
  }
  std::string format = options.format;
  if (format.empty()) format = options.output.ends_with(".jsonl") ? "jsonl" : "csv";
  if (format != "csv" && format != "jsonl") return bad_input("export writes csv or jsonl, not '" + format + "'");
  FORERUN_TRY(auto store, open_store(options.url, OpenMode::Read));
  const bool to_stdout = options.output == "-";
  const std::string partial = options.output + ".partial";  // a reader never sees half a file
  std::FILE* out = to_stdout ? stdout : std::fopen(partial.c_str(), "wb");
  const auto failed = [&] {
    return Error{ErrorKind::Io, fmt::format("{}: cannot write: {}", options.output, std::strerror(errno))};
  };
  if (out == nullptr) return failed();
  const TextSink write = [&](std::string_view text) -> Status {
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) return failed();
    return ok();
  };
  const auto rows =
      format == "csv" ? export_csv(*store, options.filter, write) : export_json_lines(*store, options.filter, write);
  const bool is_flushed = (to_stdout ? std::fflush(out) : std::fclose(out)) == 0;
  if (!rows || !is_flushed) {
    if (!to_stdout) std::remove(partial.c_str());
    return rows ? failed() : rows.error();
  }
  if (!to_stdout) {
    if (std::rename(partial.c_str(), options.output.c_str()) != 0) return failed();
    fmt::print(stderr, "{} rows written to {}\n", *rows, options.output);
  }
  return ok();
}

Status run_list(StoreOptions& options) {
  FORERUN_TRY(auto store, open_store(options.url, OpenMode::Read));
  FORERUN_TRY(const auto campaigns, store->campaigns());
  FORERUN_TRY(const auto imports, store->imports());
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const CampaignSummary& c : campaigns) {
      list.push_back({{"campaign", c.campaign},
                      {"device", c.device},
                      {"rows", c.rows},
                      {"ok", c.ok_rows},
                      {"networks", c.networks},
                      {"license", c.license},
                      {"first", c.first_measured_at},
                      {"last", c.last_measured_at}});
    }
    fmt::print("{}\n", list.dump());
    return ok();
  }
  std::size_t width = 8;
  std::size_t device_width = 6;
  for (const CampaignSummary& c : campaigns) {
    width = std::max(width, c.campaign.size());
    device_width = std::max(device_width, c.device.size());
  }
  fmt::print("{:<{}}  {:<{}}  {:>9}  {:>9}  {:>8}  {:<10}  {}\n", "campaign", width, "device", device_width, "rows",
             "ok", "networks", "last", "licence");
  for (const CampaignSummary& c : campaigns) {
    fmt::print("{:<{}}  {:<{}}  {:>9}  {:>9}  {:>8}  {:<10}  {}\n", c.campaign, width, c.device, device_width, c.rows,
               c.ok_rows, c.networks, c.last_measured_at.substr(0, 10), c.license);
  }
  for (const ImportRecord& import : imports) {
    if (import.state != "complete") {
      fmt::print(stderr, "forerun-lab: {} (campaign {}) was not imported to its end: import it again\n", import.source,
                 import.campaign);
    }
  }
  return ok();
}

// Opens for writing, so that an older store is brought up to date here.
Status run_stats(StoreOptions& options) {
  const bool is_file = options.url.find("://") == std::string::npos;
  const std::string path = options.url.starts_with("sqlite:") ? options.url.substr(7) : options.url;
  if (is_file && !fs::exists(path)) return not_found(path + ": no such store");
  FORERUN_TRY(auto store, open_store(options.url, OpenMode::Write));
  FORERUN_TRY(const StoreStats stats, store->stats());
  if (options.json) {
    const nlohmann::ordered_json json = {
        {"backend", stats.backend}, {"schema", stats.schema_version}, {"rows", stats.rows},
        {"ok", stats.ok_rows},      {"with_hash", stats.hashed_rows}, {"campaigns", stats.campaigns},
        {"devices", stats.devices}, {"networks", stats.networks}};
    fmt::print("{}\n", json.dump());
    return ok();
  }
  fmt::print("{}, schema {}\n{} rows: {} ok, {} with a workload's hash\n{} campaigns, {} devices, {} networks\n",
             stats.backend, stats.schema_version, stats.rows, stats.ok_rows, stats.hashed_rows, stats.campaigns,
             stats.devices, stats.networks);
  return ok();
}

}  // namespace

std::string default_store() {
  if (const char* url = std::getenv("FORERUN_STORE"); url != nullptr && *url != '\0') return url;
  return "forerun-measurements.db";
}

LabAction declare_store(CLI::App& app) {
  auto options = std::make_shared<StoreOptions>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* summary) {
    CLI::App* sub = app.add_subcommand(name, summary);
    sub->add_option("--store", options->url,
                    "SQLite file or postgresql://… (default: $FORERUN_STORE or forerun-measurements.db)");
    return sub;
  };
  CLI::App* import = add("import", "Take in files, or every known file of a folder");
  import->add_option("path", options->paths, "Files or folders: CSV or JSON lines, plain, gzip or xz")->required();
  std::string formats;
  for (const std::string_view format : import_formats()) formats += (formats.empty() ? "" : ", ") + std::string(format);
  import->add_option("--format", options->format, "One of: " + formats + " (default: found from name and header)");
  import->add_option("--campaign", options->import.campaign, "Name of the campaign");
  import->add_option("--device", options->import.device, "Device of rows that do not say");
  import->add_option("--license", options->import.license, "Licence of the rows");
  CLI::App* output = add("export", "Write rows as CSV or JSON lines");
  output->add_option("--format", options->format, "csv or jsonl (default: from the output's name, else csv)");
  output->add_option("-o,--output", options->output, "File; - is stdout");
  output->add_option("--campaign", options->filter.campaign);
  output->add_option("--device", options->filter.device);
  output->add_option("--network", options->filter.network);
  output->add_option("--family", options->filter.family);
  output->add_option("--status", options->filter.status);
  output->add_option("--setting", options->settings, "NAME=VALUE, repeatable");
  output->add_option("--limit", options->filter.limit);
  CLI::App* list = add("list", "Campaigns and their devices");
  list->add_flag("--json", options->json);
  CLI::App* stats = add("stats", "Counts; brings an older store up to date");
  stats->add_flag("--json", options->json);
  return [=]() -> Status {
    if (import->parsed()) return run_import(*options);
    if (output->parsed()) return run_export(*options);
    if (list->parsed()) return run_list(*options);
    return run_stats(*options);
  };
}

}  // namespace forerun
