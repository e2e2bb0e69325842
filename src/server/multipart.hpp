// multipart/form-data as a stream: parts are handed on as they arrive, so that a file never has to fit into memory.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/request_parser.hpp"

namespace forerun::server {

struct Part {
  std::string name;
  std::string file_name;  // without folders; empty when the part is no file
};

class MultipartParser {
 public:
  using OnPart = std::function<std::optional<Refusal>(const Part&)>;
  using OnData = std::function<std::optional<Refusal>(std::string_view)>;

  // REQUIRES: boundary is not empty.
  MultipartParser(std::string_view boundary, OnPart on_part, OnData on_data);

  std::optional<Refusal> feed(std::string_view bytes);
  // The closing boundary was seen.
  [[nodiscard]] bool done() const { return state_ == State::End; }

 private:
  enum class State { Preamble, AfterBoundary, Headers, Data, End };
  std::optional<Refusal> read_headers(std::string_view block);

  std::string delimiter_;  // CR LF -- boundary
  std::string buffer_;     // bytes that may be the start of a delimiter
  State state_ = State::Preamble;
  std::size_t parts_ = 0;
  OnPart on_part_;
  OnData on_data_;
};

// The boundary of a Content-Type; empty when it is no multipart/form-data or the boundary is malformed.
std::string multipart_boundary(std::string_view content_type);

// The last component of a client's file name, without control characters; at most 255 bytes.
std::string base_name(std::string_view file_name);

}  // namespace forerun::server
