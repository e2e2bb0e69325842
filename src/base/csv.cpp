#include "base/csv.hpp"

#include <charconv>
#include <cmath>
#include <utility>

namespace forerun {
namespace {

constexpr std::size_t kChunk = 1 << 16;

}  // namespace

CsvReader::CsvReader(std::unique_ptr<ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {}

Result<CsvReader> CsvReader::open(const std::string& path) {
  FORERUN_TRY(auto source, open_compressed(path));
  return start(CsvReader(std::move(source), path));
}

Result<CsvReader> CsvReader::from_text(std::string text, std::string name) {
  return start(CsvReader(make_memory_source(std::move(text)), std::move(name)));
}

Result<CsvReader> CsvReader::start(CsvReader reader) {
  FORERUN_CHECK(reader.fill());
  if (std::string_view(reader.buffer_.data(), reader.filled_).starts_with("\xef\xbb\xbf")) reader.at_ = 3;
  FORERUN_TRY(const bool found, reader.read_row());
  if (!found) return bad_input(reader.name_ + ": empty, a header line was expected");
  for (std::size_t i = 0; i < reader.ends_.size(); ++i) {
    std::string column(reader.field(i));
    for (const std::string& other : reader.columns_) {
      if (other == column) return reader.wrong("the header has two columns named '" + column + "'");
    }
    reader.columns_.push_back(std::move(column));
  }
  return reader;
}

std::optional<std::size_t> CsvReader::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  return std::nullopt;
}

std::string_view CsvReader::field(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(row_).substr(begin, ends_[index] - begin);
}

std::string_view CsvReader::field(std::string_view name) const {
  const auto index = column(name);
  return index ? field(*index) : std::string_view{};
}

std::optional<double> CsvReader::number(std::string_view name) const { return parse_number(field(name)); }

Result<bool> CsvReader::next() {
  FORERUN_TRY(const bool found, read_row());
  if (found && ends_.size() != columns_.size()) {
    return wrong(std::to_string(ends_.size()) + " fields where the header has " + std::to_string(columns_.size()));
  }
  return found;
}

// Reads one row into row_ and ends_; blank lines between rows are skipped.
Result<bool> CsvReader::read_row() {
  row_.clear();
  ends_.clear();
  FORERUN_TRY(int byte, next_byte());
  while (byte == '\n' || (byte == '\r' && peek_byte() == '\n')) {
    FORERUN_TRY(byte, next_byte());
  }
  if (byte < 0) return false;
  row_line_ = line_;
  bool at_start = true;  // of a field
  while (true) {
    if (byte < 0 || byte == '\n' || (byte == '\r' && peek_byte() == '\n')) {
      if (byte == '\r') {
        FORERUN_TRY(byte, next_byte());
      }
      end_field();
      return true;
    }
    if (byte == '"' && at_start) {
      while (true) {
        FORERUN_TRY(byte, next_byte());
        if (byte < 0) return wrong("a quoted field never ends");
        if (byte == '"') {
          if (peek_byte() != '"') break;
          FORERUN_TRY(byte, next_byte());
        }
        row_.push_back(static_cast<char>(byte));
        if (row_.size() > kMaxRowBytes) return wrong("a row of more than 16 MiB");
      }
      at_start = false;
      FORERUN_TRY(byte, next_byte());
      if (byte >= 0 && byte != ',' && byte != '\n' && byte != '\r') return wrong("text after a closing quote");
      continue;
    }
    if (byte == ',') {
      end_field();
      if (ends_.size() >= kMaxColumns) return wrong("more than 4096 columns");
      at_start = true;
    } else {
      if (byte == 0) return wrong("a zero byte: this is not a text file");
      row_.push_back(static_cast<char>(byte));
      if (row_.size() > kMaxRowBytes) return wrong("a row of more than 16 MiB");
      at_start = false;
    }
    FORERUN_TRY(byte, next_byte());
  }
}

Status CsvReader::fill() {
  if (ended_) return ok();
  buffer_.resize(kChunk);
  FORERUN_TRY(filled_, source_->read(buffer_.data(), buffer_.size()));
  at_ = 0;
  ended_ = filled_ == 0;
  return ok();
}

Result<int> CsvReader::next_byte() {
  if (at_ == filled_) {
    FORERUN_CHECK(fill());
    if (ended_) return -1;
  }
  const auto byte = static_cast<unsigned char>(buffer_[at_++]);
  if (byte == '\n') ++line_;
  return int{byte};
}

int CsvReader::peek_byte() {
  if (at_ == filled_ && (!fill() || ended_)) return -1;
  return static_cast<unsigned char>(buffer_[at_]);
}

void CsvReader::end_field() { ends_.push_back(row_.size()); }

Error CsvReader::wrong(const std::string& what) const {
  return bad_input(name_ + ": line " + std::to_string(row_line_) + ": " + what);
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

void append_csv_field(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i != 0) line += ',';
    append_csv_field(line, fields[i]);
  }
  // A lone empty field would read back as a blank line.
  if (line.empty()) line = "\"\"";
  line += '\n';
  return line;
}

}  // namespace forerun
