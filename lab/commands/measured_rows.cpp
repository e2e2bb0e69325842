#include "commands/measured_rows.hpp"

#include <cstdio>
#include <filesystem>

#include "dataset/load_campaign.hpp"

namespace forerun {

namespace fs = std::filesystem;

Result<std::vector<Example>> load_measured_rows(const std::string& path, const std::string& device) {
  if (!fs::exists(path)) return not_found(path + ": no such file or folder");
  const bool is_file = fs::is_regular_file(path);
  fs::path folder = is_file ? fs::path(path).parent_path() : fs::path(path);
  if (folder.empty()) folder = ".";
  FORERUN_TRY(Dataset data,
              load_campaign(folder.string(), {.device = fs::exists(folder / "campaign.json") ? "" : device}));
  for (const SkippedRows& skipped : data.skipped)
    std::fprintf(stderr, "%lld rows left out: %s\n", static_cast<long long>(skipped.rows), skipped.reason.c_str());
  if (!is_file) return std::move(data.examples);
  std::string stem = fs::path(path).filename().string();
  stem = stem.substr(0, stem.find(".csv"));
  std::erase_if(data.examples, [&](const Example& e) { return !e.row_id.starts_with(stem + "/"); });
  return std::move(data.examples);
}

}  // namespace forerun
