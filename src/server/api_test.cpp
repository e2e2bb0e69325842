// The API in process and over a socket: answers, refusals, hostile input.
#include "server/api.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "server/http_server.hpp"
#include "server/openapi.hpp"
#include "server/test_client.hpp"

namespace forerun::server {
namespace {

using Json = nlohmann::json;

const std::string kModel = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/resnet50.onnx";
const std::string kConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":256,"intermediate_size":688,)"
    R"("num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":4,"vocab_size":1000,)"
    R"("max_position_embeddings":512,"hidden_act":"silu","rms_norm_eps":1e-5,"tie_word_embeddings":false})";

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string multipart(const std::string& request, const std::string& file_name, const std::string& content) {
  return "--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + request +
         "\r\n--edge\r\nContent-Disposition: form-data; name=\"model\"; filename=\"" + file_name + "\"\r\n\r\n" +
         content + "\r\n--edge--\r\n";
}
const std::string kMultipart = "Content-Type: multipart/form-data; boundary=edge\r\n";

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

  static Service* service_;
  AccessLog log_ = *AccessLog::open("off");
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};
Service* ApiTest::service_ = nullptr;

TEST_F(ApiTest, PredictsFromAConfigOnSeveralDevices) {
  start();
  const TestReply reply = predict(R"({"config":)" + kConfig +
                                  R"(,"device":"h200-sxm,a100-sxm-40gb","batch":2,"seq":64,"precision":"fp16"})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json report = Json::parse(reply.body);
  EXPECT_EQ(report["workload"]["batch"], 2);
  ASSERT_EQ(report["results"].size(), 2U);
  const Json& latency = report["results"][0]["estimates"]["latency_ms"];
  EXPECT_GT(latency["value"], 0);
  EXPECT_LE(latency["low"], latency["value"]);
  EXPECT_GE(latency["high"], latency["value"]);
}

TEST_F(ApiTest, PredictsAndInspectsAnUploadedModel) {
  start();
  const std::string model = read_file(kModel);
  ASSERT_FALSE(model.empty()) << kModel;
  TestReply reply =
      client().post("/v1/predict", multipart(R"({"device":"t4","batch":4})", "resnet50.onnx", model), kMultipart);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Json::parse(reply.body)["results"][0]["device"], "t4");
  reply = client().post("/v1/inspect", multipart(R"({"batch":4})", "resnet50.onnx", model), kMultipart);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Json::parse(reply.body)["format"], "onnx");
}

TEST_F(ApiTest, AnswersEveryShippedNetworkItLists) {
  start();
  const Json networks = get_json("/v1/networks")["networks"];
  ASSERT_FALSE(networks.empty());
  const std::string name = networks[0]["name"];
  EXPECT_EQ(client().post("/v1/inspect", Json{{"model", name}}.dump()).status, 200);
  EXPECT_EQ(predict(Json{{"model", name}, {"device", "l4"}}.dump()).status, 200);
}

TEST_F(ApiTest, ListsDevicesPredictorsAndRegions) {
  start();
  const Json devices = get_json("/v1/devices")["devices"];
  EXPECT_GT(devices.size(), 50U);
  EXPECT_TRUE(devices[0].contains("peak_tflops"));
  EXPECT_FALSE(get_json("/v1/predictors")["predictors"].empty());
  EXPECT_GT(get_json("/v1/regions")["regions"].size(), 100U);
  EXPECT_EQ(get_json("/healthz")["status"], "ok");
}

TEST_F(ApiTest, DescribesEveryRouteAndOption) {
  start();
  const Json document = get_json("/openapi.json");
  for (const Route& route : all_routes())
    EXPECT_TRUE(document["paths"].contains(std::string(route.path))) << route.path;
  const Json& properties = document["components"]["schemas"]["PredictRequest"]["properties"];
  for (const Option& option : all_options()) {
    if ((option.commands & kPredict) == 0) continue;
    EXPECT_EQ(properties.contains(json_key(option)), !is_local_option(option.name)) << option.name;
  }
  EXPECT_EQ(properties["runtime"]["enum"], (Json{"eager", "graph"}));
}

TEST_F(ApiTest, RefusesPathsWhereverTheyCouldHide) {
  start();
  for (const char* model : {"/etc/passwd", "../../etc/passwd", "config.json", ".", "", "file:///etc/passwd"}) {
    for (const char* key : {"model", "network"}) {
      const auto [status, detail] = refused(predict(Json{{key, model}, {"device", "t4"}}.dump()));
      EXPECT_TRUE(status == 400 || status == 404) << key << " " << model << " " << status;
      EXPECT_EQ(detail.find("root:"), std::string::npos);
    }
  }
  const Json base = {{"config", Json::parse(kConfig)}, {"device", "t4"}};
  for (const char* key : {"device_file", "store"}) {
    Json request = base;
    request[key] = "/etc/passwd";
    EXPECT_EQ(refused(predict(request.dump())).first, 400) << key;
  }
  EXPECT_EQ(client().get("/../../etc/passwd").status, 404);
  EXPECT_EQ(client().get("/%2e%2e/%2e%2e/etc/passwd").status, 404);
}

TEST_F(ApiTest, SaysWhatIsWrongWithARequest) {
  start();
  EXPECT_EQ(refused(predict("{")).first, 400);
  EXPECT_EQ(refused(predict("[1]")).first, 400);
  EXPECT_EQ(refused(predict("{}")).first, 400);
  EXPECT_EQ(refused(predict(R"({"config":)" + kConfig + "}")).first, 400);
  EXPECT_EQ(refused(predict(R"({"config":)" + kConfig + R"(,"device":"t4","batch":-1})")).first, 400);
  EXPECT_EQ(refused(predict(R"({"config":)" + kConfig + R"(,"device":"t4","colour":"red"})")).first, 400);
  const auto [status, detail] = refused(predict(R"({"config":)" + kConfig + R"(,"device":"a9000"})"));
  EXPECT_EQ(status, 404);
  EXPECT_NE(detail.find("a9000"), std::string::npos);
}

TEST_F(ApiTest, RefusesHostileBodies) {
  start();
  EXPECT_EQ(refused(predict(std::string(1 << 20, '['))).first, 400);
  std::string nested = "{\"config\":";
  for (int i = 0; i < 100000; ++i) nested += "{\"a\":";
  EXPECT_EQ(refused(predict(nested)).first, 400);
  std::string devices;
  for (int i = 0; i < 5000; ++i) devices += "t4,";
  EXPECT_EQ(refused(predict(Json{{"config", Json::parse(kConfig)}, {"device", devices}}.dump())).first, 413);
  EXPECT_EQ(
      refused(
          predict(
              Json{{"config", Json::parse(kConfig)}, {"device", "all,all,all,all,all,all,all,all,all,all,all"}}.dump()))
          .first,
      413);
  EXPECT_EQ(refused(client().post("/v1/predict", "x", "Content-Type: text/plain\r\n")).first, 415);
  EXPECT_EQ(refused(client().post("/v1/predict", "x", "")).first, 415);
  EXPECT_EQ(
      refused(client().post("/v1/predict", multipart(R"({"device":"t4"})", "x.onnx", "not a model"), kMultipart)).first,
      400);
  EXPECT_EQ(refused(client().post("/v1/predict", multipart(R"({"device":"t4","model":"resnet50"})", "x.onnx", "y"),
                                  kMultipart))
                .first,
            400);
  const std::string model = read_file(kModel);
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, model.size() / 2}) {
    EXPECT_EQ(client()
                  .post("/v1/predict", multipart(R"({"device":"t4"})", "cut.onnx", model.substr(0, size)), kMultipart)
                  .status,
              400)
        << size;
  }
  EXPECT_EQ(client().get("/healthz").status, 200);
}

TEST_F(ApiTest, LeavesNoUploadBehind) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("forerun_api_test_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  ::setenv("TMPDIR", folder.c_str(), 1);
  start();
  const std::string whole = multipart(R"({"batch":1})", "resnet50.onnx", read_file(kModel));
  EXPECT_EQ(client().post("/v1/inspect", whole, kMultipart).status, 200);
  EXPECT_EQ(client().post("/v1/inspect", multipart("{", "broken.onnx", "x"), kMultipart).status, 400);
  {
    TestClient gone = client();
    gone.send("POST /v1/inspect HTTP/1.1\r\nHost: x\r\n" + kMultipart + "Content-Length: 100000\r\n\r\n" +
              whole.substr(0, 2000));
  }
  EXPECT_EQ(client().get("/healthz").status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 0U);
  TearDown();
  server_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ::unsetenv("TMPDIR");
  std::filesystem::remove_all(folder);
}

TEST_F(ApiTest, TakesConfigsWithOddFieldsWithoutFault) {
  start();
  for (const Json& odd : {Json(5), Json(nullptr), Json(Json::array({1})), Json(Json::object()), Json("")}) {
    for (const char* key :
         {"_name_or_path", "model_type", "hidden_size", "architectures", "torch_dtype", "num_attention_heads"}) {
      Json config = Json::parse(kConfig);
      config[key] = odd;
      const int status = predict(Json{{"config", config}, {"device", "t4"}}.dump()).status;
      EXPECT_TRUE(status == 200 || status == 400) << key << " " << odd << " " << status;
    }
  }
}

TEST_F(ApiTest, ErrorsNameTheUploadAsTheClientDoes) {
  start();
  const auto [status, detail] =
      refused(client().post("/v1/inspect", multipart("{}", "odd.bin", "not a model"), kMultipart));
  EXPECT_EQ(status, 400);
  EXPECT_NE(detail.find("odd.bin"), std::string::npos) << detail;
  EXPECT_EQ(detail.find("/"), std::string::npos) << detail;
}

TEST_F(ApiTest, KnowsItsRoutesAndMethods) {
  start();
  EXPECT_EQ(refused(client().get("/nothing")).first, 404);
  TestReply reply = client().get("/v1/predict");
  EXPECT_EQ(refused(reply).first, 405);
  EXPECT_EQ(reply.header("allow"), "POST");
  EXPECT_EQ(refused(client().post("/v1/devices", "{}")).first, 405);
}

TEST_F(ApiTest, ServesThePageWithoutOtherHosts) {
  start();
  TestReply page = client().get("/");
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_NE(page.header("content-security-policy").find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(client().get("/", "If-None-Match: " + page.header("etag") + "\r\nConnection: close\r\n").status, 304);
  std::size_t total = page.body.size();
  for (const char* path : {"/app.js", "/app.css", "/favicon.svg"}) {
    const TestReply file = client().get(path);
    EXPECT_EQ(file.status, 200) << path;
    total += file.body.size();
  }
  EXPECT_LT(total, 300U * 1024);
}

TEST_F(ApiTest, WantsItsTokenWhereThereIsOne) {
  start({.token = "s3cret", .store_url = {}});
  EXPECT_EQ(refused(client().get("/v1/devices")).first, 401);
  EXPECT_EQ(client().get("/v1/devices", "Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(client().get("/v1/devices", "Authorization: Bearer s3cre\r\n").status, 401);
  EXPECT_EQ(client().get("/v1/devices", "Authorization: Bearer \r\n").status, 401);
  EXPECT_EQ(client().get("/v1/devices", "Authorization: Bearer s3cret\r\n").status, 200);
  EXPECT_EQ(client().get("/metrics").status, 401);
  EXPECT_EQ(client().get("/healthz").status, 200);
  EXPECT_EQ(client().get("/").status, 200);
}

TEST_F(ApiTest, CountsWhatItAnswers) {
  start();
  client().get("/healthz");
  client().get("/nothing");
  const std::string text = client().get("/metrics").body;
  EXPECT_NE(text.find("forerun_http_requests_total{route=\"/healthz\",status=\"200\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("forerun_http_requests_total{route=\"other\",status=\"404\"} 1"), std::string::npos);
  EXPECT_NE(text.find("forerun_http_request_seconds_bucket{route=\"/healthz\",le=\"+Inf\"} 1"), std::string::npos);
  EXPECT_NE(text.find("forerun_http_connections"), std::string::npos);
}

TEST_F(ApiTest, HasNoMeasurementsWithoutAStore) {
  start();
  EXPECT_EQ(refused(client().get("/v1/measurements")).first, 404);
}

TEST_F(ApiTest, TheSameQuestionGetsTheSameAnswerFromManyThreads) {
  start();
  const std::string question = R"({"config":)" + kConfig + R"(,"device":"h200-sxm","batch":3,"seq":32})";
  const std::string expected = predict(question).body;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      TestClient one = client();
      for (int i = 0; i < 30; ++i) {
        const std::string other =
            R"({"config":)" + kConfig + R"(,"device":"l4","seq":32,"batch":)" + std::to_string(1 + (i + t) % 8) + "}";
        if (one.post("/v1/predict", question).body != expected || one.post("/v1/predict", other).status != 200) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ResponseCache, ForgetsTheLeastRecentlyUsed) {
  ResponseCache cache(8 * 1024);
  const auto text = [](char c) { return std::make_shared<const std::string>(std::string(600, c)); };
  for (char c = 'a'; c <= 'z'; ++c) {
    cache.insert(std::string(1, c), text(c));
    EXPECT_NE(cache.find("a"), nullptr) << "kept because it is used";
  }
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_EQ(*cache.find("z"), std::string(600, 'z'));
  EXPECT_LE(cache.bytes(), 8U * 1024);
  cache.insert("huge", std::make_shared<const std::string>(std::string(4096, 'x')));
  EXPECT_EQ(cache.find("huge"), nullptr) << "one answer must not push out all others";
}

TEST(AccessLog, EscapesWhatClientsSend) {
  const std::string line =
      access_line({"1.2.3.4", "GET", "/a\"\n\xff", 404, 10, 20, 0.0015}, "2026-01-01T00:00:00.000Z");
  const Json entry = Json::parse(line);
  EXPECT_EQ(entry["status"], 404);
  EXPECT_EQ(entry["ms"], 1.5);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

}  // namespace
}  // namespace forerun::server
