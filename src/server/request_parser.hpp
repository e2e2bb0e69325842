// Bytes from a socket → a request's head and its decoded body. Strict: ambiguous requests (two lengths, folded lines,
// odd line ends) are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_message.hpp"

namespace forerun::server {

// The response to bytes that are not an acceptable request.
struct Refusal {
  int status = 400;
  std::string detail;
};

struct HeadOutcome {
  std::size_t consumed = 0;        // bytes of the head; 0 while it is incomplete
  std::optional<Refusal> refusal;  // set when it can never become a head
  RequestHead head;
};

inline constexpr std::size_t kMaxTargetBytes = 4096;
inline constexpr std::size_t kMaxHeaders = 64;

// Reads one head from the start of `bytes`. A head longer than max_head_bytes is refused.
HeadOutcome parse_head(std::string_view bytes, std::size_t max_head_bytes);

// Takes the body's framing off (length or chunks) and hands its bytes on.
class BodyDecoder {
 public:
  using Sink = std::function<std::optional<Refusal>(std::string_view)>;

  BodyDecoder(const RequestHead& head, std::uint64_t max_body_bytes);

  // Consumes bytes up to the end of the body and returns how many.
  struct Fed {
    std::size_t consumed = 0;
    std::optional<Refusal> refusal;
  };
  Fed feed(std::string_view bytes, const Sink& sink);

  [[nodiscard]] bool done() const { return state_ == State::Done; }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  enum class State { Length, ChunkSize, ChunkData, ChunkEnd, Trailer, Done };
  Fed feed_chunk_line(std::string_view bytes);

  State state_;
  std::uint64_t remaining_ = 0;  // of the body, or of the chunk
  std::uint64_t received_ = 0;
  std::uint64_t max_bytes_;
  std::uint64_t trailer_bytes_ = 0;
};

// "%41" → "A"; nothing when it is malformed or holds a NUL.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace forerun::server
