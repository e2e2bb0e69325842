// Shared by the API's tests: a service, a server on a free port, and helpers for requests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "server/api.hpp"
#include "server/http_server.hpp"
#include "server/test_client.hpp"

namespace forerun::server {

using Json = nlohmann::json;

inline const std::string kModel = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/resnet50.onnx";
inline const std::string kConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":256,"intermediate_size":688,)"
    R"("num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":4,"vocab_size":1000,)"
    R"("max_position_embeddings":512,"hidden_act":"silu","rms_norm_eps":1e-5,"tie_word_embeddings":false})";

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string multipart(const std::string& request, const std::string& file_name, const std::string& content) {
  return "--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + request +
         "\r\n--edge\r\nContent-Disposition: form-data; name=\"model\"; filename=\"" + file_name + "\"\r\n\r\n" +
         content + "\r\n--edge--\r\n";
}
inline const std::string kMultipart = "Content-Type: multipart/form-data; boundary=edge\r\n";

class ApiTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto service = Service::create();
    ASSERT_TRUE(service) << service.error().message;
    service_ = std::move(*service).release();
  }
  static void TearDownTestSuite() { delete service_; }

  void start(ApiOptions options = {}, ListenOptions listen = {}) {
    api_ = std::make_unique<Api>(*service_, std::move(options), log_);
    listen.port = 0;
    listen.workers = 2;
    auto server = HttpServer::listen(listen, *api_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    api_->watch([this] { return Metrics::Gauges{server_->open_connections(), server_->waiting_requests()}; });
    thread_ = std::thread([this] { server_->run(); });
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }
  TestClient client() { return TestClient(server_->port()); }
  Json get_json(const std::string& path) {
    const TestReply reply = client().get(path);
    EXPECT_EQ(reply.status, 200) << path << " " << reply.body;
    EXPECT_EQ(reply.header("content-type"), "application/json");
    return Json::parse(reply.body);
  }
  // The status and words of a refusal; checks that it is problem+json.
  std::pair<int, std::string> refused(const TestReply& reply) {
    EXPECT_EQ(reply.header("content-type"), "application/problem+json") << reply.body;
    const Json problem = Json::parse(reply.body, nullptr, false);
    EXPECT_EQ(problem.value("status", 0), reply.status);
    return {reply.status, problem.value("detail", "")};
  }
  TestReply predict(const std::string& body) { return client().post("/v1/predict", body); }

  static inline Service* service_ = nullptr;
  AccessLog log_ = *AccessLog::open("off");
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

}  // namespace forerun::server
