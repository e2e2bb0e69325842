// What an importer is: a row of the table in import.cpp. It turns one file into measurements, in order.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/csv.hpp"
#include "base/result.hpp"
#include "records/measurement.hpp"
#include "store/import.hpp"

namespace forerun {

using RowSink = std::function<Status(Measurement)>;

struct ImportFile {
  std::string path;
  std::string stem;  // file name without .csv, .jsonl, .gz, .xz
  const ImportOptions& options;
};

// What a campaign states: campaign.json in the folder of its CSV files, overridden by the options.
struct CampaignHeader {
  std::string campaign = {};
  std::string device = {};
  std::string license = {};
  std::string measured_at = {};
  std::map<std::string, std::string> software = {};
};
Result<CampaignHeader> read_campaign_header(const ImportFile& file);

// Files with the columns of our campaigns (vision_inference, vision_training, llm_inference, operators, …).
[[nodiscard]] bool is_campaign_csv(const CsvReader& header);
Status import_campaign_csv(CsvReader& csv, const ImportFile& file, const RowSink& sink);

// A public data set known by its file name.
struct PublicTable;
[[nodiscard]] const PublicTable* find_public_table(std::string_view stem);
[[nodiscard]] std::string_view format_of(const PublicTable& table);
[[nodiscard]] std::string campaign_of(const PublicTable& table);
[[nodiscard]] std::vector<std::string_view> public_formats();
Status import_public_csv(const PublicTable& table, CsvReader& csv, const ImportFile& file, const RowSink& sink);

// CSV and JSON lines as export_* writes them.
[[nodiscard]] bool is_exported_csv(const CsvReader& header);
Status import_exported_csv(CsvReader& csv, const ImportFile& file, const RowSink& sink);
Status import_json_lines(const ImportFile& file, const RowSink& sink);

// The catalogue's id of a device as other people spell it; its name in lower case when it is not known.
[[nodiscard]] std::string device_id_of(std::string_view spelled);

}  // namespace forerun
