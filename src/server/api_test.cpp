// The API over a socket: answers and refusals.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "server/api_fixture.hpp"
#include "server/openapi.hpp"

namespace forerun::server {
namespace {

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

TEST_F(ApiTest, ReadsAnArchiveThatIsUploaded) {
  start();
  const std::string folder = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/archives/";
  for (const char* name : {"saved_model.tar.gz", "paddle.zip", "repository.zip", "onnx.onnx.gz"}) {
    const TestReply reply = client().post("/v1/inspect", multipart("{}", name, read_file(folder + name)), kMultipart);
    ASSERT_EQ(reply.status, 200) << name << ": " << reply.body;
    EXPECT_GT(Json::parse(reply.body)["macs"], 0) << name;
  }
  const auto [status, detail] = refused(
      client().post("/v1/inspect", multipart("{}", "x.zip", read_file(folder + "bad_several.zip")), kMultipart));
  EXPECT_EQ(status, 400);
  EXPECT_EQ(detail, "x.zip: holds 2 networks ('a.onnx', 'b/c.onnx'); unpack it and give one of them");
}

TEST_F(ApiTest, ReadsSeveralFilesAsOneFolder) {
  start();
  const std::string folder = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/";
  const auto part = [](const std::string& name, const std::string& content) {
    return "--edge\r\nContent-Disposition: form-data; name=\"model\"; filename=\"" + name + "\"\r\n\r\n" + content +
           "\r\n";
  };
  const std::string network = part("external.onnx", read_file(folder + "external.onnx"));
  const std::string weights = part("external.bin", read_file(folder + "external.bin"));
  TestReply reply = client().post("/v1/inspect", network + weights + "--edge--\r\n", kMultipart);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_GT(Json::parse(reply.body)["parameters"], 0);
  EXPECT_NE(refused(client().post("/v1/inspect", network + network + "--edge--\r\n", kMultipart))
                .second.find("two files are called external.onnx"),
            std::string::npos);
  const auto [status, detail] = refused(client().post(
      "/v1/inspect", network + part("short.onnx", read_file(folder + "external.onnx")) + "--edge--\r\n", kMultipart));
  EXPECT_EQ(status, 400);
  EXPECT_EQ(detail, "upload: holds 2 networks ('external.onnx', 'short.onnx'); give one of them");
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
  EXPECT_EQ(properties["runtime"]["enum"], (Json{"eager", "graph", "compiled", "engine"}));
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

TEST_F(ApiTest, ErrorsNameTheUploadByItsFileName) {
  start();
  const auto [status, detail] =
      refused(client().post("/v1/inspect", multipart("{}", "odd.bin", "not a model"), kMultipart));
  EXPECT_EQ(status, 400);
  EXPECT_NE(detail.find("odd.bin"), std::string::npos) << detail;
  EXPECT_EQ(detail.find("/"), std::string::npos) << detail;
}

TEST_F(ApiTest, RefusesUnknownRoutesAndMethods) {
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

TEST_F(ApiTest, RequiresTheTokenWhenOneIsSet) {
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

TEST_F(ApiTest, MetricsCountAnswers) {
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
