// A blocking HTTP client for tests: sends exactly the given bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace forerun::server {

struct TestReply {
  int status = 0;
  std::string head;
  std::string body;
  // The value of a header (name in lower case), or empty.
  [[nodiscard]] std::string header(std::string name) const {
    std::string lower = head;
    for (char& c : lower) c = static_cast<char>(::tolower(static_cast<unsigned char>(c)));
    const std::size_t at = lower.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t start = at + name.size() + 4;
    return head.substr(start, head.find("\r\n", start) - start);
  }
};

class TestClient {
 public:
  explicit TestClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) shut();
  }
  TestClient(TestClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}
  TestClient& operator=(TestClient&&) = delete;
  ~TestClient() { shut(); }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  void close_write() { ::shutdown(fd_, SHUT_WR); }

  TestReply get(const std::string& path, const std::string& headers = "") {
    send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    return read_reply();
  }
  TestReply post(const std::string& path, const std::string& body,
                 const std::string& headers = "Content-Type: application/json\r\n") {
    send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return read_reply();
  }

  // One answer; status 0 when the connection ends before it.
  TestReply read_reply(bool has_body = true) {
    TestReply reply;
    std::size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return reply;
    }
    reply.head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    reply.status = std::atoi(reply.head.c_str() + 9);
    const std::size_t length =
        has_body ? static_cast<std::size_t>(std::atoll(("0" + reply.header("content-length")).c_str())) : 0;
    while (buffer_.size() < length) {
      if (!receive()) break;
    }
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return reply;
  }

  bool at_end() { return buffer_.empty() && !receive(); }

 private:
  bool receive() {
    char bytes[65536];
    const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }
  void shut() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int fd_;
  std::string buffer_;
};

}  // namespace forerun::server
