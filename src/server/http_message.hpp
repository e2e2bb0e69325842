// An HTTP request and a response as plain values, exchanged between http_server and api.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel_token.hpp"
#include "server/upload_folder.hpp"

namespace forerun::server {

struct Header {
  std::string name;  // lower case
  std::string value;
};

struct RequestHead {
  std::string method;
  std::string path;   // percent-decoded, without the query
  std::string query;  // as sent
  std::vector<Header> headers;
  int minor_version = 1;
  bool keep_alive = true;
  bool chunked = false;
  bool expects_continue = false;
  std::uint64_t content_length = 0;

  // The first header of that (lower-case) name, or empty.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    for (const Header& header : headers) {
      if (header.name == name) return header.value;
    }
    return {};
  }
};

// A file sent with a request: streamed to disk, gone when this value is.
struct Upload {
  std::string file_name;  // the client's, without folders
  UploadFile file;
};

struct Request {
  RequestHead head;
  std::string body;                // the JSON: the whole body, or the part "request" of a multipart one
  std::unique_ptr<Upload> upload;  // the part "model"
  std::string peer;                // address of the client
  CancelToken cancel;              // stops when the time for the answer is over, the client is gone or the server ends
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body;  // shared, so that a cached answer is not copied
  std::vector<std::pair<std::string, std::string>> headers;
};

inline Response respond(int status, std::string content_type, std::string body) {
  return {status, std::move(content_type), std::make_shared<const std::string>(std::move(body)), {}};
}

std::string_view reason_phrase(int status);

// ASCII letters only, as HTTP compares names.
[[nodiscard]] std::string lower_case(std::string_view text);

// "Application/JSON ; charset=utf-8" → "application/json".
[[nodiscard]] std::string media_type(std::string_view content_type);

// RFC 9457: {"type", "title", "status", "detail"}.
Response problem(int status, std::string_view detail);

}  // namespace forerun::server
