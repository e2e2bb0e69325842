// The façade: requests to reports.
#include "service/service.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "predictors/predictor_set.hpp"
#include "predictors/roofline/roofline.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "service/json.hpp"
#include "service/lru_map.hpp"
#include "service/options.hpp"
#include "service/workspace.hpp"

namespace forerun {
namespace {

const Service& service() {
  static const std::unique_ptr<Service> kService = std::move(Service::create()).value();
  return *kService;
}

std::string resnet() { return std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/resnet50.onnx"; }

nlohmann::json predict(const std::string& text) {
  const auto request = parse_request(text);
  EXPECT_TRUE(request) << (request ? "" : request.error().message);
  const auto report = service().predict(*request);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return report ? nlohmann::json::parse(to_json(*report)) : nlohmann::json{};
}

std::string error_of(const std::string& text) {
  const auto request = parse_request(text);
  if (!request) return request.error().message;
  const auto report = service().predict(*request);
  return report ? "" : report.error().message;
}

TEST(Service, PredictsWithEveryFieldOfTheContract) {
  const auto json = predict(R"({"model": ")" + resnet() +
                            R"(", "device": "h200-sxm", "batch": 8, "precision": "fp16", "runtime": "graph"})");
  EXPECT_EQ(json["workload"]["batch"], 8);
  EXPECT_EQ(json["workload"]["precision"], "fp16");
  EXPECT_EQ(json["workload"]["runtime"], "graph");
  EXPECT_TRUE(json["workload"]["sequence"].is_null());
  EXPECT_EQ(json["workload"]["training"], false);
  const auto& result = json["results"][0];
  EXPECT_EQ(result["device"], "h200-sxm");
  for (const char* metric :
       {"latency_ms", "throughput_per_s", "memory_mb", "device_memory_mb", "energy_j", "power_w"}) {
    const auto& estimate = result["estimates"][metric];
    EXPECT_GT(estimate["value"].get<double>(), 0) << metric;
    EXPECT_LE(estimate["low"].get<double>(), estimate["value"].get<double>()) << metric;
    EXPECT_GE(estimate["high"].get<double>(), estimate["value"].get<double>()) << metric;
    EXPECT_TRUE(estimate["basis"] == "roofline" || estimate["basis"] == "learned") << metric;
    EXPECT_FALSE(estimate["predictor"].get<std::string>().empty()) << metric;
  }
  EXPECT_EQ(result["advice"]["fits"], true);
  EXPECT_EQ(result["advice"]["region"], "world");
  EXPECT_EQ(result["advice"]["mig"]["profile"], "1g.18gb");
  EXPECT_FALSE(result["breakdown"].empty());
}

TEST(Service, TrainingReportsTheStep) {
  const auto json = predict(R"({"model": ")" + resnet() +
                            R"(", "device": "a100-sxm-80gb", "batch": 8, "train": true, "optimizer": "adam"})");
  EXPECT_EQ(json["workload"]["training"], true);
  EXPECT_EQ(json["workload"]["optimizer"], "adam");
}

TEST(Service, ReadsAConfigurationInARequest) {
  const auto json = predict(
      R"({"config": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
      "intermediate_size": 512, "vocab_size": 1000}, "device": "h200-sxm", "seq": 64, "phase": "decode", "precision": "bf16"})");
  EXPECT_EQ(json["workload"]["phase"], "decode");
  EXPECT_EQ(json["workload"]["sequence"], 64);
}

TEST(Service, TheMeanOfTreesAndGraphNetworkIsTheDefaultForLatencyEnergyAndPower) {
  const std::string language =
      R"({"model": "bert-base-uncased", "device": "h200-sxm", "batch": 8, "seq": 128, "precision": "fp16")";
  const std::string image = R"({"model": "resnet50", "device": "h200-sxm", "batch": 8)";
  for (const std::string& asked :
       {language + "}", language + R"(, "runtime": "graph"})", image + "}", image + R"(, "train": true})"}) {
    const auto estimates = predict(asked)["results"][0]["estimates"];
    for (const char* metric : {"latency_ms", "energy_j", "power_w"})
      EXPECT_EQ(estimates[metric]["predictor"], "average") << asked << metric;
    EXPECT_EQ(estimates["memory_mb"]["predictor"], "trees") << asked;
  }
}

TEST(Service, AGraphOfWhichNothingRunsHasMemoryButNoLatency) {
  const auto result = predict(R"({"model": ")" + std::string(FORERUN_SOURCE_DIR) +
                              R"(/tests/fixtures/onnx/shape_chain.onnx", "device": "h200-sxm"})")["results"][0];
  EXPECT_FALSE(result["estimates"].contains("latency_ms")) << result.dump();
  EXPECT_FALSE(result["advice"].contains("usd_per_million")) << result.dump();
  EXPECT_GT(result["estimates"]["device_memory_mb"]["value"], 0);
  EXPECT_NE(result["warnings"].dump().find("no latency: nothing of it runs on the device"), std::string::npos)
      << result.dump();
}

TEST(Service, TheMeanScalesTheTreesIntervalByTheBundlesWidth) {
  const auto widths = nlohmann::json::parse(
      *Bundle::open(std::string(FORERUN_SOURCE_DIR) + "/bundles/gnn-kernels.bundle")->part("average"));
  const std::string asked = R"({"model": "resnet50", "device": "h200-sxm", "batch": 8, "runtime": "graph")";
  const auto mean = predict(asked + "}")["results"][0]["estimates"],
             trees = predict(asked + R"(, "predictor": "trees"})")["results"][0]["estimates"];
  const auto width = [](const nlohmann::json& estimate) {
    return std::log(estimate["high"].get<double>() / estimate["low"].get<double>());
  };
  EXPECT_NEAR(width(mean["power_w"]) / width(trees["power_w"]), widths["vision_inference power_graph_w"].get<double>(),
              2e-3);
  EXPECT_NEAR(width(mean["latency_ms"]) / width(trees["latency_ms"]),
              widths["vision_inference latency_graph_ms"].get<double>(), 2e-3);
  EXPECT_NEAR(width(mean["memory_mb"]) / width(trees["memory_mb"]), 1, 1e-9);
}

TEST(Service, CudaGraphReplayTakesLessEnergyAndMorePowerThanAHostBoundPass) {
  const auto of = [](const char* runtime, const char* metric) {
    const auto json =
        predict(R"({"model": "resnet50", "device": "h200-sxm", "batch": 1, "precision": "fp16", "runtime": ")" +
                std::string(runtime) + R"("})");
    return json["results"][0]["estimates"][metric]["value"].get<double>();
  };
  EXPECT_LT(of("graph", "energy_j"), 0.7 * of("eager", "energy_j"));
  EXPECT_GT(of("graph", "power_w"), of("eager", "power_w"));
}

TEST(Service, EnergyIsPowerTimesLatencyOnADeviceNeverMeasured) {
  for (const char* runtime : {"eager", "graph"}) {
    const auto json =
        predict(R"({"model": "resnet50", "device": "l40s", "batch": 8, "runtime": ")" + std::string(runtime) + R"("})");
    const auto& estimates = json["results"][0]["estimates"];
    EXPECT_EQ(estimates["latency_ms"]["predictor"], "trees-kernels");
    const double joules =
        estimates["power_w"]["value"].get<double>() * estimates["latency_ms"]["value"].get<double>() / 1e3;
    EXPECT_NEAR(estimates["energy_j"]["value"].get<double>() / joules, 1, 1e-3) << runtime;
  }
}

TEST(Service, AnUnmeasuredDevicesEagerPassIsAsUncertainAsWhatDecidesIt) {
  const auto width = [](int batch, const char* runtime) {
    const auto json = predict(R"({"model": "resnet50", "device": "l40s", "batch": )" + std::to_string(batch) +
                              R"(, "runtime": ")" + runtime + R"("})");
    const auto& latency = json["results"][0]["estimates"]["latency_ms"];
    return std::log(latency["high"].get<double>() / latency["low"].get<double>());
  };
  EXPECT_LT(width(1, "eager"), 0.5 * width(256, "eager")) << "the host was measured, the device was not";
  EXPECT_NEAR(width(1, "graph"), width(256, "eager"), 2e-2);
}

TEST(Service, TheGraphNetworkPredictsNoPowerOnUnmeasuredDevices) {
  const auto json = predict(R"({"model": "resnet50", "device": "t4", "batch": 8, "predictor": "gnn-kernels"})");
  const auto& estimates = json["results"][0]["estimates"];
  EXPECT_EQ(estimates["latency_ms"]["predictor"], "gnn-kernels");
  EXPECT_EQ(estimates["power_w"]["predictor"], "roofline");
  EXPECT_LE(estimates["power_w"]["value"], 70);
}

TEST(PredictorSet, RefusesAGraphNetworkOfOtherTrees) {
  const Bundle shipped = *Bundle::open(std::string(FORERUN_SOURCE_DIR) + "/bundles/gnn-kernels.bundle");
  BundleManifest manifest = shipped.manifest();
  manifest.name = "stranger";
  manifest.parts["kernels"] = R"("0000000000000000")";
  BundleWriter writer(manifest);
  for (const std::string& name : shipped.section_names())
    ASSERT_TRUE(writer.add_section(name, std::string(*shipped.section(name))));
  const std::filesystem::path own = std::filesystem::path(testing::TempDir()) / "own";
  std::filesystem::create_directories(own / "forerun" / "bundles");
  ASSERT_TRUE(writer.write(own / "forerun" / "bundles" / "stranger.bundle"));
  const char* before = std::getenv("XDG_CONFIG_HOME");
  const std::string kept = before == nullptr ? "" : before;
  setenv("XDG_CONFIG_HOME", own.c_str(), 1);
  const PredictorSet learned = PredictorSet::load();
  before == nullptr ? unsetenv("XDG_CONFIG_HOME") : setenv("XDG_CONFIG_HOME", kept.c_str(), 1);
  std::filesystem::remove_all(own);
  ASSERT_EQ(learned.problems().size(), 1);
  EXPECT_NE(learned.problems()[0].find("'stranger' was trained with other trees"), std::string::npos)
      << learned.problems()[0];
  std::vector<std::string> names;
  for (const PredictorInfo& info : learned.describe()) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"trees", "gnn-kernels", "dippm", "trappm", "compiled", "roofline"}));
}

// Asked about what they were not trained on, the published predictors say what they are for.
TEST(PublishedPredictors, AnswerOnTheirDeviceAndRefuseElsewhereByName) {
  const auto asked = [](std::string model, const char* device, const char* predictor, bool train, Precision precision) {
    Request request;
    request.model = std::move(model);
    request.devices = {device};
    request.predictor = predictor;
    request.train = train;
    request.precision = precision;
    request.binding.batch = 8;
    return service().predict(request);
  };
  for (const bool train : {false, true}) {
    const char* name = train ? "trappm" : "dippm";
    const auto report = asked("resnet50", "h200-sxm", name, train, Precision::Fp32);
    ASSERT_TRUE(report) << report.error().message;
    const Estimates& found = report->results.front().estimates;
    for (const Metric metric : {Metric::Latency, Metric::Memory, Metric::Energy, Metric::Power}) {
      const Estimate& one = found.at(metric);
      EXPECT_EQ(one.predictor, name) << name_of(metric);
      EXPECT_TRUE(one.low > 0 && one.low < one.value && one.value < one.high) << name_of(metric);
    }
    const auto refused = [&](const Result<PredictReport>& answer, const char* why) {
      ASSERT_FALSE(answer);
      EXPECT_NE(answer.error().message.find(std::string("predictor '") + name + "'"), std::string::npos);
      EXPECT_NE(answer.error().message.find(why), std::string::npos) << answer.error().message;
    };
    refused(asked("resnet50", "t4", name, train, Precision::Fp32), "h200-sxm");
    refused(asked("resnet50", "h200-sxm", name, !train, Precision::Fp32), "not vision_");
    refused(asked("gpt2", "h200-sxm", name, train, Precision::Fp32), "not llm");
    if (!train) refused(asked("resnet50", "h200-sxm", name, train, Precision::Int8), "not on int8");
  }
}

TEST(Training, CombinationsWithoutARuntimeAreRefused) {
  Request request;
  request.model = "resnet50";
  request.devices = {"h100-sxm"};
  request.train = true;
  EXPECT_TRUE(service().predict(request));
  request.precision = Precision::Int8;
  EXPECT_FALSE(service().predict(request));
  request.precision = Precision::Fp16;
  request.runtime = Runtime::Graph;
  EXPECT_FALSE(service().predict(request));
}

TEST(Training, LanguageModelsAreNotPredictedFromVisionNetworks) {
  const auto result =
      predict(R"({"model": "gpt2", "device": "h200-sxm", "batch": 2, "seq": 64, "train": true})")["results"][0];
  EXPECT_EQ(result["estimates"]["latency_ms"]["predictor"], "trees-kernels");
  EXPECT_NE(result["warnings"].dump().find("no llm_training run was measured on h200-sxm"), std::string::npos);
}

TEST(Serving, WarningsOfItsPassesAreKept) {
  const auto warnings = [](const std::string& more) {
    return predict(R"({"model": "gpt2", "device": "h200-sxm", "seq": 64)" + more + "}")["results"][0]["warnings"]
        .dump();
  };
  const std::string too_long = "is longer than the 1024 positions";
  EXPECT_EQ(warnings("").find(too_long), std::string::npos);
  EXPECT_NE(warnings(R"(, "input_tokens": 1020, "output_tokens": 100)").find(too_long), std::string::npos);
}

TEST(Serving, FitsCountsTheCachesOfAllRequestsInFlight) {
  const auto fits = [](int concurrency) {
    return predict(
        R"({"model": "llama-3-8b", "device": "l4", "precision": "bf16", "input_tokens": 1000, "concurrency": )" +
        std::to_string(concurrency) + "}")["results"][0]["advice"]["fits"];
  };
  EXPECT_EQ(fits(1), true);
  EXPECT_EQ(fits(128), false);
}

TEST(Breakdown, KernelTimesAddUpToTheLatencyOfEveryPredictor) {
  for (const char* asked :
       {R"("model": "resnet50", "device": "h200-sxm")",
        R"("model": "resnet50", "device": "h200-sxm", "runtime": "graph")", R"("model": "resnet50", "device": "l4")",
        R"("model": "resnet50", "device": "mi300x", "runtime": "graph")",
        R"("model": "gpt2", "device": "h200-sxm", "seq": 64, "predictor": "gnn-kernels")",
        R"("model": "resnet50", "device": "a100-sxm-80gb", "train": true)",
        R"("model": "llama-3-8b", "device": "h100-sxm", "tensor_parallel": 4, "seq": 64)"}) {
    const auto result = predict("{" + std::string(asked) + "}")["results"][0];
    const double latency = result["estimates"]["latency_ms"]["value"];
    double sum = 0;
    for (const auto& row : result["breakdown"]) {
      double terms = 0;
      for (const auto& term : row["terms"]) terms += term.get<double>();
      EXPECT_NEAR(terms, row["time_ms"].get<double>(), 1e-4 * latency) << asked << row["kernel"];
      sum += row["time_ms"].get<double>();
    }
    EXPECT_NEAR(sum / latency, 1, 1e-4) << asked;
  }
}

TEST(Breakdown, KernelTimesComeFromThePredictorThatAnswered) {
  const auto longest = [](const char* predictor) {
    return predict(R"({"model": "resnet50", "device": "h200-sxm", "runtime": "graph", "predictor": ")" +
                   std::string(predictor) + "\"}")["results"][0]["breakdown"][0];
  };
  EXPECT_EQ(longest("roofline")["terms"]["learned"], 0);
  EXPECT_NE(longest("trees")["terms"]["learned"], 0);
  EXPECT_NE(longest("trees")["time_ms"], longest("gnn-kernels")["time_ms"]);
}

TEST(Breakdown, AHostBoundPassHasHostTerms) {
  const auto rows = predict(R"({"model": "resnet50", "device": "h200-sxm", "batch": 1})")["results"][0]["breakdown"];
  EXPECT_EQ(rows[0]["bound"], "host") << rows[0];
  const auto replayed =
      predict(R"({"model": "resnet50", "device": "h200-sxm", "batch": 1, "runtime": "graph"})")["results"][0];
  for (const auto& row : replayed["breakdown"]) EXPECT_EQ(row["terms"]["host"], 0) << row;
}

TEST(Workspace, EqualKernelsAreTimedOnceAndTakeTheSameTime) {
  Workspace workspace(4, 16);
  Request request;
  for (const char* model : {"resnet50", "bert-base-uncased"}) {
    request.model = model;
    const auto plan = *workspace.plan_of(request);
    const auto device = *Catalogue::load()->find("v100-sxm-16gb");
    ASSERT_EQ(plan->same_as.size(), plan->kernels.size());
    EXPECT_LT(std::set<std::uint32_t>(plan->same_as.begin(), plan->same_as.end()).size(), plan->kernels.size() / 2);
    const RooflineEstimate each = estimate_roofline(plan->kernels, plan->memory, plan->workload, device);
    const RooflineEstimate once = estimate_roofline(*plan, plan->workload, device);
    EXPECT_EQ(each.device_ms, once.device_ms);
    EXPECT_EQ(each.power_eager_w, once.power_eager_w);
    for (std::size_t i = 0; i < plan->kernels.size(); ++i)
      EXPECT_EQ(each.kernels[i].time_us, once.kernels[i].time_us) << i;
  }
}

TEST(Trees, AnExplanationMultipliesUpToTheAnswer) {
  Workspace workspace(4, 16);
  Request request;
  request.model = "resnet50";
  request.binding.batch = 4;
  const auto plan = *workspace.plan_of(request);
  const auto device = *Catalogue::load()->find("h200-sxm");
  const TreePredictor trees =
      *TreePredictor::load(*Bundle::open(std::string(FORERUN_SOURCE_DIR) + "/bundles/trees.bundle"));
  for (const Runtime runtime : {Runtime::Eager, Runtime::Graph}) {
    Workload workload = plan->workload;
    workload.runtime = runtime;
    const RooflineEstimate roofline = estimate_roofline(*plan, workload, device);
    const PredictorInput input{*plan->graph, *plan->totals, plan->kernels, workload, device, roofline, plan->groups};
    for (const auto& [metric, estimate] : trees.predict(input).estimates) {
      const auto explanation = trees.explain(input, metric);
      ASSERT_TRUE(explanation) << name_of(metric);
      double product = explanation->base;
      for (const Contribution& c : explanation->contributions) product *= c.factor;
      EXPECT_NEAR(product / estimate.value, 1, 1e-3) << name_of(metric);
    }
  }
}

TEST(Trees, BatchedInputsAnswerBitIdentically) {
  Workspace workspace(4, 128);
  const auto device = *Catalogue::load()->find("h200-sxm");
  const TreePredictor trees =
      *TreePredictor::load(*Bundle::open(std::string(FORERUN_SOURCE_DIR) + "/bundles/trees.bundle"));
  std::vector<TreeInput> many;
  for (std::int64_t i = 0; i < 70; ++i) {
    Request request;
    request.model =
        i % 10 < 6 ? std::string(FORERUN_SOURCE_DIR) + "/tests/fixtures/onnx/mobilenet_v2.onnx" : "bert-base-uncased";
    request.train = i % 10 < 3;
    request.binding.batch = i + 1;
    const auto plan = *workspace.plan_of(request);
    const RooflineEstimate roofline = estimate_roofline(*plan, plan->workload, device);
    many.push_back(make_tree_input(*plan->graph, *plan->totals, plan->kernels, plan->workload, device, roofline));
    many.back().grouped = {{0, 0.5 / double(i + 1)}, {1, 0.25}};  // as if these two were grouped convolutions
  }
  std::vector<TreeInput> alone = many;
  trees.sum_many(many);
  const std::vector<TreeAnswers> answers = trees.answers_many(many);
  ASSERT_EQ(answers.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    trees.sum(alone[i]);
    EXPECT_EQ(many[i].kernel_us, alone[i].kernel_us) << i;
    EXPECT_EQ(many[i].host_factor, alone[i].host_factor) << i;
    EXPECT_EQ(answers[i], trees.answers(alone[i], tree_row(alone[i]))) << i;
  }
}

TEST(Service, TakesAConfigurationsOwnPrecisionUnlessAsked) {
  const std::string config =
      R"("config": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
      "intermediate_size": 512, "vocab_size": 1000, "torch_dtype": "bfloat16"}, "device": "h200-sxm", "seq": 64, "batch": 1)";
  const auto own = predict("{" + config + "}");
  EXPECT_EQ(own["workload"]["precision"], "bf16");
  EXPECT_NE(own["results"][0]["warnings"].dump().find("precision not given: bf16"), std::string::npos);
  const auto asked = predict("{" + config + R"(, "precision": "bf16"})");
  EXPECT_EQ(asked["results"][0]["estimates"], own["results"][0]["estimates"]);
  EXPECT_EQ(asked["results"][0]["warnings"].dump().find("precision not given"), std::string::npos);
  EXPECT_EQ(predict("{" + config + R"(, "precision": "fp32"})")["workload"]["precision"], "fp32");
}

constexpr const char* kSmallLlama =
    R"({"config": {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 8,
    "intermediate_size": 4096, "vocab_size": 32000}, "precision": "bf16", "input_tokens": 500, "output_tokens": 100, )";

TEST(Serving, AnswersWithPercentilesAndTheEngine) {
  const auto json = predict(std::string(kSmallLlama) + R"("device": "h200-sxm", "concurrency": 8})");
  const auto& result = json["results"][0];
  const auto& serving = result["serving"];
  EXPECT_EQ(json["workload"]["runtime"], "engine");
  EXPECT_EQ(serving["engine"], "vllm");
  EXPECT_FALSE(serving["saturated"]);
  for (const char* key : {"ttft_ms", "tpot_ms", "itl_ms", "request_latency_ms"}) {
    EXPECT_LE(serving[key]["p50"], serving[key]["p99"]) << key;
    EXPECT_LT(serving[key]["low"], serving[key]["value"]) << key;
    EXPECT_GT(serving[key]["high"], serving[key]["value"]) << key;
  }
  const double whole = serving["ttft_ms"]["value"].get<double>() + 99 * serving["tpot_ms"]["value"].get<double>();
  EXPECT_NEAR(serving["request_latency_ms"]["value"].get<double>(), whole, whole * 1e-3);
  for (const char* key : {"ttft_ms", "tpot_ms"}) {
    EXPECT_EQ(result["estimates"][key]["value"], serving[key]["value"]);
    EXPECT_EQ(result["estimates"]["loaded_" + std::string(key)]["value"], serving[key]["value"]);
  }
}

TEST(Serving, AnH200DecodesFasterThanAnH100AsItsMemoryDoes) {
  const auto tpot = [](const char* device) {
    return predict(std::string(R"({"model": "llama-3-8b", "device": ")") + device +
                   R"(", "input_tokens": 1000, "output_tokens": 200, "concurrency": 4})")["results"][0]["serving"]
                                                                                         ["tpot_ms"]["value"]
                                                                                             .get<double>();
  };
  const double ratio = tpot("h100-sxm") / tpot("h200-sxm");
  EXPECT_GT(ratio, 1.15);
  EXPECT_LT(ratio, 4800.0 / 3352);
}

TEST(Serving, SaysThatALoadSaturatesTheEngine) {
  const auto result = predict(std::string(kSmallLlama) + R"("device": "l4", "request_rate": 5000})")["results"][0];
  EXPECT_TRUE(result["serving"]["saturated"]);
  EXPECT_FALSE(result["serving"].contains("ttft_ms"));
  EXPECT_FALSE(result["estimates"].contains("ttft_ms"));
  EXPECT_NE(result["warnings"].dump().find("saturated"), std::string::npos);
  EXPECT_LT(result["serving"]["requests_per_s"]["value"], 5000);
}

TEST(Serving, TheHighestRateKeepsTheLimitsAndTwiceItDoesNot) {
  const std::string question =
      std::string(kSmallLlama) + R"("device": "l4", "slo_ttft_ms": 200, "slo_tpot_ms": 20, "request_rate": )";
  const auto good_share = [&](double rate) {
    const auto serving = predict(question + std::to_string(rate) + "}")["results"][0]["serving"];
    return serving["goodput_per_s"]["value"].get<double>() / serving["requests_per_s"]["value"].get<double>();
  };
  const double highest = predict(question + "1}")["results"][0]["serving"]["highest_rate_per_s"].get<double>();
  EXPECT_GT(good_share(0.8 * highest), 0.85);
  EXPECT_LT(good_share(2 * highest), 0.9);
}

TEST(Serving, AnUnknownVersionInheritsWithAWarning) {
  const std::string question = std::string(kSmallLlama) + R"("device": "l4", "engine": "vllm", "engine_version": )";
  EXPECT_NE(predict(question + R"("0.99.1"})")["results"][0]["warnings"].dump().find("0.99.1 is not known"),
            std::string::npos);
  EXPECT_EQ(predict(question + R"("0.12.3"})")["results"][0]["warnings"].dump().find("is not known"),
            std::string::npos);
}

TEST(Serving, DisaggregationTakesItsOwnMachines) {
  const auto result = predict(std::string(kSmallLlama) +
                              R"("device": "h100-sxm", "concurrency": 16, "disaggregated": "1,2"})")["results"][0];
  EXPECT_EQ(result["serving"]["devices"], 3);
  EXPECT_GT(result["serving"]["ttft_ms"]["value"], 0);
}

TEST(Serving, ARecordedGraphHasNoPhases) {
  const auto refused = service().predict(*parse_request(R"({"model": "resnet50", "device": "l4", "concurrency": 5})"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("language model"), std::string::npos) << refused.error().message;
}

TEST(Service, AServingEngineIsFasterThanEager) {
  const std::string question =
      R"({"config": {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 8,
      "intermediate_size": 4096, "vocab_size": 32000}, "device": "h200-sxm", "precision": "bf16", "predictor": "roofline", "runtime": "graph",)";
  const auto framework = predict(question + R"("phase": "decode", "batch": 8, "seq": 550})");
  const auto engine = predict(question + R"("input_tokens": 500, "output_tokens": 100, "concurrency": 8})");
  EXPECT_LT(engine["results"][0]["estimates"]["latency_ms"]["value"].get<double>(),
            framework["results"][0]["estimates"]["latency_ms"]["value"].get<double>());
}

TEST(Service, FindsTheLargestBatchUnderABudget) {
  const std::string config =
      R"("config": {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1024, "num_attention_heads": 8,
      "intermediate_size": 4096, "vocab_size": 32000}, "device": "h200-sxm", "precision": "bf16", "seq": 256)";
  const auto json = predict("{" + config + R"(, "memory_budget": 8000})");
  const auto largest = json["results"][0]["capacity"]["largest_batch"].get<std::int64_t>();
  EXPECT_GT(largest, 1);
  const auto at = predict("{" + config + R"(, "batch": )" + std::to_string(largest) + "}");
  EXPECT_LE(at["results"][0]["estimates"]["device_memory_mb"]["value"].get<double>(), 8000 * 1.001);
}

TEST(Service, DividesALanguageModelOverDevices) {
  const std::string base =
      R"({"model": "llama-3-8b", "device": "h100-sxm", "precision": "bf16", "seq": 512, "phase": "decode", "batch": 8)";
  const auto one = predict(base + "}");
  const auto four = predict(base + R"(, "gpus": 4})");
  EXPECT_LT(four["results"][0]["estimates"]["memory_mb"]["value"].get<double>(),
            one["results"][0]["estimates"]["memory_mb"]["value"].get<double>() / 2);
  EXPECT_NE(error_of(base + R"(, "gpus": 4, "tensor_parallel": 3})"), "");
}

TEST(Service, NamesWhatIsWrongWithARequest) {
  EXPECT_NE(
      error_of(R"({"model": "no-such-network", "device": "h200-sxm"})").find("neither a file nor a shipped network"),
      std::string::npos);
  EXPECT_NE(error_of(R"({"model": ")" + resnet() + R"(", "device": "h2000"})").find("unknown device"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"model": ")" + resnet() + R"(", "device": "h200-sxm", "region": "atlantis"})")
                .find("unknown region"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"model": ")" + resnet() + R"("})").find("no device"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": "x", "device": "h200-sxm", "batsch": 8})").find("unknown key 'batsch'"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"model": "x", "device": "h200-sxm", "batch": -1})").find("positive"), std::string::npos);
  EXPECT_NE(error_of(R"({"model": "x", "device": "h200-sxm", "precision": "fp17"})").find("none of"),
            std::string::npos);
  EXPECT_FALSE(parse_request("[1]"));
  EXPECT_FALSE(parse_request(std::string(100000, '[')));
  EXPECT_FALSE(parse_request(R"({"model": "/etc/passwd"})", false));
}

TEST(Service, AnUnsupportedPrecisionIsNamedAndNotEstimated) {
  const auto json = predict(R"({"model": ")" + resnet() + R"(", "device": "a100-sxm-40gb", "precision": "fp8"})");
  EXPECT_TRUE(json["results"][0]["estimates"].empty());
  EXPECT_NE(json["results"][0]["warnings"].dump().find("no fp8 arithmetic"), std::string::npos);
}

TEST(Service, MigAndPredictAgreeOnEverySlice) {
  const auto request = parse_request(R"({"model": ")" + resnet() + R"(", "device": "h200-sxm", "batch": 8})");
  ASSERT_TRUE(request);
  const auto mig = service().mig(*request);
  const auto predicted = service().predict(*request);
  ASSERT_TRUE(mig && predicted);
  const Advice& advice = predicted->results.front().advice;
  ASSERT_EQ(mig->slices.size(), advice.slices.size());
  const double whole_ms = predicted->results.front().estimates.at(Metric::Latency).value;
  for (std::size_t i = 0; i < advice.slices.size(); ++i) {
    EXPECT_EQ(mig->slices[i].latency_ms, advice.slices[i].latency_ms);
    EXPECT_GE(mig->slices[i].latency_ms, whole_ms) << "no slice is faster than the card";
  }
}

TEST(Service, NoSliceIsFasterThanALargerOne) {
  const auto latency = [](const std::string& device) {
    return predict(R"({"model": "roberta-large", "device": ")" + device +
                   R"("})")["results"][0]["estimates"]["latency_ms"]["value"]
        .get<double>();
  };
  const double card = latency("a100-pcie-80gb"), largest = latency("a100-pcie-80gb:7g.80gb");
  EXPECT_GE(largest, card);
  EXPECT_GE(latency("a100-pcie-80gb:4g.40gb"), largest);
}

TEST(Service, PowerStaysBelowTheBoardsLimit) {
  const auto power = predict(
      R"({"model": "deberta-v3-base", "device": "h200-sxm", "seq": 3730, "batch": 4096})")["results"][0]["estimates"]
                                                                                          ["power_w"];
  EXPECT_LE(power["value"], 700);
  EXPECT_LE(power["high"], 700);
}

TEST(Service, AReplayWithOtherKernelsSaysSo) {
  const auto warnings = [](const std::string& asked) { return predict(asked)["results"][0]["warnings"].dump(); };
  const std::string asked = R"({"device": "t4", "runtime": "graph", "model": )";
  EXPECT_NE(warnings(asked + R"("bert-base-uncased"})").find("other kernels"), std::string::npos);
  EXPECT_EQ(warnings(asked + R"("resnet50"})").find("other kernels"), std::string::npos);
}

TEST(Service, MigOfAnUnsupportedPrecisionIsRefused) {
  const auto request =
      parse_request(R"({"model": ")" + resnet() + R"(", "device": "a100-sxm-40gb", "precision": "fp8"})");
  ASSERT_TRUE(request);
  const auto report = service().mig(*request);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("no fp8 arithmetic"), std::string::npos);
}

TEST(Service, GroupedKernelsTakeTheSameTimeAsSingleOnes) {
  // The largest slice of a card is the card itself: its time, from joined kernels, is the whole device's from all of
  // them.
  const auto json =
      predict(R"({"model": ")" + resnet() + R"(", "device": "h200-sxm", "batch": 64, "predictor": "roofline"})");
  const auto& slices = json["results"][0]["advice"]["mig"]["slices"];
  const double whole = json["results"][0]["estimates"]["latency_ms"]["value"].get<double>();
  EXPECT_NEAR(slices.back()["latency_ms"].get<double>(), whole, whole * 1e-4);
}

TEST(Service, AppliesThePublishedMigRuleToItsCardOnly) {
  const auto json =
      predict(R"({"model": ")" + resnet() + R"(", "device": "a100-sxm-40gb", "batch": 8, "rule": "memory"})");
  EXPECT_EQ(json["results"][0]["advice"]["mig"]["profile"], "1g.5gb");
  EXPECT_NE(error_of(R"({"model": ")" + resnet() + R"(", "device": "h200-sxm", "rule": "memory"})"), "");
}

TEST(LruMap, ForgetsTheLeastRecentlyUsed) {
  LruMap<int, std::string> map(3);
  for (int i = 0; i < 3; ++i) map.insert(i, std::to_string(i));
  EXPECT_NE(map.find(0), nullptr);
  map.insert(3, "3");
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(*map.find(0), "0");
  map.insert(0, "zero");
  EXPECT_EQ(*map.find(0), "zero");
  EXPECT_EQ(map.size(), 3U);
}

TEST(Options, HaveUniqueNamesAndHelp) {
  std::set<std::string_view> names;
  for (const Option& option : all_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.help.empty()) << option.name;
  }
}

}  // namespace
}  // namespace forerun
