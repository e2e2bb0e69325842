// Hostile input over a socket: refused with the right status, the server alive, its memory bounded.
#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "server/api_fixture.hpp"

namespace forerun::server {
namespace {

// Peak resident memory of the process since the last call, in MiB; 0 under a sanitizer, whose memory would be counted.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";
    start_mib_ = peak_mib();
  }
  [[nodiscard]] double grown_mib() const {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return peak_mib() - start_mib_;
#endif
  }

 private:
  static double peak_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
    }
    return 0;
  }
  double start_mib_ = 0;
};

// 16 MiB of zeros as one member of a gzip file: 16 KB that may be repeated.
// 16 MiB of one letter: zeros would read as the end of an empty tar file.
std::string gzip_member() {
  const std::string text(16 << 20, 'a');
  std::string out(1 << 20, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
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
    gone.send("POST /v1/inspect HTTP/1.1\r\nHost: localhost\r\n" + kMultipart + "Content-Length: 100000\r\n\r\n" +
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

TEST_F(ApiTest, RefusesDecompressionBombs) {
  start();
  const std::string member = gzip_member();
  std::string bomb;
  for (int i = 0; i < 256; ++i) bomb += member;  // 4 GiB
  const std::string zip =
      std::string("PK\x03\x04\x14\0\0\0\x08\0", 10) + std::string(12, '\0') + "\xff\xff\xff\x7f" + bomb.substr(0, 4096);
  const std::string xz = std::string(
                             "\xFD"
                             "7zXZ\0\0\4",
                             8) +
                         bomb.substr(0, 4096);
  const PeakMemory memory;
  for (const char* name : {"bomb.onnx.gz", "bomb.onnx", "config.json", "bomb.zip", "model.safetensors", "model.gguf"}) {
    const auto [status, detail] =
        refused(client().post("/v1/predict", multipart(R"({"device":"t4"})", name, bomb), kMultipart));
    EXPECT_EQ(status, 413) << name;
    EXPECT_NE(detail.find("unpacks to more than 400 times its size"), std::string::npos) << detail;
  }
  for (const std::string& packed : {zip, xz}) {
    EXPECT_EQ(refused(client().post("/v1/inspect", multipart("{}", "bomb.zip", packed), kMultipart)).first, 400);
  }
  // The same for the body's Content-Encoding: refused before any byte of it is read.
  for (const char* coding : {"gzip", "deflate", "br", "gzip, gzip"}) {
    const std::string header = std::string("Content-Encoding: ") + coding + "\r\n";
    EXPECT_EQ(refused(client().post("/v1/predict", bomb, "Content-Type: application/json\r\n" + header)).first, 415)
        << coding;
    EXPECT_EQ(refused(client().post("/v1/predict", bomb, kMultipart + header)).first, 415) << coding;
  }
  EXPECT_LT(memory.grown_mib(), 64);
  EXPECT_EQ(client()
                .post("/v1/inspect", R"({"model":"resnet50"})",
                      "Content-Type: application/json\r\nContent-Encoding: identity\r\n")
                .status,
            200);
}

TEST_F(ApiTest, RefusesFilesThatGrowWhenRead) {
  start();
  const PeakMemory memory;
  const std::filesystem::path folder = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("bad_") || name == "bad_external_missing.onnx" || name == "bad_external_short.onnx") continue;
    ++files;
    const TestReply reply =
        client().post("/v1/predict", multipart(R"({"device":"t4"})", name, read_file(entry.path())), kMultipart);
    EXPECT_TRUE(reply.status == 400 || reply.status == 413) << name << " " << reply.status << " " << reply.body;
  }
  EXPECT_GT(files, 10);
  EXPECT_LT(memory.grown_mib(), 256);
}

TEST_F(ApiTest, TakesAFileWhoseWeightsLieElsewhereByItsHeader) {
  start();
  const std::string folder = std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/";
  const auto ask = [&](const std::string& name) {
    return client().post("/v1/inspect", multipart("{}", name, read_file(folder + name)), kMultipart);
  };
  const TestReply reply = ask("external.onnx");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_GT(Json::parse(reply.body)["parameters"].get<int>(), 0);
  EXPECT_EQ(ask("bad_external_missing.onnx").status, 200);
  for (const char* name : {"bad_external_escape.onnx", "bad_external_absolute.onnx"}) {
    const auto [status, detail] = refused(ask(name));
    EXPECT_EQ(status, 400) << name;
    EXPECT_NE(detail.find("outside"), std::string::npos) << detail;
  }
}

TEST_F(ApiTest, LimitsTheSizesOfAConfiguration) {
  start();
  const PeakMemory memory;
  const auto ask = [&](const char* key, const Json& value, Json request = Json::object()) {
    Json config = Json::parse(kConfig);
    if (*key != '\0') config[key] = value;
    request["config"] = config;
    request["device"] = "t4";
    const TestReply reply = predict(request.dump());
    EXPECT_TRUE(reply.status == 200 || reply.status == 400)
        << key << " " << value << " " << reply.status << " " << reply.body.substr(0, 200);
    return reply.status;
  };
  EXPECT_EQ(ask("num_hidden_layers", 1000000000), 400);
  EXPECT_EQ(ask("num_hidden_layers", 1e300), 400);
  EXPECT_EQ(ask("hidden_size", -5), 400);
  EXPECT_EQ(ask("vocab_size", 9007199254740993LL), 400);
  ask("num_hidden_layers", 2048);
  ask("hidden_size", 1 << 24);
  for (const std::int64_t size : {std::int64_t{1} << 20, std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    ask("", 0, {{"batch", size}});
    ask("", 0, {{"seq", size}});
    ask("", 0, {{"input_tokens", size}, {"output_tokens", size}});
    ask("", 0, {{"gpus", size}});
    ask("", 0, {{"memory_budget", size}});
  }
  EXPECT_LT(memory.grown_mib(), 512);
  EXPECT_EQ(client().get("/healthz").status, 200);
}

TEST_F(ApiTest, RefusesOddJson) {
  start();
  const PeakMemory memory;
  std::string arrays = "{\"config\":[";
  while (arrays.size() < (4U << 20) - 16) arrays += "[],";
  EXPECT_EQ(refused(predict(arrays + "0]}")).first, 400);
  std::string keys = "{";
  for (int i = 0; i < 100000; ++i) keys += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_EQ(refused(predict(keys + "\"z\":1}")).first, 400);
  EXPECT_EQ(refused(predict(R"({"model":"resnet50","device":"t4","batch":1e999})")).first, 400);
  EXPECT_EQ(refused(predict("{\"model\":\"resnet50\",\"device\":\"\xff\xfe\"}")).first, 400);
  EXPECT_EQ(refused(predict(R"({"model":"resnet50","device":["t4",["t4"]]})")).first, 400);
  Json many = {{"model", "resnet50"}, {"device", Json::array()}};
  for (int i = 0; i < 100000; ++i) many["device"].push_back("card-" + std::to_string(i));
  EXPECT_EQ(refused(predict(many.dump())).first, 413);
  EXPECT_EQ(refused(predict(std::string((4U << 20) + 1, ' '))).first, 413);
  EXPECT_LT(memory.grown_mib(), 512);
  EXPECT_EQ(predict(R"({"model":"resnet50","device":"t4"})").status, 200);
}

TEST_F(ApiTest, RefusesBrokenForms) {
  start();
  const std::string model = read_file(kModel);
  const std::string part = "--edge\r\nContent-Disposition: form-data; name=\"model\"; filename=\"m.onnx\"\r\n\r\n";
  std::string many;
  for (int i = 0; i < 10000; ++i)
    many += "--edge\r\nContent-Disposition: form-data; name=\"p" + std::to_string(i) + "\"\r\n\r\nx\r\n";
  for (const std::string& body :
       {std::string(), std::string("--edge--\r\n"), std::string("no boundary at all"), part + model,
        part + model + "\r\n" + part + model + "\r\n--edge--\r\n", many + "--edge--\r\n",
        std::string("--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{\r\n--edge--\r\n")}) {
    EXPECT_EQ(refused(client().post("/v1/predict", body, kMultipart)).first, 400) << body.substr(0, 60);
  }
  const std::string long_header = "--edge\r\n" + std::string(1 << 20, 'h') + ": x\r\n\r\n\r\n--edge--\r\n";
  EXPECT_EQ(refused(client().post("/v1/predict", long_header, kMultipart)).first, 431);
  EXPECT_EQ(client().post("/v1/predict", "x", "Content-Type: multipart/form-data\r\n").status, 415);
  EXPECT_EQ(
      client()
          .post("/v1/predict", "x", "Content-Type: multipart/form-data; boundary=" + std::string(500, 'b') + "\r\n")
          .status,
      415);
  EXPECT_EQ(client().get("/healthz").status, 200);
}

TEST_F(ApiTest, AFileNameIsNeverUsedAsAPath) {
  start();
  for (const char* name :
       {"../../../tmp/forerun_escaped.onnx", "/tmp/forerun_escaped.onnx", "..\\..\\forerun_escaped.onnx"}) {
    const TestReply reply = client().post("/v1/inspect", multipart("{}", name, read_file(kModel)), kMultipart);
    EXPECT_EQ(reply.status, 200) << name << " " << reply.body.substr(0, 200);
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/forerun_escaped.onnx"));
}

}  // namespace
}  // namespace forerun::server
