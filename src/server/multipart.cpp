// RFC 7578 with limits on parts and on their headers.
#include "server/multipart.hpp"

#include <algorithm>
#include <utility>

namespace forerun::server {
namespace {

constexpr std::size_t kMaxPartHeaders = 4096;
constexpr std::size_t kMaxParts = 129;    // the request and the files of a repository
constexpr std::size_t kMaxBoundary = 70;  // RFC 2046

// The value of `name` in "form-data; name=\"a\"; filename=\"b\"": quoted or bare.
std::optional<std::string> parameter(std::string_view text, std::string_view name) {
  std::size_t at = text.find(';');
  while (at != std::string_view::npos) {
    ++at;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = text.substr(at, equals - at);
    std::string value;
    std::size_t next = equals + 1;
    if (next < text.size() && text[next] == '"') {
      for (++next; next < text.size() && text[next] != '"'; ++next) {
        if (text[next] == '\\' && next + 1 < text.size()) ++next;
        value += text[next];
      }
      if (next >= text.size()) return std::nullopt;
      next = text.find(';', next);
    } else {
      const std::size_t end = text.find(';', next);
      value = text.substr(next, end == std::string_view::npos ? end : end - next);
      while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.pop_back();
      next = end;
    }
    if (lower_case(key) == name) return value;
    at = next;
  }
  return std::nullopt;
}

}  // namespace

std::string multipart_boundary(std::string_view content_type) {
  if (media_type(content_type) != "multipart/form-data") return {};
  const std::optional<std::string> boundary = parameter(content_type, "boundary");
  return boundary && boundary->size() <= kMaxBoundary ? *boundary : std::string();
}

std::string base_name(std::string_view file_name) {
  const std::size_t slash = file_name.find_last_of("/\\");
  if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
  std::string result;
  for (const char c : file_name.substr(0, 255)) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) result += c;
  }
  return result == "." || result == ".." ? std::string() : result;
}

MultipartParser::MultipartParser(std::string_view boundary, OnPart on_part, OnData on_data)
    : delimiter_("\r\n--" + std::string(boundary)),
      buffer_("\r\n"),  // so that the first boundary looks like every other
      on_part_(std::move(on_part)),
      on_data_(std::move(on_data)) {}

std::optional<Refusal> MultipartParser::feed(std::string_view bytes) {
  buffer_ += bytes;
  while (true) {
    if (state_ == State::End) {
      buffer_.clear();  // an epilogue means nothing
      return std::nullopt;
    }
    if (state_ == State::Preamble || state_ == State::Data) {
      const std::size_t at = buffer_.find(delimiter_);
      const bool found = at != std::string::npos;
      const std::size_t known = found ? at : buffer_.size() - std::min(buffer_.size(), delimiter_.size() - 1);
      if (state_ == State::Data && known > 0) {
        if (std::optional<Refusal> refusal = on_data_(std::string_view(buffer_).substr(0, known))) return refusal;
      }
      buffer_.erase(0, found ? at + delimiter_.size() : known);
      if (!found) return std::nullopt;
      state_ = State::AfterBoundary;
    } else if (state_ == State::AfterBoundary) {
      if (buffer_.size() < 2) return std::nullopt;
      const std::string next = buffer_.substr(0, 2);
      if (next != "--" && next != "\r\n") return Refusal{400, "the multipart body is malformed after a boundary"};
      state_ = next == "--" ? State::End : State::Headers;
      // The line's end stays for a part without headers: its block is then just CR LF CR LF.
      buffer_.erase(0, next == "--" ? 2 : 0);
    } else {
      const std::size_t end = buffer_.find("\r\n\r\n");
      if (end == std::string::npos || end > kMaxPartHeaders) {
        if (end != std::string::npos || buffer_.size() > kMaxPartHeaders)
          return Refusal{431, "a part's headers are too large"};
        return std::nullopt;
      }
      if (std::optional<Refusal> refusal = read_headers(std::string_view(buffer_).substr(0, end))) return refusal;
      buffer_.erase(0, end + 4);
      state_ = State::Data;
    }
  }
}

std::optional<Refusal> MultipartParser::read_headers(std::string_view block) {
  if (++parts_ > kMaxParts) return Refusal{400, "the multipart body has too many parts"};
  Part part;
  bool has_name = false;
  while (!block.empty()) {
    const std::size_t end = block.find("\r\n");
    const std::string_view line = block.substr(0, end);
    block = end == std::string_view::npos ? std::string_view() : block.substr(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || lower_case(line.substr(0, colon)) != "content-disposition") continue;
    const std::string_view disposition = line.substr(colon + 1);
    if (const auto name = parameter(disposition, "name")) {
      part.name = *name;
      has_name = true;
    }
    if (const auto file_name = parameter(disposition, "filename")) part.file_name = base_name(*file_name);
  }
  if (!has_name) return Refusal{400, "a part of the multipart body has no name"};
  return on_part_(part);
}

}  // namespace forerun::server
