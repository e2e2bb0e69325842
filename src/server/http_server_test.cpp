// The front over real sockets: keep-alive, pipelining, limits, slow and rude clients, stopping.
#include "server/http_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "server/test_client.hpp"

namespace forerun::server {
namespace {

using std::chrono::milliseconds;

// Echoes method, path, body, and the upload's name and content.
class Echo : public HttpHandler {
 public:
  Admission admit(const RequestHead& head) override {
    if (head.path == "/missing") return {problem(404, "no such thing"), false};
    return {std::nullopt, head.method == "POST"};
  }
  Response handle(const Request& request) override {
    if (request.head.path == "/slow") std::this_thread::sleep_for(milliseconds(400));
    if (request.head.path == "/throw") throw std::runtime_error("boom");
    if (request.head.path == "/large") return respond(200, "text/plain", std::string(8 << 20, 'x'));
    std::string text = request.head.method + " " + request.head.path + " " + request.body;
    if (request.upload) {
      std::ifstream file(request.upload->file.path());
      const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      text += " " + request.upload->file_name + "=" + content;
    }
    return respond(200, "text/plain", text);
  }
  void finished(const ExchangeRecord& record) override {
    ++answered;
    last_status = record.status;
  }
  std::atomic<int> answered{0};
  std::atomic<int> last_status{0};
};

class HttpServerTest : public testing::Test {
 protected:
  void start() {
    options_.port = 0;
    options_.workers = 2;
    auto server = HttpServer::listen(options_, echo_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->run(); });
  }
  void TearDown() override { finish(); }
  void finish() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  TestClient client() { return TestClient(server_->port()); }

  ListenOptions options_;
  Echo echo_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersManyRequestsOnOneConnection) {
  start();
  TestClient one = client();
  for (int i = 0; i < 100; ++i) {
    const std::string body = "body " + std::to_string(i);
    EXPECT_EQ(one.post("/x", body).body, "POST /x " + body);
  }
  finish();
  EXPECT_EQ(echo_.answered.load(), 100);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  TestClient one = client();
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += "GET /" + std::string(i % 3 == 0 ? "missing" : std::to_string(i)) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  one.send(all);
  for (int i = 0; i < 50; ++i) {
    const TestReply reply = one.read_reply();
    if (i % 3 == 0)
      EXPECT_EQ(reply.status, 404);
    else
      EXPECT_EQ(reply.body, "GET /" + std::to_string(i) + " ");
  }
}

TEST_F(HttpServerTest, TakesAFileByteByByteAndKeepsNothing) {
  start();
  const std::string body =
      "--q\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}\r\n"
      "--q\r\nContent-Disposition: form-data; name=\"model\"; filename=\"m.onnx\"\r\n\r\ncontent\r\n--q--\r\n";
  TestClient one = client();
  one.send(
      "POST /up HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=q\r\nTransfer-Encoding: "
      "chunked\r\n\r\n");
  for (const char c : body) one.send("1\r\n" + std::string(1, c) + "\r\n");
  one.send("0\r\n\r\n");
  EXPECT_EQ(one.read_reply().body, "POST /up {} m.onnx=content");
}

TEST_F(HttpServerTest, RefusesBrokenMultipart) {
  start();
  const std::string type = "Content-Type: multipart/form-data; boundary=q\r\n";
  EXPECT_EQ(client()
                .post("/up", "--q\r\nContent-Disposition: form-data; name=\"model\"; filename=\"m\"\r\n\r\ncut", type)
                .status,
            400);
  EXPECT_EQ(client().post("/up", "--q\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\n\r\n--q--", type).status,
            400);
  EXPECT_EQ(client().post("/up", "--q\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n\r\n--q--", type).status,
            400);
  EXPECT_EQ(client().post("/ok", "still here").status, 200);
}

TEST_F(HttpServerTest, RefusesBodiesOverTheLimitBeforeReadingThem) {
  options_.limits.max_json_bytes = 1000;
  options_.limits.max_upload_bytes = 5000;
  start();
  TestClient one = client();
  one.send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
  EXPECT_EQ(one.read_reply().status, 413);
  EXPECT_EQ(client().post("/x", std::string(1001, 'a')).status, 413);
  EXPECT_EQ(client().post("/x", std::string(1000, 'a')).status, 200);
  TestClient two = client();
  two.send("POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n");
  EXPECT_EQ(two.read_reply().status, 413);
  const std::string part =
      "--q\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + std::string(2000, 'x') + "\r\n--q--\r\n";
  EXPECT_EQ(client().post("/x", part, "Content-Type: multipart/form-data; boundary=q\r\n").status, 413);
}

TEST_F(HttpServerTest, GivesUpOnSlowSenders) {
  options_.limits.head_timeout = milliseconds(300);
  options_.limits.body_timeout = milliseconds(300);
  start();
  TestClient slow_head = client();
  slow_head.send("GET / HTTP/1.1\r\nHost: x\r\n");
  TestClient slow_body = client();
  slow_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow_head.read_reply().status, 408);
  EXPECT_EQ(slow_body.read_reply().status, 408);
  EXPECT_EQ(client().get("/").status, 200);
}

TEST_F(HttpServerTest, ServesOthersWhileManyAreSlow) {
  start();
  std::vector<TestClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(client());
    slow.back().send("POST /x HTTP/1.1\r\nHost: x\r\nContent-Le");
  }
  EXPECT_EQ(client().get("/quick").status, 200);
}

TEST_F(HttpServerTest, RefusesConnectionsAndRequestsBeyondTheLimits) {
  options_.limits.max_connections = 3;
  start();
  std::vector<TestClient> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(client());
    EXPECT_EQ(held.back().get("/").status, 200);
  }
  EXPECT_EQ(client().read_reply().status, 503);
  EXPECT_EQ(held[0].get("/").status, 200);
}

TEST_F(HttpServerTest, AnswersBusyWhenTooManyWait) {
  options_.limits.max_waiting = 2;
  start();
  std::vector<TestClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(client());
    clients.back().send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  int busy = 0;
  for (TestClient& one : clients) busy += one.read_reply().status == 503 ? 1 : 0;
  EXPECT_EQ(busy, 4);
}

TEST_F(HttpServerTest, GivesUpOnAnswersThatTakeTooLong) {
  options_.limits.handle_timeout = milliseconds(50);
  start();
  EXPECT_EQ(client().get("/slow").status, 504);
}

TEST_F(HttpServerTest, AnswersAfterClientsThatBreakOff) {
  start();
  for (const std::string bytes :
       {"\x16\x03\x01\x02", "GET", "\r\n\r\n\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab",
        "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"}) {
    TestClient one = client();
    one.send(bytes);
  }
  EXPECT_EQ(client().get("/throw").status, 500);
  EXPECT_EQ(client().get("/").status, 200);
}

TEST_F(HttpServerTest, SendsLargeAnswersToSlowReaders) {
  start();
  TestClient one = client();
  one.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(one.read_reply().body.size(), std::size_t{8} << 20);
}

TEST_F(HttpServerTest, AnswersAClientThatHasFinishedSending) {
  start();
  TestClient one = client();
  one.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  one.close_write();
  EXPECT_EQ(one.read_reply().status, 200);
}

TEST_F(HttpServerTest, HeadAndOldVersionsAreFramedRight) {
  start();
  TestClient one = client();
  one.send("HEAD /x HTTP/1.1\r\nHost: x\r\n\r\nGET /y HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(one.read_reply(false).status, 200);
  EXPECT_EQ(one.read_reply().body, "GET /y ");
  TestClient old = client();
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().header("connection"), "close");
  EXPECT_TRUE(old.at_end());
}

TEST_F(HttpServerTest, SaysContinueToThoseWhoWait) {
  start();
  TestClient one = client();
  one.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(one.read_reply(false).status, 100);
  one.send("ok");
  EXPECT_EQ(one.read_reply().body, "POST / ok");
}

TEST_F(HttpServerTest, FinishesRequestsInProgressWhenStopped) {
  start();
  TestClient busy = client();
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  TestClient idle = client();
  EXPECT_EQ(idle.get("/").status, 200);
  std::this_thread::sleep_for(milliseconds(100));
  server_->stop();
  const TestReply reply = busy.read_reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(idle.at_end());
  thread_.join();
}

TEST_F(HttpServerTest, ManyThreadsOfClientsGetTheirOwnAnswers) {
  start();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      TestClient one = client();
      for (int i = 0; i < 200; ++i) {
        const std::string body = std::to_string(t) + "/" + std::to_string(i);
        if (one.post("/p", body).body != "POST /p " + body) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace forerun::server
