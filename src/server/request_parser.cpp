// The grammar of RFC 9112, request side, with limits.
#include "server/request_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace forerun::server {
namespace {

constexpr std::size_t kMaxChunkLine = 256;
constexpr std::size_t kMaxTrailerBytes = 4096;

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); });
}

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

HeadOutcome refuse(int status, std::string detail) { return {0, Refusal{status, std::move(detail)}, {}}; }

std::optional<Refusal> read_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return Refusal{400, "the request line is malformed"};
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || method.size() > 16) return Refusal{400, "the request's method is malformed"};
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    const bool is_http = version.substr(0, 5) == "HTTP/";
    return is_http ? Refusal{505, "only HTTP/1.1 and HTTP/1.0 are spoken"}
                   : Refusal{400, "the request line is malformed"};
  }
  if (target.size() > kMaxTargetBytes) return Refusal{414, "the request's path is too long"};
  if (target.empty() || target.front() != '/') return Refusal{400, "the request's path must start with /"};
  const std::size_t question = target.find('?');
  std::optional<std::string> path = percent_decode(target.substr(0, question));
  if (!path) return Refusal{400, "the request's path is malformed"};
  head.method = method;
  head.path = std::move(*path);
  head.query = question == std::string_view::npos ? std::string() : std::string(target.substr(question + 1));
  head.minor_version = version.back() - '0';
  head.keep_alive = head.minor_version == 1;
  return std::nullopt;
}

std::optional<Refusal> read_header_line(std::string_view line, RequestHead& head) {
  if (line.front() == ' ' || line.front() == '\t') return Refusal{400, "folded header lines are not supported"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return Refusal{400, "a header line is malformed"};
  const std::string_view value = trim(line.substr(colon + 1));
  if (!is_field_value(value)) return Refusal{400, "a header holds control characters"};
  if (head.headers.size() >= kMaxHeaders) return Refusal{431, "too many headers"};
  head.headers.push_back({lower_case(line.substr(0, colon)), std::string(value)});
  return std::nullopt;
}

// Decides the body's framing and the connection's fate from the headers.
std::optional<Refusal> interpret(RequestHead& head) {
  // A second one of these would let two readers of the same request see different things.
  constexpr std::array<std::string_view, 4> kOnce = {"authorization", "content-type", "origin", "sec-fetch-site"};
  int hosts = 0;
  bool has_length = false;
  std::array<int, kOnce.size()> times{};
  for (const Header& header : head.headers) {
    const auto once = std::find(kOnce.begin(), kOnce.end(), header.name);
    if (once != kOnce.end() && ++times[std::size_t(once - kOnce.begin())] > 1)
      return Refusal{400, "the header " + header.name + " comes twice"};
    if (header.name == "host") ++hosts;
    if (header.name == "content-length") {
      std::uint64_t length = 0;
      const char* end = header.value.data() + header.value.size();
      const auto [stop, error] = std::from_chars(header.value.data(), end, length);
      if (error != std::errc() || stop != end || header.value.empty())
        return Refusal{400, "Content-Length is not a number"};
      if (has_length && length != head.content_length) return Refusal{400, "two different Content-Lengths"};
      head.content_length = length;
      has_length = true;
    }
    if (header.name == "transfer-encoding") {
      if (lower_case(header.value) != "chunked" || head.chunked)
        return Refusal{501, "Transfer-Encoding: only chunked is supported"};
      head.chunked = true;
    }
    if (header.name == "connection") {
      const std::string value = lower_case(header.value);
      if (value.find("close") != std::string::npos)
        head.keep_alive = false;
      else if (value.find("keep-alive") != std::string::npos)
        head.keep_alive = true;
    }
    if (header.name == "expect") {
      if (lower_case(header.value) != "100-continue") return Refusal{400, "that Expect header is not understood"};
      head.expects_continue = head.minor_version == 1;
    }
  }
  if (head.chunked && has_length) return Refusal{400, "both Content-Length and Transfer-Encoding are given"};
  if (head.chunked && head.minor_version == 0) return Refusal{400, "chunked transfer coding needs HTTP/1.1"};
  if (hosts > 1 || (hosts == 0 && head.minor_version == 1)) return Refusal{400, "exactly one Host header is needed"};
  return std::nullopt;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = digit(text[i + 1]);
      const int low = digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) {
      return std::nullopt;
    }
    if (c == '\0') return std::nullopt;
    result += c;
  }
  return result;
}

HeadOutcome parse_head(std::string_view bytes, std::size_t max_head_bytes) {
  // Empty lines before a request are allowed; they count towards the head.
  std::size_t start = 0;
  while (bytes.substr(start, 2) == "\r\n") start += 2;
  const std::size_t end = bytes.find("\r\n\r\n", start);
  if (end == std::string_view::npos || end + 4 > max_head_bytes) {
    const bool too_long = bytes.size() >= max_head_bytes || end != std::string_view::npos;
    return too_long ? refuse(431, "the request's head is too large") : HeadOutcome{};
  }
  HeadOutcome outcome;
  outcome.consumed = end + 4;
  std::string_view rest = bytes.substr(start, end - start);
  bool is_first = true;
  while (is_first || !rest.empty()) {
    const std::size_t stop = rest.find("\r\n");
    const std::string_view line = rest.substr(0, stop);
    rest = stop == std::string_view::npos ? std::string_view() : rest.substr(stop + 2);
    if (line.find('\n') != std::string_view::npos || line.find('\r') != std::string_view::npos) {
      return refuse(400, "lines end with CR LF");
    }
    std::optional<Refusal> refusal =
        is_first ? read_request_line(line, outcome.head) : read_header_line(line, outcome.head);
    if (refusal) return refuse(refusal->status, std::move(refusal->detail));
    is_first = false;
  }
  if (std::optional<Refusal> refusal = interpret(outcome.head))
    return refuse(refusal->status, std::move(refusal->detail));
  return outcome;
}

BodyDecoder::BodyDecoder(const RequestHead& head, std::uint64_t max_body_bytes)
    : state_(head.chunked              ? State::ChunkSize
             : head.content_length > 0 ? State::Length
                                       : State::Done),
      remaining_(head.chunked ? 0 : head.content_length),
      max_bytes_(max_body_bytes) {}

BodyDecoder::Fed BodyDecoder::feed(std::string_view bytes, const Sink& sink) {
  Fed fed;
  while (state_ != State::Done && fed.consumed < bytes.size()) {
    const std::string_view rest = bytes.substr(fed.consumed);
    if (state_ == State::Length || state_ == State::ChunkData) {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), remaining_));
      if (received_ + size > max_bytes_) return {fed.consumed, Refusal{413, "the request's body is too large"}};
      if (std::optional<Refusal> refusal = sink(rest.substr(0, size))) return {fed.consumed, std::move(refusal)};
      received_ += size;
      remaining_ -= size;
      fed.consumed += size;
      if (remaining_ == 0) state_ = state_ == State::Length ? State::Done : State::ChunkEnd;
      continue;
    }
    Fed line = feed_chunk_line(rest);
    if (line.refusal) return line;
    if (line.consumed == 0) break;
    fed.consumed += line.consumed;
  }
  return fed;
}

// One line between chunks: a size, the CR LF after a chunk, or a trailer.
BodyDecoder::Fed BodyDecoder::feed_chunk_line(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxChunkLine).find("\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= kMaxChunkLine) return {0, Refusal{400, "a chunk's line is too long"}};
    return {};
  }
  const std::string_view line = bytes.substr(0, end);
  if (state_ == State::ChunkEnd) {
    if (!line.empty()) return {0, Refusal{400, "a chunk is longer than its stated size"}};
    state_ = State::ChunkSize;
  } else if (state_ == State::Trailer) {
    trailer_bytes_ += line.size();
    if (trailer_bytes_ > kMaxTrailerBytes) return {0, Refusal{431, "the trailers are too large"}};
    if (line.empty()) state_ = State::Done;
  } else {
    const std::string_view digits = trim(line.substr(0, line.find(';')));
    const char* last = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), last, remaining_, 16);
    if (error != std::errc() || stop != last || digits.empty()) return {0, Refusal{400, "a chunk's size is malformed"}};
    if (remaining_ > max_bytes_ || received_ + remaining_ > max_bytes_)
      return {0, Refusal{413, "the request's body is too large"}};
    state_ = remaining_ == 0 ? State::Trailer : State::ChunkData;
  }
  return {end + 2, std::nullopt};
}

}  // namespace forerun::server
