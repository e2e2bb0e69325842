// How a public data set's columns map to a measurement. Tables: public_tables.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace forerun {

struct ColumnMap {
  std::string_view column;
  std::string_view name;  // empty: the column's own name
  double factor = 1;      // metrics only
};

enum class PublicShape {
  OneRowPerLine,
  ColumnPerDevice,   // columns not named as settings are "<device>" or "<device>_<batch>", in milliseconds
  GptArchitectures,  // measurements refer to rows of another file by scale and arch_id
};

struct PublicTable {
  std::string_view stem;    // the file's name without .csv.gz
  std::string_view format;  // the source, as --format names it
  std::string_view license;
  std::string_view origin;  // the repository
  std::string_view device_column = "";
  std::string_view network_column = "";  // empty: `network` is the name of all rows
  std::string_view network = "";
  std::string_view family = "";
  std::vector<ColumnMap> settings = {};
  std::vector<ColumnMap> metrics = {};
  std::vector<ColumnMap> software = {};
  std::vector<std::pair<std::string_view, std::string_view>> fixed = {};  // settings that hold for all rows
  PublicShape shape = PublicShape::OneRowPerLine;
};

[[nodiscard]] std::span<const PublicTable> public_tables();

}  // namespace forerun
