// --runtime compiled, from a request to its report.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "service/json.hpp"
#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

const Service& service() {
  static const auto kService = Service::create();
  return **kService;
}

Json merged(Json request, const Json& more) {
  request.update(more);
  return request;
}
Json result_of(const Json& request) {
  const auto parsed = parse_request(request.dump());
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  const auto report = service().predict(*parsed);
  EXPECT_TRUE(report) << request.dump() << (report ? "" : ": " + report.error().message);
  return report ? Json::parse(to_json(*report))["results"][0] : Json();
}
std::string refusal(const Json& request) {
  const auto parsed = parse_request(request.dump());
  if (!parsed) return parsed.error().message;
  const auto report = service().predict(*parsed);
  return report ? "" : report.error().message;
}

const Json kCompiled = {{"runtime", "compiled"}, {"device", "h200-sxm"}, {"batch", 8}, {"precision", "fp16"}};

TEST(Compiled, AnswersForImageNetworksAndEncodersFasterThanTheirReplay) {
  for (const char* network : {"resnet50", "bert-base-uncased"}) {
    const Json compiled = result_of(merged(kCompiled, {{"model", network}}));
    const Json replay = result_of(merged(kCompiled, {{"model", network}, {"runtime", "graph"}}));
    for (const char* metric : {"latency_ms", "memory_mb", "device_memory_mb", "energy_j", "power_w"}) {
      const Json& e = compiled["estimates"][metric];
      EXPECT_GT(double(e["low"]), 0) << network << " " << metric;
      EXPECT_LT(double(e["low"]), double(e["value"]));
      EXPECT_LT(double(e["value"]), double(e["high"]));
    }
    EXPECT_LT(double(compiled["estimates"]["latency_ms"]["value"]), double(replay["estimates"]["latency_ms"]["value"]));
    double sum = 0;
    for (const Json& row : compiled["breakdown"]) sum += double(row["time_ms"]);
    EXPECT_NEAR(sum, compiled["estimates"]["latency_ms"]["value"], 1e-3 * sum) << network;
  }
}

TEST(Compiled, StandsBesideTheOtherRuntimes) {
  const Json asked = {{"model", "resnet50"}, {"device", "h200-sxm"}, {"batch", 8}, {"precision", "fp16"}};
  const Json runtimes = result_of(merged(asked, {{"runtimes", true}}))["runtimes"];
  EXPECT_EQ(runtimes["compiled"], result_of(merged(asked, {{"runtime", "compiled"}}))["estimates"]);
}

TEST(Compiled, ADeviceWithoutCompiledRunsSaysSoAndIsLessCertain) {
  const Json far = result_of(merged(kCompiled, {{"model", "resnet50"}, {"device", "rtx-4090"}}));
  EXPECT_NE(far["warnings"].dump().find("no compiled network was measured on rtx-4090"), std::string::npos);
  const Json replay =
      result_of(merged(kCompiled, {{"model", "resnet50"}, {"device", "rtx-4090"}, {"runtime", "graph"}}));
  const auto width = [](const Json& r) {
    const Json& e = r["estimates"]["latency_ms"];
    return double(e["high"]) / double(e["low"]);
  };
  EXPECT_GT(width(far), width(replay));
}

TEST(Compiled, RefusesWhatItDoesNotApplyTo) {
  const auto says = [](const Json& more, const char* why) {
    EXPECT_NE(refusal(merged(kCompiled, more)).find(why), std::string::npos)
        << more << ": " << refusal(merged(kCompiled, more));
  };
  says({{"model", "resnet50"}, {"train", true}, {"precision", "fp32"}}, "training");
  says({{"model", "gpt2"}, {"phase", "decode"}}, "decode");
  says({{"model", "gpt2"}, {"input_tokens", 100}, {"output_tokens", 10}, {"concurrency", 4}}, "engine");
  says({{"model", "gpt2"}, {"precision", "int8"}}, "quantised");
  says({{"model", "resnet50"}, {"gpus", 2}}, "one device");
  says({{"model", "resnet50"}, {"runtime", "tensorrt"}}, "the nearest is compiled");
}

}  // namespace
}  // namespace forerun
