#include "store/import_public.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// A table's columns, found once per file.
struct FoundColumn {
  std::size_t index;
  std::string name;
  double factor;
};

std::vector<FoundColumn> find_columns(const CsvReader& csv, const std::vector<ColumnMap>& wanted) {
  std::vector<FoundColumn> found;
  for (const ColumnMap& map : wanted) {
    if (const auto index = csv.column(map.column)) {
      found.push_back({*index, std::string(map.name.empty() ? map.column : map.name), map.factor});
    }
  }
  return found;
}

// Spellings of precisions that mean one of ours; the others are kept as they are.
std::string precision_of(std::string_view spelled) {
  if (spelled == "bfloat16") return "bf16";
  if (spelled == "half" || spelled == "float16") return "fp16";
  return std::string(spelled);
}

void set_device(Measurement& row, std::string_view spelled) {
  row.device = device_id_of(spelled);
  if (row.device != spelled) row.settings["device_as_named"] = std::string(spelled);
}

class PublicReader {
 public:
  PublicReader(const PublicTable& table, CsvReader& csv, const ImportFile& file)
      : table_(table),
        csv_(csv),
        file_(file),
        settings_(find_columns(csv, table.settings)),
        metrics_(find_columns(csv, table.metrics)),
        software_(find_columns(csv, table.software)) {}

  // False at the end of the file. `ordinal` is the line's number among the data lines, from 1.
  Result<bool> next(Measurement& row, std::int64_t& ordinal) {
    FORERUN_TRY(const bool found, csv_.next());
    if (!found) return false;
    ordinal = ++ordinal_;
    row = {};
    row.campaign = campaign_of(table_);
    row.row_id = fmt::format("{:07}", ordinal_);
    row.license = table_.license;
    row.source = fmt::format("{} ({})", table_.origin, fs::path(file_.path).filename().string());
    row.family = table_.family;
    row.network =
        table_.network_column.empty() ? std::string(table_.network) : std::string(csv_.field(table_.network_column));
    for (const auto& [name, value] : table_.fixed) row.settings[std::string(name)] = value;
    for (const FoundColumn& column : settings_) {
      const std::string_view text = csv_.field(column.index);
      if (!text.empty())
        row.settings[column.name] = column.name == "precision" ? precision_of(text) : std::string(text);
    }
    for (const FoundColumn& column : software_) row.software[column.name] = csv_.field(column.index);
    for (const FoundColumn& column : metrics_) {
      const std::string_view text = csv_.field(column.index);
      if (const auto number = parse_number(text)) row.metrics[column.name] = *number * column.factor;
    }
    if (!table_.device_column.empty()) set_device(row, csv_.field(table_.device_column));
    return true;
  }

 private:
  const PublicTable& table_;
  CsvReader& csv_;
  const ImportFile& file_;
  std::vector<FoundColumn> settings_;
  std::vector<FoundColumn> metrics_;
  std::vector<FoundColumn> software_;
  std::int64_t ordinal_ = 0;
};

Status import_lines(PublicReader& reader, const RowSink& sink) {
  Measurement row;
  std::int64_t ordinal = 0;
  while (true) {
    FORERUN_TRY(const bool found, reader.next(row, ordinal));
    if (!found) return ok();
    if (!row.metrics.empty()) FORERUN_CHECK(sink(std::move(row)));
  }
}

// "titan_rtx_32" -> device and batch; a name without a batch was measured with one image.
std::pair<std::string_view, std::string> split_device_column(std::string_view column) {
  const std::size_t cut = column.rfind('_');
  if (cut == std::string_view::npos || cut + 1 == column.size()) return {column, "1"};
  const std::string_view tail = column.substr(cut + 1);
  const bool is_batch = tail.size() <= 3 && std::ranges::all_of(tail, [](char c) { return c >= '0' && c <= '9'; });
  return is_batch ? std::pair(column.substr(0, cut), std::string(tail)) : std::pair(column, std::string("1"));
}

Status import_column_per_device(const PublicTable& table, CsvReader& csv, PublicReader& reader, const RowSink& sink) {
  std::vector<std::size_t> devices;
  for (std::size_t i = 0; i < csv.columns().size(); ++i) {
    const std::string& column = csv.columns()[i];
    const bool is_setting =
        std::ranges::any_of(table.settings, [&](const ColumnMap& map) { return map.column == column; });
    if (column != table.network_column && !is_setting) devices.push_back(i);
  }
  Measurement line;
  std::int64_t ordinal = 0;
  while (true) {
    FORERUN_TRY(const bool found, reader.next(line, ordinal));
    if (!found) return ok();
    line.network = fmt::format("{}-{}", table.family, line.network);
    for (const std::size_t i : devices) {
      const auto latency_ms = parse_number(csv.field(i));
      if (!latency_ms) continue;
      Measurement row = line;
      const auto [device, batch] = split_device_column(csv.columns()[i]);
      row.row_id += "." + batch;
      row.settings["batch"] = batch;
      row.metrics["latency_ms_median"] = *latency_ms;
      set_device(row, device);
      FORERUN_CHECK(sink(std::move(row)));
    }
  }
}

using Settings = std::map<std::string, std::string>;

// hwgpt_arch_<scale>.csv.gz beside the measurements: arch_id -> its settings.
Result<std::vector<Settings>> read_architectures(const ImportFile& file, const std::string& scale) {
  const std::string path = (fs::path(file.path).parent_path() / fmt::format("hwgpt_arch_{}.csv.gz", scale)).string();
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  std::vector<Settings> architectures;
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) return architectures;
    const auto id = csv.number("arch_id");
    if (!id || *id < 0 || *id > 1e6) return bad_input(fmt::format("{}: line {}: no arch_id", path, csv.line()));
    if (architectures.size() <= std::size_t(*id)) architectures.resize(std::size_t(*id) + 1);
    Settings& settings = architectures[std::size_t(*id)];
    for (const std::string& column : csv.columns()) {
      if (column != "arch_id") settings[column] = csv.field(column);
    }
  }
}

Status import_gpt(const ImportFile& file, PublicReader& reader, const RowSink& sink) {
  std::map<std::string, std::vector<Settings>> by_scale;
  Measurement row;
  std::int64_t ordinal = 0;
  while (true) {
    FORERUN_TRY(const bool found, reader.next(row, ordinal));
    if (!found) return ok();
    const std::string scale = row.settings["scale"];
    if (!by_scale.contains(scale)) {
      FORERUN_TRY(by_scale[scale], read_architectures(file, scale));
    }
    const auto id = parse_number(row.network);
    const auto& architectures = by_scale[scale];
    if (!id || *id < 0 || *id >= double(architectures.size())) {
      return bad_input(
          fmt::format("{}: data line {}: no architecture {} of scale {}", file.path, ordinal, row.network, scale));
    }
    row.settings.insert(architectures[std::size_t(*id)].begin(), architectures[std::size_t(*id)].end());
    row.network = fmt::format("hwgpt-{}-{}", scale, row.network);
    // Batch by scale; the newer devices ran with bf16 autocast, the older ones in fp16, CPUs in fp32.
    row.settings["batch"] = scale == "s" ? "8" : scale == "m" ? "4" : "1";
    const bool is_cpu = row.device.find("cpu") != std::string::npos;
    const bool is_bf16 = row.device.starts_with("a100") || row.device == "a40" || row.device == "rtx-a6000";
    row.settings["precision"] = is_cpu ? "fp32" : is_bf16 ? "amp_bf16" : "fp16";
    FORERUN_CHECK(sink(std::move(row)));
  }
}

}  // namespace

const PublicTable* find_public_table(std::string_view stem) {
  for (const PublicTable& table : public_tables()) {
    if (table.stem == stem) return &table;
  }
  return nullptr;
}

std::string_view format_of(const PublicTable& table) { return table.format; }

std::string campaign_of(const PublicTable& table) {
  std::string campaign(table.stem);
  std::ranges::replace(campaign, '_', '-');
  return campaign;
}

std::vector<std::string_view> public_formats() {
  std::vector<std::string_view> formats;
  for (const PublicTable& table : public_tables()) {
    if (std::ranges::count(formats, table.format) == 0) formats.push_back(table.format);
  }
  return formats;
}

Status import_public_csv(const PublicTable& table, CsvReader& csv, const ImportFile& file, const RowSink& sink) {
  for (const std::string_view column : {table.device_column, table.network_column}) {
    if (!column.empty() && !csv.column(column)) return bad_input(fmt::format("{}: no column '{}'", file.path, column));
  }
  PublicReader reader(table, csv, file);
  switch (table.shape) {
    case PublicShape::OneRowPerLine: return import_lines(reader, sink);
    case PublicShape::ColumnPerDevice: return import_column_per_device(table, csv, reader, sink);
    case PublicShape::GptArchitectures: return import_gpt(file, reader, sink);
  }
  return internal_error("a public table with an unknown layout");
}

}  // namespace forerun
