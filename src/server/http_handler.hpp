// The interface that answers HTTP requests, and the limits that the HTTP server enforces.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/http_message.hpp"

namespace forerun::server {

using Clock = std::chrono::steady_clock;

struct HttpLimits {
  std::size_t max_connections = 4096;
  std::size_t max_waiting = 2048;                    // requests read but not yet answered
  std::size_t max_head_bytes = 16 * 1024;            // request line and headers
  std::uint64_t max_json_bytes = 4ULL << 20;         // a JSON body, or the part "request"
  std::uint64_t max_upload_bytes = 2ULL << 30;       // a multipart body
  std::uint64_t max_buffered_bytes = 256ULL << 20;   // JSON bodies of all connections together
  std::size_t max_uploads = 32;                      // multipart bodies on disk at once
  std::uint64_t min_bytes_per_s = 64 * 1024;         // a body that comes slower is given up
  std::chrono::milliseconds idle_timeout{60'000};    // between requests
  std::chrono::milliseconds head_timeout{10'000};    // from a request's first byte to the end of its head
  std::chrono::milliseconds body_timeout{20'000};    // plus the time that min_bytes_per_s allows
  std::chrono::milliseconds handle_timeout{60'000};  // computing the answer
  std::chrono::milliseconds write_timeout{30'000};   // without the client taking a byte
  std::chrono::milliseconds stop_timeout{10'000};    // for answers in progress when stopping
};

// Decision on a request after its head, before its body is read.
struct Admission {
  std::optional<Response> refusal;
  bool takes_body = false;
};

// One request and its result, for the log and the metrics.
struct ExchangeRecord {
  std::string peer;
  std::string method;
  std::string path;
  int status = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  double seconds = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // In the front's thread: quick.
  virtual Admission admit(const RequestHead& head) = 0;
  // In the front's thread, so that it never waits for a worker: answers that are there already or made in microseconds.
  // nullopt: a worker handles the request.
  virtual std::optional<Response> answer_at_once(const Request&) { return std::nullopt; }
  // In a worker's thread; several at once. Long work asks the request's `cancel`.
  virtual Response handle(const Request& request) = 0;
  // In the front's thread, once per answer.
  virtual void finished(const ExchangeRecord& record) = 0;
};

}  // namespace forerun::server
