// Our own campaigns' CSV files: one row per run, a column per setting or metric.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// Columns that are fields of Measurement.
struct NamedColumn {
  std::string_view column;
  std::string Measurement::*member;
};
constexpr std::array<NamedColumn, 9> kNamed = {{{"arch", &Measurement::network},
                                                {"model", &Measurement::network},
                                                {"network", &Measurement::network},
                                                {"family", &Measurement::family},
                                                {"graph", &Measurement::graph},
                                                {"config", &Measurement::graph},
                                                {"device", &Measurement::device},
                                                {"status", &Measurement::status},
                                                {"measured_at", &Measurement::measured_at}}};
constexpr std::array<std::string_view, 7> kSoftware = {"driver",      "torch",        "cuda",  "cudnn",
                                                       "torchvision", "transformers", "python"};
// A metric has its unit in its name, or is one of a few counts.
constexpr std::array<std::string_view, 8> kUnits = {"ms", "us", "s", "j", "w", "mb", "mhz", "share"};
constexpr std::array<std::string_view, 6> kCounts = {"parameters", "iterations", "macs", "flops", "repeats", "temp_c"};

bool is_metric(std::string_view column) {
  if (std::ranges::count(kCounts, column) != 0 || column.ends_with("_per_s")) return true;
  std::size_t begin = column.find('_');  // the first word is never the unit
  while (begin != std::string_view::npos) {
    const std::size_t end = column.find('_', begin + 1);
    if (std::ranges::count(kUnits, column.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1)) !=
        0)
      return true;
    begin = end;
  }
  return false;
}

// What a file's name says about all of its rows.
void add_defaults(Measurement& row, std::string_view stem) {
  if (stem.ends_with("_training")) row.settings.try_emplace("training", "true");
  if (stem.ends_with("_inference")) row.settings.try_emplace("training", "false");
  if (stem.starts_with("vision_")) row.settings.try_emplace("phase", "forward");
  if (stem == "operators" && row.network.empty()) {
    const auto op = row.settings.find("op");
    row.network = op == row.settings.end() ? "operator" : op->second;
    row.family = "operator";
  }
}

}  // namespace

Result<CampaignHeader> read_campaign_header(const ImportFile& file) {
  const fs::path folder = fs::absolute(file.path).lexically_normal().parent_path();
  CampaignHeader header{.campaign = folder.filename().string()};
  if (header.campaign.starts_with("h200")) header.device = "h200-sxm";
  const std::string path = (folder / "campaign.json").string();
  if (fs::exists(path)) {
    FORERUN_TRY(const std::string text, read_text_file(path));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return bad_input(path + ": not a JSON object");
    const auto take = [&](const char* name, std::string& into) {
      if (json.contains(name) && json[name].is_string()) into = json[name].get<std::string>();
    };
    take("campaign", header.campaign);
    take("device", header.device);
    take("license", header.license);
    take("measured_at", header.measured_at);
    if (json.contains("software") && json["software"].is_object()) {
      for (const auto& [name, version] : json["software"].items()) {
        header.software[name] = version.is_string() ? version.get<std::string>() : version.dump();
      }
    }
  }
  if (!file.options.campaign.empty()) header.campaign = file.options.campaign;
  if (!file.options.device.empty()) header.device = file.options.device;
  return header;
}

bool is_campaign_csv(const CsvReader& header) {
  const auto has = [&](std::string_view column) { return header.column(column).has_value(); };
  if (!has("id") || !(has("arch") || has("model") || has("network") || has("op"))) return false;
  return std::ranges::any_of(header.columns(), [](const std::string& column) { return is_metric(column); });
}

Status import_campaign_csv(CsvReader& csv, const ImportFile& file, const RowSink& sink) {
  FORERUN_TRY(const CampaignHeader header, read_campaign_header(file));
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) return ok();
    Measurement row;
    row.campaign = header.campaign;
    row.device = header.device;
    row.license = header.license;
    row.measured_at = header.measured_at;
    row.software = header.software;
    std::string message;
    for (std::size_t i = 0; i < csv.columns().size(); ++i) {
      const std::string& column = csv.columns()[i];
      const std::string text(csv.field(i));
      if (text.empty()) continue;
      const auto* named = std::ranges::find(kNamed, column, &NamedColumn::column);
      if (column == "id") {
        row.row_id = file.stem + "/" + text;  // ids are unique in their file only
      } else if (named != kNamed.end()) {
        row.*(named->member) = text;
      } else if (column == "message") {
        message = text;
      } else if (std::ranges::count(kSoftware, column) != 0) {
        row.software[column] = text;
      } else if (!is_metric(column)) {
        row.settings[column] = text;
      } else if (const auto number = parse_number(text)) {
        row.metrics[column] = *number;
      } else {
        return bad_input(
            fmt::format("{}: line {}: {} is '{}', a number was expected", file.path, csv.line(), column, text));
      }
    }
    if (row.status == "error" && !message.empty()) row.status = "error: " + message;
    if (row.row_id.empty()) return bad_input(fmt::format("{}: line {}: the id is empty", file.path, csv.line()));
    if (row.device.empty()) {
      return bad_input(file.path +
                       ": neither its rows nor a campaign.json in its folder name the device: give --device");
    }
    add_defaults(row, file.stem);
    FORERUN_CHECK(sink(std::move(row)));
  }
}

}  // namespace forerun
