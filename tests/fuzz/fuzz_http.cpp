// Any bytes as an HTTP connection: heads, bodies in chunks, multipart. Cutting the bytes elsewhere must not change what
// is read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "server/multipart.hpp"
#include "server/request_parser.hpp"

namespace {

using namespace forerun::server;

constexpr std::size_t kMaxHead = 4096;
constexpr std::uint64_t kMaxBody = 16384;

// What a client's bytes were read as, written down.
std::string read_all(std::string_view bytes, std::size_t piece) {
  std::string story;
  std::string buffer;
  std::optional<BodyDecoder> body;
  std::optional<MultipartParser> multipart;
  const auto take = [&](std::string_view data) -> std::optional<Refusal> {
    if (multipart) return multipart->feed(data);
    story += data;
    return std::nullopt;
  };
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    buffer += bytes.substr(at, piece);
    while (true) {
      if (!body) {
        HeadOutcome outcome = parse_head(buffer, kMaxHead);
        if (outcome.refusal) return story + "\nrefused " + std::to_string(outcome.refusal->status);
        if (outcome.consumed == 0) break;
        buffer.erase(0, outcome.consumed);
        story += "\nhead " + outcome.head.method + " " + outcome.head.path + "\n";
        const std::string boundary = multipart_boundary(outcome.head.header("content-type"));
        multipart.reset();
        if (!boundary.empty()) {
          multipart.emplace(
              boundary,
              [&](const Part& part) -> std::optional<Refusal> {
                if (part.file_name.find('/') != std::string::npos) std::abort();
                story += "\npart " + part.name + "\n";
                return std::nullopt;
              },
              [&](std::string_view data) -> std::optional<Refusal> {
                story += data;
                return std::nullopt;
              });
        }
        body.emplace(outcome.head, kMaxBody);
      }
      const BodyDecoder::Fed fed = body->feed(buffer, take);
      if (fed.refusal) return story + "\nrefused " + std::to_string(fed.refusal->status);
      if (body->received() > kMaxBody) std::abort();
      buffer.erase(0, fed.consumed);
      if (!body->done()) break;
      body.reset();
      if (buffer.empty()) break;
    }
  }
  return story;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_all(bytes, bytes.size() + 1);
  const std::string pieces = read_all(bytes, 1 + data[0] % 64);
  // A head over the limit is refused as soon as it is seen to be, which depends on the pieces; all else must not.
  if (whole != pieces && bytes.size() < kMaxHead) std::abort();
  return 0;
}
