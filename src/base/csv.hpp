// CSV with a header line (RFC 4180): quotes, embedded newlines, CRLF, byte-order mark; gzip and xz transparently.
// Rows are read as a stream: a file of millions of rows needs the memory of one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/result.hpp"

namespace forerun {

class CsvReader {
 public:
  static constexpr std::size_t kMaxRowBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxColumns = 4096;

  static Result<CsvReader> open(const std::string& path);
  // `name` stands for the file in messages.
  static Result<CsvReader> from_text(std::string text, std::string name = "text");

  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;

  // Advances to the next row: false at the end. A row with more or fewer fields than the header is an error.
  [[nodiscard]] Result<bool> next();
  // REQUIRES: index < columns().size(). Views live until the next call of next().
  [[nodiscard]] std::string_view field(std::size_t index) const;
  // The field of a named column; empty when there is no such column.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  // A number in a named column; nullopt when absent, empty or not a finite number.
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  // Line of the file where the current row begins, from 1.
  [[nodiscard]] std::size_t line() const { return row_line_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  CsvReader(std::unique_ptr<ByteSource> source, std::string name);
  static Result<CsvReader> start(CsvReader reader);
  Result<bool> read_row();
  Result<int> next_byte();  // -1 at the end
  int peek_byte();          // -1 at the end or on an error, which the next next_byte() reports
  Status fill();
  void end_field();
  [[nodiscard]] Error wrong(const std::string& what) const;

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<std::string> columns_;
  std::string row_;                // the fields' bytes, unquoted, one after the other
  std::vector<std::size_t> ends_;  // end of each field in row_
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::size_t line_ = 1;
  std::size_t row_line_ = 1;
  bool ended_ = false;
};

// The number in `text`, all of it; nullopt when there is none or it is not finite.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// Appends one field, quoted where needed.
void append_csv_field(std::string& out, std::string_view field);
// One line with its newline.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& fields);

}  // namespace forerun
