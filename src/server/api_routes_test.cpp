// Routes beside predict and inspect, many questions in one body, a device of the request's own, other sites, rates.
#include <gtest/gtest.h>

#include <sstream>

#include "server/api_fixture.hpp"

namespace forerun::server {
namespace {

using namespace std::chrono_literals;

const std::string kJson = "Content-Type: application/json\r\n";
const std::string kLines = "Content-Type: application/x-ndjson\r\n";

std::vector<Json> lines_of(const std::string& body) {
  std::vector<Json> lines;
  std::istringstream stream(body);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST_F(ApiTest, AnswersALinePerRequestInOrder) {
  start();
  const std::string config = R"({"config":)" + kConfig + R"(,"seq":16,"batch":)";
  const std::string body = config + R"(1,"device":"l4","id":"first"})" + "\n\n" + config + R"(2,"device":"nothing"})" +
                           "\nno JSON\n" + config + R"(3,"device":"l4","id":7})";
  const TestReply reply = client().post("/v1/predict", body, kLines);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("content-type"), "application/x-ndjson");
  const std::vector<Json> lines = lines_of(reply.body);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["id"], "first");
  EXPECT_EQ(lines[0]["workload"]["batch"], 1);
  EXPECT_EQ(lines[1]["error"]["line"], 3);
  EXPECT_EQ(lines[1]["error"]["kind"], "not_found");
  EXPECT_EQ(lines[2]["error"]["line"], 4);
  EXPECT_EQ(lines[3]["id"], 7);
  EXPECT_EQ(lines[3]["workload"]["batch"], 3);
  EXPECT_EQ(client().post("/v1/predict", body, kLines).body, reply.body);
  EXPECT_EQ(refused(client().post("/v1/predict", "\n", kLines)).first, 400);
  EXPECT_EQ(refused(client().post("/v1/inspect", body, kLines)).first, 415);
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "{}\n";
  EXPECT_EQ(refused(client().post("/v1/predict", many, kLines)).first, 413);
}

TEST_F(ApiTest, AnswersSlicesRooflinesAndNodes) {
  start();
  const std::string config = R"({"config":)" + kConfig + R"(,"seq":16)";
  const TestReply mig = client().post("/v1/mig", config + R"(,"device":"a100-sxm-40gb"})", kJson);
  ASSERT_EQ(mig.status, 200) << mig.body;
  EXPECT_EQ(Json::parse(mig.body)["mig"]["profile"], "1g.5gb");
  const TestReply roofline = client().post("/v1/roofline", config + R"(,"device":"l4"})", kJson);
  ASSERT_EQ(roofline.status, 200) << roofline.body;
  EXPECT_FALSE(Json::parse(roofline.body)["kernels"].empty());
  const TestReply nodes = client().post("/v1/nodes", config + "}", kJson);
  ASSERT_EQ(nodes.status, 200) << nodes.body;
  EXPECT_TRUE(Json::parse(nodes.body)["nodes"][0].contains("operator"));
  EXPECT_EQ(refused(client().post("/v1/mig", config + "}", kJson)).second, "device: name the one it runs on");
}

TEST_F(ApiTest, DescribesOneDevice) {
  start();
  EXPECT_EQ(get_json("/v1/devices/l4")["memory_bandwidth_gb_per_s"], 300);
  EXPECT_EQ(get_json("/v1/devices/a100-sxm-40gb:1g.5gb")["slice"], "1g.5gb");
  const auto [status, detail] = refused(client().get("/v1/devices/l5"));
  EXPECT_EQ(status, 404);
  EXPECT_NE(detail.find("nearest"), std::string::npos);
  EXPECT_EQ(refused(client().get("/v1/devices/")).first, 404);
  EXPECT_EQ(refused(client().get("/v1/devices/l4/x")).first, 404);
}

TEST_F(ApiTest, TakesADeviceOfTheRequestsOwn) {
  start();
  Json spec = get_json("/v1/devices/l4");
  spec["id"] = "mine";
  spec["memory_bandwidth_gb_per_s"] = 600;
  const Json request = {{"config", Json::parse(kConfig)}, {"seq", 64}, {"phase", "decode"}, {"runtime", "graph"}};
  const auto latency = [&](const Json& more) {
    Json asked = request;
    asked.update(more);
    const TestReply reply = predict(asked.dump());
    EXPECT_EQ(reply.status, 200) << reply.body;
    const Json result = Json::parse(reply.body)["results"].back();
    return std::pair(result["device"].get<std::string>(), result["estimates"]["latency_ms"]["value"].get<double>());
  };
  const auto [id, own] = latency({{"device_spec", spec}});
  EXPECT_EQ(id, "mine");
  EXPECT_LT(own, latency({{"device", "l4"}}).second);
  EXPECT_EQ(latency({{"device_spec", spec}, {"device", Json{"l4", "mine"}}}).second, own);
  spec["memory_gib"] = -1;
  const Json bad = {{"config", Json::parse(kConfig)}, {"device_spec", spec}};
  EXPECT_NE(refused(predict(bad.dump())).second.find("device_spec: 'memory_gib'"), std::string::npos);
  EXPECT_EQ(refused(client().get("/v1/devices/mine")).first, 404) << "it belongs to its request alone";
}

TEST_F(ApiTest, SaysWhatItIsAndWhetherItIsReady) {
  start();
  const Json health = get_json("/healthz");
  EXPECT_EQ(health["status"], "ok");
  EXPECT_EQ(health["bundles"]["trees"].get<std::string>().size(), 8U);
  EXPECT_EQ(get_json("/readyz")["status"], "ready");
  api_->watch([] { return Metrics::Gauges{0, 6, 10}; });
  EXPECT_EQ(client().get("/readyz").status, 503);
}

TEST_F(ApiTest, PagesOfAllowedSitesMayAsk) {
  auto origins = OriginList::from({"https://Dash.example.org"});
  ASSERT_TRUE(origins);
  start({.origins = *origins});
  const std::string question = R"({"config":)" + kConfig + R"(,"device":"l4","seq":16})";
  const std::string allowed = "Origin: https://dash.example.org\r\nSec-Fetch-Site: cross-site\r\n";
  const std::string other = "Origin: https://other.example.org\r\nSec-Fetch-Site: cross-site\r\n";
  for (int i = 0; i < 2; ++i) {  // made, then from the cache
    const TestReply reply = client().post("/v1/predict", question, kJson + allowed);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("access-control-allow-origin"), "https://dash.example.org");
    EXPECT_EQ(reply.header("vary"), "Origin");
  }
  EXPECT_EQ(client().post("/v1/predict", "{", kJson + allowed).header("access-control-allow-origin"),
            "https://dash.example.org");
  const TestReply refusal = client().post("/v1/predict", question, kJson + other);
  EXPECT_EQ(refusal.status, 403);
  EXPECT_EQ(refusal.header("access-control-allow-origin"), "");
  TestClient asking = client();
  asking.send("OPTIONS /v1/predict HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\n" + allowed +
              "\r\n");
  const TestReply preflight = asking.read_reply(false);
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("access-control-allow-headers"), "Authorization, Content-Type");
  for (const char* odd : {"*", "example.org", "https://example.org/page", "ftp://example.org", "https://"})
    EXPECT_FALSE(OriginList::from({odd})) << odd;
}

TEST_F(ApiTest, WhoAsksTooOftenIsToldWhenToAskAgain) {
  start({.questions_per_s = 0.01, .burst = 2});
  const std::string question = R"({"config":)" + kConfig + R"(,"device":"l4","seq":16})";
  EXPECT_EQ(predict(question).status, 200);
  EXPECT_EQ(predict(question).status, 200);
  const TestReply reply = predict(question);
  EXPECT_EQ(refused(reply).first, 429);
  EXPECT_EQ(reply.header("retry-after"), "100");
  EXPECT_EQ(client().get("/healthz").status, 200);
}

TEST_F(ApiTest, ServesTheDocuments) {
  start();
  EXPECT_EQ(client().get("/docs").header("content-type"), "text/html; charset=utf-8");
  const TestReply page = client().get("/docs/serving.md");
  EXPECT_EQ(page.header("content-type"), "text/markdown; charset=utf-8");
  EXPECT_TRUE(page.body.starts_with("# Serving"));
  EXPECT_EQ(client().get("/docs/accuracy.svg").status, 200);
  EXPECT_EQ(client().get("/docs/nothing.md").status, 404);
}

TEST(RateLimit, FillsAtItsRateForEachClient) {
  RateLimit limit(2, 3);
  const RateLimit::Time start{};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("a", start), 0);
  EXPECT_DOUBLE_EQ(limit.take("a", start), 0.5);
  EXPECT_EQ(limit.take("b", start), 0);
  EXPECT_EQ(limit.take("a", start + 500ms), 0);
  EXPECT_GT(limit.take("a", start + 600ms), 0);
  EXPECT_EQ(limit.take("a", start + 100s), 0);
}

}  // namespace
}  // namespace forerun::server
