// Real serving runs (AIConfigurator's collection) asked of the service as a user would ask them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/csv.hpp"
#include "evaluation/roofline/error_table.hpp"
#include "evaluation/roofline/roofline_report.hpp"
#include "service/service.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// The collection's names of networks that ship with Forerun; others are read from the configurations beside the tables.
constexpr std::pair<std::string_view, std::string_view> kShipped[] = {
    {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
    {"deepseek-ai/DeepSeek-V3", "deepseek-v3"},
    {"Qwen/Qwen3-32B", "qwen3-32b"},
    {"openai/gpt-oss-120b", "gpt-oss-120b"},
    {"meta-llama/Llama-3.1-70B", "llama-3.1-70b"},
    {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
    {"Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b"}};

std::string network_of(const std::string& name, const std::string& folder) {
  for (const auto& [theirs, ours] : kShipped) {
    if (theirs == name) return std::string(ours);
  }
  std::string file = name;
  if (const auto slash = file.find('/'); slash != std::string::npos) file.replace(slash, 1, "--");
  const fs::path path = fs::path(folder) / "reference" / "hf_configs" / (file + "_config.json");
  return fs::exists(path) ? path.string() : "";
}

bool precision_of(std::string_view name, Precision& precision) {
  if (name.empty() || name == "bf16")
    precision = Precision::Bf16;
  else if (name == "fp8")
    precision = Precision::Fp8;
  else if (name == "int4")
    precision = Precision::Int4;
  else
    return false;
  return true;
}

}  // namespace

Result<ReportSection> report_serving(const RooflineStudy& study, const RooflineProgress& progress) {
  ReportSection section;
  section.id = "serving";
  section.heading = "Language models: serving runs";
  ErrorTable summary({"devices", "metric", "estimate"}),
      by_network({"devices", "network", "device", "precision", "metric"}),
      by_load({"devices", "engine", "concurrency", "metric"});
  std::map<std::string, std::size_t> skipped;
  const fs::path path = fs::path(study.options.public_data) / "aic_serving_ttft_tpot.csv.gz";
  if (fs::exists(path)) {
    FORERUN_TRY(const std::unique_ptr<Service> service, Service::create());
    FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
    std::size_t done = 0;
    while (true) {
      FORERUN_TRY(const bool more, csv.next());
      if (!more) break;
      const auto whole = [&](std::string_view name) {
        return std::max<std::int64_t>(1, std::int64_t(csv.number(name).value_or(1)));
      };
      Request request;
      Precision precision{};
      const std::string name(csv.field("model_path"));
      request.model = network_of(name, study.options.public_data);
      if (csv.field("mode") != "agg") {
        ++skipped["prefill and decode on different machines"];
        continue;
      }
      if (!precision_of(csv.field("precision"), precision)) {
        ++skipped["4-bit floating point, a precision Forerun does not have"];
        continue;
      }
      if (whole("attention_dp_size") > 1 || whole("pp_size") > 1) {
        ++skipped["data-parallel attention with shared experts"];
        continue;
      }
      if (whole("tp_size") > 8) {
        ++skipped["more than eight devices, beyond one machine"];
        continue;
      }
      if (request.model.empty()) {
        ++skipped["no configuration"];
        continue;
      }
      request.devices = {device_id_of(csv.field("system"))};
      request.precision = precision;
      request.runtime = Runtime::Graph;
      request.parallel.degrees.tensor = whole("tp_size");
      request.parallel.gpus = request.parallel.degrees.tensor;
      request.input_tokens = whole("isl");
      request.output_tokens = whole("osl");
      request.concurrency = whole("batch_size");
      request.binding.phase = Phase::Decode;
      request.binding.batch = request.concurrency;
      request.binding.seq = request.input_tokens;
      request.predictor = "roofline";
      const auto report = service->predict(request);
      if (!report) {
        ++skipped[report.error().message];
        continue;
      }
      const Estimates& e = report->results.front().estimates;
      Estimates chosen;  // by the predictor that answers when none is named; several devices are always the roofline's
      if (request.parallel.degrees.tensor == 1) {
        request.predictor.clear();
        if (const auto other = service->predict(request)) chosen = other->results.front().estimates;
      }
      const std::string devices = request.parallel.degrees.tensor == 1 ? "one" : "several";
      const std::string load = *request.concurrency <= 4     ? "1–4"
                               : *request.concurrency <= 32  ? "5–32"
                               : *request.concurrency <= 128 ? "33–128"
                                                             : "above 128";
      for (const auto& [plain_metric, loaded_metric] :
           {std::pair(Metric::Ttft, Metric::LoadedTtft), std::pair(Metric::Tpot, Metric::LoadedTpot)}) {
        const std::string metric(name_of(plain_metric));
        const auto measured = csv.number("silicon_" + metric);
        const Estimate *plain = e.find(plain_metric), *loaded = e.find(loaded_metric);
        if (!measured || *measured <= 0 || plain == nullptr || loaded == nullptr) continue;
        summary.add({devices, metric, "a pass alone"}, plain->value, *measured);
        summary.add({devices, metric, "with the other requests"}, loaded->value, *measured);
        if (const Estimate* found = chosen.find(loaded_metric))
          summary.add({devices, metric, "with the other requests, predictor not named"}, found->value, *measured);
        by_network.add({devices, name, request.devices.front(), std::string(name_of(precision)), metric}, loaded->value,
                       *measured);
        by_load.add({devices, std::string(csv.field("backend")), load, metric}, loaded->value, *measured);
      }
      if (++done % 250 == 0) progress(fmt::format("serving: {} runs", done));
    }
  }
  section.text =
      "Runs of vLLM, SGLang and TensorRT-LLM (AIConfigurator, Apache-2.0), asked as `forerun predict NETWORK --runtime "
      "graph --tensor-parallel … --input-tokens … --output-tokens … --concurrency …`. *A pass alone* is `ttft_ms` and "
      "`tpot_ms`: one prefill, one decode step. *With the other requests* is `loaded_ttft_ms` and `loaded_tpot_ms`, "
      "used by the rows below: prefills of other requests run between a request's tokens, and a prompt waits for ten "
      "decode steps and a twentieth of the other prompts. These two numbers were fitted to vLLM's runs; nothing else "
      "here was fitted to serving runs. Estimates are the roofline's, except in the rows *predictor not named*, where "
      "`forerun predict` chose the predictor, on one device.";
  if (!skipped.empty()) {
    section.text += " Not compared:";
    for (const auto& [why, rows] : skipped) section.text += fmt::format(" {} ({} rows);", why, rows);
    section.text.back() = '.';
  }
  section.tables.push_back(summary.table("One device and several"));
  section.tables.push_back(by_load.table("By engine and requests in flight"));
  section.tables.push_back(by_network.table("By network, device and precision"));
  return section;
}

}  // namespace forerun
