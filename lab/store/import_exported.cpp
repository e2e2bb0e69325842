// Reads back what export.cpp writes.
#include <fmt/format.h>

#include <string_view>

#include "base/archive.hpp"
#include "store/import_format.hpp"
#include "store/measurement_json.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

}  // namespace

bool is_exported_csv(const CsvReader& header) {
  return header.column("campaign") && header.column("row_id") && header.column("device");
}

Status import_exported_csv(CsvReader& csv, const ImportFile& file, const RowSink& sink) {
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) return ok();
    Measurement row;
    for (std::size_t i = 0; i < csv.columns().size(); ++i) {
      const std::string& column = csv.columns()[i];
      const std::string text(csv.field(i));
      if (text.empty()) continue;
      if (column.starts_with("settings.")) {
        row.settings[column.substr(9)] = text;
      } else if (column.starts_with("software.")) {
        row.software[column.substr(9)] = text;
      } else if (column.starts_with("metrics.")) {
        const auto number = parse_number(text);
        if (!number)
          return bad_input(
              fmt::format("{}: line {}: {} is '{}', a number was expected", file.path, csv.line(), column, text));
        row.metrics[column.substr(8)] = *number;
      } else {
        for (const TextField& known : measurement_texts()) {
          if (known.name == column) row.*known.member = text;
        }
      }
    }
    FORERUN_CHECK(sink(std::move(row)));
  }
}

Status import_json_lines(const ImportFile& file, const RowSink& sink) {
  FORERUN_TRY(auto source, open_compressed(file.path));
  std::string pending;
  std::string chunk(1 << 16, '\0');
  std::size_t line_number = 0;
  const auto take = [&](std::string_view line) -> Status {
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return ok();
    auto row = measurement_from_json(line);
    if (!row) return bad_input(fmt::format("{}: line {}: {}", file.path, line_number, row.error().message));
    return sink(std::move(*row));
  };
  while (true) {
    FORERUN_TRY(const std::size_t got, source->read(chunk.data(), chunk.size()));
    if (got == 0) break;
    pending.append(chunk, 0, got);
    std::size_t begin = 0;
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
      FORERUN_CHECK(take(std::string_view(pending).substr(begin, end - begin)));
      begin = end + 1;
    }
    pending.erase(0, begin);
    if (pending.size() > kMaxLineBytes) return bad_input(file.path + ": a line of more than 16 MiB");
  }
  return take(pending);
}

}  // namespace forerun
