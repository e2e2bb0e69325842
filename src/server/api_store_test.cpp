// Data of the user's own on a server: a store of measurements, added devices. And the API in process.
#include <gtest/gtest.h>

#include <filesystem>

#include "server/api_fixture.hpp"
#include "service/catalogue_json.hpp"
#include "store/store.hpp"

namespace forerun::server {
namespace {

namespace fs = std::filesystem;

class StoreApiTest : public ApiTest {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("forerun_store_api_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    url_ = "sqlite:" + (folder_ / "measurements.db").string();
  }
  void TearDown() override {
    ApiTest::TearDown();
    fs::remove_all(folder_);
  }
  // 1,500 rows of two networks on three devices in two campaigns; every tenth ran out of memory.
  void fill_store() {
    std::vector<Measurement> rows;
    for (int i = 0; i < 1500; ++i) {
      Measurement row;
      row.campaign = i % 2 == 0 ? "spring" : "autumn";
      row.row_id = std::to_string(i);
      row.network = i % 5 == 0 ? "bert-base" : "resnet-50";
      row.device = std::array{"h200-sxm", "l4", "t4"}[std::size_t(i % 3)];
      row.settings = {{"batch", std::to_string(i)}, {"note", "a \"quoted\"\tnote"}};
      row.status = i % 10 == 0 ? "oom" : "ok";
      if (row.status == "ok") row.metrics = {{"latency_ms_median", 1.5 + i}};
      rows.push_back(std::move(row));
    }
    auto store = open_store(url_, OpenMode::Write);
    ASSERT_TRUE(store) << store.error().message;
    const Status status = (*store)->upsert(rows);
    ASSERT_TRUE(status) << status.error().message;
  }
  std::size_t count(const std::string& query) {
    return get_json("/v1/measurements?limit=1000" + query)["measurements"].size();
  }

  fs::path folder_;
  std::string url_;
};

TEST_F(StoreApiTest, ShowsMeasurementsOfARealStore) {
  fill_store();
  start({.token = {}, .store_url = url_});
  const Json rows = get_json("/v1/measurements?device=l4&campaign=autumn&status=ok")["measurements"];
  EXPECT_EQ(rows.size(), 100U) << "the default limit";
  for (const Json& row : rows) {
    EXPECT_EQ(row["device"], "l4");
    EXPECT_EQ(row["campaign"], "autumn");
    EXPECT_GT(row["metrics"]["latency_ms_median"], 0);
    EXPECT_EQ(row["settings"]["note"], "a \"quoted\"\tnote");
  }
  EXPECT_EQ(count(""), 1000U) << "at most";
  EXPECT_EQ(count("&network=bert-base"), 300U);
  EXPECT_EQ(count("&network=bert-base&device=t4&status=oom"), 50U);
  EXPECT_EQ(count("&device=h100-sxm"), 0U);
  EXPECT_EQ(get_json("/v1/measurements?limit=7")["measurements"].size(), 7U);
}

TEST_F(StoreApiTest, MeasurementsAreSafeFromTheirQueries) {
  fill_store();
  start({.token = {}, .store_url = url_});
  for (const char* limit : {"0", "-1", "1001", "abc", "1e3", "99999999999999999999", "5%20"}) {
    EXPECT_EQ(refused(client().get(std::string("/v1/measurements?limit=") + limit)).first, 400) << limit;
  }
  EXPECT_EQ(count("&device=%27%20OR%201%3D1%20--"), 0U);
  EXPECT_EQ(count("&network=%27%3B%20DROP%20TABLE%20measurements%3B--"), 0U);
  EXPECT_EQ(count("&device=%zz"), 1000U) << "a broken escape is no filter";
  EXPECT_EQ(count("&network=bert-base"), 300U) << "all is still there";
}

TEST_F(StoreApiTest, AStoreThatVanishesIsOurFault) {
  fill_store();
  start({.token = {}, .store_url = url_});
  fs::remove_all(folder_);
  EXPECT_GE(refused(client().get("/v1/measurements")).first, 400);
  EXPECT_EQ(client().get("/healthz").status, 200);
}

TEST_F(StoreApiTest, UserDevicesAreListedAndCanBePredictedOn) {
  std::string text(*shipped_device_json("l4"));
  text.replace(text.find("\"l4\""), 4, "\"my-l4\"");
  const std::string file = (folder_ / "my-l4.json").string();
  std::ofstream(file) << text;
  const auto service = Service::create({.device_files = {file}});
  ASSERT_TRUE(service) << service.error().message;
  api_ = std::make_unique<Api>(**service, ApiOptions{}, log_);
  const Response devices = api_->answer_devices({});
  bool is_listed = false;
  const Json listed = Json::parse(*devices.body);
  for (const Json& device : listed["devices"]) is_listed = is_listed || device["id"] == "my-l4";
  EXPECT_TRUE(is_listed);
  EXPECT_EQ(*devices.body, devices_json((*service)->catalogue()) + "\n") << "one codec for all";
  Request request;
  request.body = R"({"model":"resnet50","device":"my-l4"})";
  EXPECT_EQ(api_->answer_predict(request).status, 200);
}

TEST_F(ApiTest, AnswersTheSameInProcessAsOverASocket) {
  start();
  Request request;
  request.head.method = "POST";
  request.head.path = "/v1/predict";
  request.head.headers = {{"content-type", "application/json"}};
  for (const char* body :
       {R"({"model":"resnet50","device":"h200-sxm,t4","batch":4})",
        R"({"model":"bert-base-uncased","device":"l4","seq":64})", R"({"model":"nothing","device":"l4"})", "{",
        R"({"model":"resnet50","device":"l4","train":true})"}) {
    EXPECT_FALSE(api_->admit(request.head).refusal);
    request.body = body;
    const Response here = api_->handle(request);
    const TestReply there = predict(body);
    EXPECT_EQ(here.status, there.status) << body;
    EXPECT_EQ(*here.body, there.body) << body;
  }
  request.head.path = "/v1/nothing";
  EXPECT_EQ(api_->admit(request.head).refusal->status, 404);
  request.head.path = "/v1/devices";
  EXPECT_EQ(api_->admit(request.head).refusal->status, 405);
  request.head.method = "GET";
  EXPECT_FALSE(api_->admit(request.head).refusal);
  EXPECT_EQ(*api_->handle(request).body, client().get("/v1/devices").body);
}

}  // namespace
}  // namespace forerun::server
