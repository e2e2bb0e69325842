#include "server/origin.hpp"

#include <gtest/gtest.h>

#include "server/api_fixture.hpp"

namespace forerun::server {
namespace {

TEST(HostOf, TakesPortBracketsAndCaseOff) {
  EXPECT_EQ(host_of("LocalHost:8080"), "localhost");
  EXPECT_EQ(host_of("[::1]:8080"), "::1");
  EXPECT_EQ(host_of("::1"), "::1");
  EXPECT_EQ(host_of("Example.org.:80"), "example.org");
  EXPECT_EQ(host_of("[::1"), "");
}

TEST(HostList, OnLoopbackAnswersToLoopbackNamesAlone) {
  const HostList hosts("127.0.0.1", {"forerun.example"});
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.1.2.3", "[::1]:8080", "a.localhost",
                           "forerun.example", "Forerun.Example:443"}) {
    EXPECT_TRUE(hosts.allows(host)) << host;
  }
  for (const char* host : {"rebind.evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "192.168.1.2",
                           "127.evil", "[::2]", "notlocalhost"}) {
    EXPECT_FALSE(hosts.allows(host)) << host;
  }
}

TEST(HostList, OnAPublicAddressAnswersToAddressesButNotToAnyName) {
  const HostList hosts("0.0.0.0", {});
  for (const char* host : {"192.168.1.2:8080", "[fe80::1]", "localhost"}) EXPECT_TRUE(hosts.allows(host)) << host;
  for (const char* host : {"rebind.evil.example", "1.2.3.4.evil.example"}) EXPECT_FALSE(hosts.allows(host)) << host;
  EXPECT_TRUE(HostList("gpu-box", {}).allows("gpu-box:8080"));
}

const std::string kJson = "Content-Type: application/json\r\n";
const std::string kAsk = R"({"model":"resnet50","device":"t4"})";

TEST_F(ApiTest, RefusesOtherHostNames) {
  start();
  const auto get = [&](const std::string& path, const std::string& host) {
    TestClient one = client();
    one.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return one.read_reply();
  };
  for (const char* path : {"/v1/devices", "/metrics", "/v1/measurements"}) {
    const auto [status, detail] = refused(get(path, "rebind.evil.example"));
    EXPECT_EQ(status, 421) << path;
    EXPECT_NE(detail.find("--allow-host"), std::string::npos) << detail;
    EXPECT_NE(get(path, "LOCALHOST:1234").status, 421) << path;
  }
  EXPECT_EQ(get("/healthz", "10.0.0.7").status, 200) << "probes may ask by any name";
  TestClient old = client();
  old.send("GET /v1/devices HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_reply().status, 200) << "a client without Host is no browser";
}

TEST_F(ApiTest, RefusesPagesOfOtherSites) {
  start();
  const auto ask = [&](const std::string& headers) {
    return client().post("/v1/predict", kAsk, kJson + headers).status;
  };
  EXPECT_EQ(ask(""), 200);
  EXPECT_EQ(ask("Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"), 200);
  EXPECT_EQ(ask("ORIGIN: HTTP://LOCALHOST\r\nSEC-FETCH-SITE: Same-Origin\r\n"), 200);
  EXPECT_EQ(ask("Sec-Fetch-Site: none\r\n"), 200);
  for (const char* headers :
       {"Origin: http://evil.example\r\n", "Origin: null\r\n", "Origin: http://localhost:3000\r\n",
        "Origin: localhost\r\n", "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: CROSS-SITE\r\n",
        "Sec-Fetch-Site: same-site\r\n", "Origin: http://localhost\r\nSec-Fetch-Site: cross-site\r\n"}) {
    EXPECT_EQ(ask(headers), 403) << headers;
  }
  EXPECT_EQ(client().get("/v1/measurements", "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(client().get("/v1/devices", "Sec-Fetch-Site: cross-site\r\n").status, 200) << "a link from another page";
}

TEST_F(ApiTest, TakesPagesServedUnderAnAllowedName) {
  start({.hosts = HostList("127.0.0.1", {"forerun.example"})});
  EXPECT_EQ(client().post("/v1/predict", kAsk, kJson + "Origin: https://forerun.example\r\n").status, 200);
  EXPECT_EQ(client().post("/v1/predict", kAsk, kJson + "Origin: https://forerun.example.evil\r\n").status, 403);
}

TEST_F(ApiTest, ComparesMediaTypesAndSchemesWithoutCase) {
  start({.token = "secret"});
  const auto ask = [&](const std::string& type, const std::string& authorization) {
    return client()
        .post("/v1/predict", kAsk, "content-TYPE: " + type + "\r\nAUTHORIZATION: " + authorization + "\r\n")
        .status;
  };
  EXPECT_EQ(ask("Application/JSON", "Bearer secret"), 200);
  EXPECT_EQ(ask("application/json ; charset=utf-8", "bearer secret"), 200);
  EXPECT_EQ(ask("application/json", "BEARER  secret"), 200);
  EXPECT_EQ(ask("application/json", "Bearer Secret"), 401);
  EXPECT_EQ(ask("application/json", "Basic secret"), 401);
  EXPECT_EQ(ask("application/jsonx", "Bearer secret"), 415);
  EXPECT_EQ(ask("application/json", "Bearer wrong\r\nAuthorization: Bearer secret"), 400);
}

}  // namespace
}  // namespace forerun::server
