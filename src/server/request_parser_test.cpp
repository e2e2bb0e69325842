// Edge cases of HTTP/1.1's grammar: what is accepted, what is refused with which status, independent of how bytes are
// split.
#include "server/request_parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace forerun::server {
namespace {

constexpr std::size_t kLimit = 8192;

int status_of(const std::string& bytes) {
  const HeadOutcome outcome = parse_head(bytes, kLimit);
  return outcome.refusal ? outcome.refusal->status : outcome.consumed > 0 ? 200 : 0;
}

std::string get(const std::string& headers) { return "GET / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"; }

TEST(ParseHead, ReadsMethodPathQueryAndHeaders) {
  const std::string bytes =
      "POST /v1/predict%20x?a=b HTTP/1.1\r\nHost: h\r\nX-Thing:  two words \r\nContent-Length: 12\r\n\r\nbody";
  const HeadOutcome outcome = parse_head(bytes, kLimit);
  ASSERT_FALSE(outcome.refusal);
  EXPECT_EQ(outcome.consumed, bytes.size() - 4);
  EXPECT_EQ(outcome.head.method, "POST");
  EXPECT_EQ(outcome.head.path, "/v1/predict x");
  EXPECT_EQ(outcome.head.query, "a=b");
  EXPECT_EQ(outcome.head.header("x-thing"), "two words");
  EXPECT_EQ(outcome.head.content_length, 12U);
  EXPECT_TRUE(outcome.head.keep_alive);
}

TEST(ParseHead, WaitsForTheEmptyLine) {
  const std::string bytes = get("A: b\r\n");
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_EQ(status_of(bytes.substr(0, size)), 0) << size;
  EXPECT_EQ(status_of(bytes), 200);
}

TEST(ParseHead, RefusesAmbiguousRequests) {
  EXPECT_EQ(status_of(get("Content-Length: 3\r\nContent-Length: 4\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: +3\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 3, 3\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length:\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 99999999999999999999999\r\n")), 400);
  EXPECT_EQ(status_of(get("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(status_of(get("Name : value\r\n")), 400);
  EXPECT_EQ(status_of(get("A: b\r\n folded\r\n")), 400);
  EXPECT_EQ(status_of(get("A: b\nEvil: c\r\n")), 400);
  EXPECT_EQ(status_of(get("A: b\rc\r\n")), 400);
  EXPECT_EQ(status_of(get(std::string("A: b\0c\r\n", 8))), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of(get("Host: again\r\n")), 400);
}

TEST(ParseHead, RefusesOddRequestLines) {
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET x HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("G@T / HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /" + std::string(kMaxTargetBytes, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
  EXPECT_EQ(status_of("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(ParseHead, LimitsTheSizeOfTheHead) {
  EXPECT_EQ(status_of(std::string(kLimit, 'a')), 431);
  EXPECT_EQ(status_of(get("A: " + std::string(kLimit, 'b') + "\r\n")), 431);
  std::string many;
  for (std::size_t i = 0; i <= kMaxHeaders; ++i) many += "A: b\r\n";
  EXPECT_EQ(status_of(get(many)), 431);
}

TEST(ParseHead, DecidesWhetherTheConnectionStaysOpen) {
  EXPECT_FALSE(parse_head(get("Connection: close\r\n"), kLimit).head.keep_alive);
  EXPECT_FALSE(parse_head("GET / HTTP/1.0\r\n\r\n", kLimit).head.keep_alive);
  EXPECT_TRUE(parse_head("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", kLimit).head.keep_alive);
}

struct Decoded {
  std::string body;
  int status = 0;
  bool done = false;
  std::size_t consumed = 0;
};

Decoded decode(const std::string& headers, const std::string& bytes, std::size_t piece, std::uint64_t max_bytes) {
  const RequestHead head = parse_head(get(headers), kLimit).head;
  BodyDecoder decoder(head, max_bytes);
  Decoded result;
  std::string pending;
  for (std::size_t at = 0; at < bytes.size() && !decoder.done() && result.status == 0; at += piece) {
    pending += bytes.substr(at, piece);
    const BodyDecoder::Fed fed = decoder.feed(pending, [&](std::string_view data) -> std::optional<Refusal> {
      result.body += data;
      return std::nullopt;
    });
    if (fed.refusal) result.status = fed.refusal->status;
    pending.erase(0, fed.consumed);
    result.consumed += fed.consumed;
  }
  result.done = decoder.done();
  return result;
}

TEST(BodyDecoder, StopsAtTheLengthGiven) {
  const Decoded result = decode("Content-Length: 5\r\n", "helloNEXT", 100, 1000);
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.body, "hello");
  EXPECT_EQ(result.consumed, 5U);
}

TEST(BodyDecoder, AcceptsChunksInPiecesOfAnySize) {
  const std::string bytes = "5;note=1\r\nhello\r\n0A\r\n, big worl\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\nNEXT";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Decoded result = decode("Transfer-Encoding: chunked\r\n", bytes, piece, 1000);
    EXPECT_TRUE(result.done) << piece;
    EXPECT_EQ(result.body, "hello, big world") << piece;
    EXPECT_EQ(result.consumed, bytes.size() - 4) << piece;
  }
}

TEST(BodyDecoder, RefusesMalformedOrEndlessChunks) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(decode(chunked, "zz\r\n", 100, 1000).status, 400);
  EXPECT_EQ(decode(chunked, "\r\n", 100, 1000).status, 400);
  EXPECT_EQ(decode(chunked, "-1\r\n", 100, 1000).status, 400);
  EXPECT_EQ(decode(chunked, "3\r\nhello\r\n", 100, 1000).status, 400);
  EXPECT_EQ(decode(chunked, "ffffffffffffffffff\r\n", 100, 1000).status, 400);
  EXPECT_EQ(decode(chunked, "ffffffffffffffff\r\n", 100, 1000).status, 413);
  EXPECT_EQ(decode(chunked, "400\r\n", 100, 1000).status, 413);
  EXPECT_EQ(decode(chunked, std::string(500, '0'), 100, 1000).status, 400);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 100; ++i) trailers += "T: " + std::string(100, 'x') + "\r\n";
  EXPECT_EQ(decode(chunked, trailers, 100, 1000).status, 431);
}

}  // namespace
}  // namespace forerun::server
