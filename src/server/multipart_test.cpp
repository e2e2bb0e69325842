// Multipart bodies cut into pieces of every size, and the malformed ones.
#include "server/multipart.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forerun::server {
namespace {

struct Received {
  std::vector<Part> parts;
  std::vector<std::string> data;
  int status = 0;
  bool done = false;
};

Received parse(const std::string& bytes, std::size_t piece = 1 << 20) {
  Received received;
  MultipartParser parser(
      "b0undary",
      [&](const Part& part) -> std::optional<Refusal> {
        received.parts.push_back(part);
        received.data.emplace_back();
        return std::nullopt;
      },
      [&](std::string_view data) -> std::optional<Refusal> {
        received.data.back() += data;
        return std::nullopt;
      });
  for (std::size_t at = 0; at < bytes.size() && received.status == 0; at += piece) {
    if (const auto refusal = parser.feed(bytes.substr(at, piece))) received.status = refusal->status;
  }
  received.done = parser.done();
  return received;
}

const std::string kTwoParts =
    "--b0undary\r\nContent-Disposition: form-data; name=\"request\"\r\nContent-Type: application/json\r\n\r\n{\"a\":1}"
    "\r\n--b0undary\r\nContent-Disposition: form-data; name=\"model\"; filename=\"../x/a \\\"b\\\".onnx\"\r\n\r\n"
    "\r\n--b0undar not yet\r\n--b0\r\n--b0undary--\r\nepilogue";

TEST(Multipart, JoinsPartsHoweverTheyAreSplit) {
  for (std::size_t piece = 1; piece < kTwoParts.size(); ++piece) {
    const Received received = parse(kTwoParts, piece);
    ASSERT_EQ(received.status, 0) << piece;
    ASSERT_TRUE(received.done) << piece;
    ASSERT_EQ(received.parts.size(), 2U) << piece;
    EXPECT_EQ(received.parts[0].name, "request");
    EXPECT_EQ(received.data[0], "{\"a\":1}");
    EXPECT_EQ(received.parts[1].name, "model");
    EXPECT_EQ(received.parts[1].file_name, "a \"b\".onnx");
    EXPECT_EQ(received.data[1], "\r\n--b0undar not yet\r\n--b0");
  }
}

TEST(Multipart, TakesEmptyParts) {
  const Received received = parse("--b0undary\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n--b0undary--");
  ASSERT_EQ(received.parts.size(), 1U);
  EXPECT_EQ(received.parts[0].name, "x");
  EXPECT_EQ(received.data[0], "");
  EXPECT_TRUE(received.done);
}

TEST(Multipart, RefusesWhatIsBroken) {
  EXPECT_EQ(parse("--b0undaryX\r\n").status, 400);
  EXPECT_EQ(parse("--b0undary\r\nContent-Type: x\r\n\r\ndata").status, 400);
  EXPECT_EQ(parse("--b0undary\r\n\r\ndata").status, 400);
  EXPECT_EQ(parse("--b0undary\r\nA: " + std::string(10000, 'x')).status, 431);
  std::string many;
  for (int i = 0; i < 130; ++i) many += "\r\n--b0undary\r\nContent-Disposition: form-data; name=x\r\n\r\n";
  EXPECT_EQ(parse(many).status, 400);
  EXPECT_FALSE(parse(kTwoParts.substr(0, kTwoParts.size() - 20)).done);
  EXPECT_FALSE(parse("no boundary at all").done);
}

TEST(Multipart, FindsTheBoundaryInTheContentType) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=x; boundary=\"a b\""), "a b");
  EXPECT_EQ(multipart_boundary("multipart/form-data"), "");
  EXPECT_EQ(multipart_boundary("multipart/mixed; boundary=abc"), "");
  EXPECT_EQ(multipart_boundary("application/json"), "");
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=\"unterminated"), "");
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=" + std::string(80, 'x')), "");
}

TEST(Multipart, FileNamesLoseTheirFolders) {
  EXPECT_EQ(base_name("../../etc/passwd"), "passwd");
  EXPECT_EQ(base_name("C:\\models\\net.onnx"), "net.onnx");
  EXPECT_EQ(base_name(".."), "");
  EXPECT_EQ(base_name("dir/"), "");
  EXPECT_EQ(base_name(std::string("a\0b\nc.onnx", 10)), "abc.onnx");
}

}  // namespace
}  // namespace forerun::server
